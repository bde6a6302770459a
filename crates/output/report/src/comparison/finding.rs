use super::value::{Changed, changed, of_row, oriented, three};
use super::{letter, middle};
use crate::clean;
use crate::number::{count, plural, round_probability};
use crate::words;
use punctual_model::{
    Against, BootsNeeded, BootsRecipe, Comparison, ComparisonRow, Conclusion, Covariate, DoubtfulRun, Outcome, Problem,
    Ratio, SampleUnit, Sampled,
};
use punctual_units::Arrange;

pub fn headline(comparison: &Comparison) -> String {
    let clock = if comparison.virtual_time.is_some() { "In virtual time, " } else { "" };
    let row = comparison.rows.first().and_then(|row| sentences(comparison, row).into_iter().next());
    match row {
        Some(sentence) => format!("{clock}{sentence}"),
        None => "Nothing was compared.".into(),
    }
}

/// Returns all sentences but the headline: differences, then inconclusive rows, then rows without a difference.
pub fn findings(comparison: &Comparison) -> Vec<String> {
    let mut ranked: Vec<(u8, String)> = Vec::new();
    let (mut open, mut missing) = (Vec::new(), Vec::new());
    for (n, row) in comparison.rows.iter().enumerate() {
        for (k, (sentence, against)) in sentences(comparison, row).into_iter().zip(&row.against).enumerate() {
            match (n, k) {
                (0, 0) => {}
                _ if row.sample != SampleUnit::Batch && against.conclusion == Conclusion::TooFew => open.push(row),
                _ if middle(row, 0).and(middle(row, k + 1)).is_none() => missing.push((k + 1, row)),
                _ => ranked.push((rank(against), words::capital(&sentence))),
            }
        }
    }
    ranked.arrange_by_key(|(rank, _)| *rank);
    within_runs(comparison)
        .into_iter()
        .chain(ranked.into_iter().map(|(_, sentence)| sentence))
        .chain(unknown(comparison, &missing))
        .chain(too_few_boots(comparison, &open))
        .collect()
}

/// Returns what two single runs show without a verdict: the change of the rarest quantile over all loads that both runs
/// bound, with the limits that follow from these bounds.
pub fn within_runs(comparison: &Comparison) -> Option<String> {
    let first = comparison.rows.first()?;
    let is_open = |row: &&ComparisonRow| {
        row.load == first.load && row.against.len() == 1 && row.against[0].conclusion == Conclusion::TooFew
    };
    let change = |row: &ComparisonRow| {
        let [a, b] = row.groups.as_slice() else { return None };
        let (value, least) = (row.against[0].ratio?.value, three(b.lower? / a.upper?));
        let range = match a.lower.zip(b.upper) {
            Some((low, high)) => format!("{least}, {}", three(high / low)),
            None => format!("at least {least}"),
        };
        // Both bounds are of 95 %, so that both hold with 90 % at least.
        Some(format!(
            "In these two runs, {} with {} is {} times that with {} [{range} at 90 %], from the bounds of each run: other \
             runs may differ more.",
            what(comparison, row),
            name(comparison, 1),
            three(value),
            name(comparison, 0),
        ))
    };
    comparison.rows.iter().filter(is_open).rev().find_map(change)
}

/// Returns one sentence for each run whose report names problems.
pub fn doubtful(comparison: &Comparison) -> Vec<String> {
    let one = |doubtful: &DoubtfulRun| {
        let problem = |problem: &Problem| words::problem(None, problem);
        let problems: Vec<String> = doubtful.problems.iter().map(problem).collect();
        let is = if doubtful.outcome == Outcome::Inconclusive { " is INCONCLUSIVE" } else { "" };
        words::stopped(&format!("{}{is}: {}", clean::clip(&doubtful.run, 60), problems.join("; ")))
    };
    comparison.doubtful.iter().map(one).collect()
}

fn too_few_boots(comparison: &Comparison, rows: &[&ComparisonRow]) -> Option<String> {
    let fewest = rows.iter().flat_map(|r| &r.groups).map(|g| g.n).min()?;
    let figures = match rows.len() {
        1 => "one figure in the table".into(),
        n if n + 1 == comparison.rows.len() => "any other figure in the table".into(),
        n => format!("{n} figures in the table"),
    };
    let why = match comparison.unknown_boots.is_empty() {
        true => format!("with {} a difference may be due to chance or to a single boot", of_each(fewest)),
        false => "the boot of each run is not recorded".into(),
    };
    Some(format!("No verdict on {figures}: {why}."))
}

fn of_each(fewest: u64) -> String {
    match fewest {
        1 => "one boot of each".into(),
        n => format!("{n} boots of each"),
    }
}

/// Returns how many boots are required to show a difference of a given size, one sentence for each spread.
pub fn recipes(comparison: &Comparison) -> Vec<String> {
    comparison.recipes.iter().filter_map(|recipe| self::recipe(comparison, recipe)).collect()
}

fn recipe(comparison: &Comparison, recipe: &BootsRecipe) -> Option<String> {
    let row = comparison.rows.iter().find(|row| row.load == recipe.load && row.figure == recipe.figure)?;
    let one = |needed: &BootsNeeded| format!("{:.0} %: {}", 100.0 * needed.difference, needed.boots);
    let needed: Vec<String> = recipe.needed.iter().map(one).collect();
    let spread = format!("{:.1} %", 100.0 * recipe.spread);
    let spread = match recipe.is_seen {
        true => format!("Boots of one group spread by {spread} in {}:", what(comparison, row)),
        false => format!("If boots of one group spread by {spread},"),
    };
    (!needed.is_empty()).then(|| {
        format!(
            "{spread} to show a difference in four of five comparisons requires this many boots of each ({} corrected for): {}.",
            plural(recipe.tests, "comparison", "comparisons"),
            needed.join(", ")
        )
    })
}

fn rank(against: &Against) -> u8 {
    match against.conclusion {
        _ if against.covariate.is_some_and(|c| c.is_most) => 0,
        Conclusion::More | Conclusion::Less => 0,
        Conclusion::TooFew | Conclusion::Missing => 1,
        Conclusion::Alike => 2,
    }
}

fn sentences(comparison: &Comparison, row: &ComparisonRow) -> Vec<String> {
    (1..comparison.groups.len()).map(|group| sentence(comparison, row, group)).collect()
}

pub fn name(comparison: &Comparison, group: usize) -> String {
    comparison.groups.get(group).map_or_else(|| letter(group), |g| clean::clip(&g.name, 60))
}

fn sentence(comparison: &Comparison, row: &ComparisonRow, group: usize) -> String {
    let what = what(comparison, row);
    let (a, b) = (name(comparison, 0), name(comparison, group));
    let against = group.checked_sub(1).and_then(|k| row.against.get(k));
    let (Some(against), Some(of_a), Some(of_b)) = (against, middle(row, 0), middle(row, group)) else {
        return format!("{what} is unknown for {} and is not compared.", lacking(comparison, row, group));
    };
    let beside = format!("{} instead of {}", of_row(of_b, row), of_row(of_a, row));
    let said = match (against.conclusion, &against.ratio) {
        (Conclusion::More | Conclusion::Less, Some(ratio)) => {
            let Changed { text, than } = changed(ratio, times(row));
            format!("{what} is {text} with {b} {than} with {a} ({beside})")
        }
        (Conclusion::More | Conclusion::Less, None) => format!("{what} differs between {b} and {a}: {beside}"),
        (Conclusion::Alike, ratio) => {
            let ratio = ratio.as_ref().map_or_else(String::new, |r| format!(", ratio {}", oriented(r, false)));
            format!("{what} shows no difference between {a} and {b}: {beside}{ratio}")
        }
        _ => too_few(comparison, row, against, group, [of_a, of_b]),
    };
    let cooled =
        against.equal_temperature.as_ref().filter(|_| differs(against)).map(|equal| at_equal_temperature(row, equal));
    let heat = against.covariate.as_ref().map(|c| heat(row, c, group, [&a, &b])).unwrap_or_default();
    let excuse = if against.covariate.is_some_and(|c| c.is_most) { excuse(comparison, group, against) } else { "" };
    format!("{said}.{}{heat}{excuse}", cooled.unwrap_or_default())
}

fn differs(against: &Against) -> bool {
    matches!(against.conclusion, Conclusion::More | Conclusion::Less)
}

fn at_equal_temperature(row: &ComparisonRow, equal: &Ratio) -> String {
    format!(" At equal temperature it is {}.", changed(equal, times(row)).text)
}

/// Returns a sentence on whether a higher temperature excuses the difference (docs/compare.md).
fn excuse(comparison: &Comparison, group: usize, against: &Against) -> &'static str {
    let is_alike = group.checked_sub(1).and_then(|k| comparison.began_alike.get(k)) == Some(&true);
    match (differs(against), is_alike) {
        (false, _) => "",
        (true, true) => {
            " Both were booted alternately and started at the same temperature, so this difference alone does not count as worse."
        }
        (true, false) => {
            " They were not booted alternately, or did not start at the same temperature: the kernel itself may have caused the higher temperature, so \
             the total difference counts."
        }
    }
}

/// Returns both figures of a row with too few values, and why it has no verdict.
fn too_few(comparison: &Comparison, row: &ComparisonRow, against: &Against, group: usize, of: [f64; 2]) -> String {
    let (what, a, b) = (what(comparison, row), name(comparison, 0), name(comparison, group));
    let values = [of[1], of[0]].map(|value| of_row(value, row));
    let both = match against.ratio.filter(|ratio| ratio.value != 1.0) {
        Some(ratio) => {
            let Changed { text, than } = changed(&ratio, times(row));
            format!("{what} is {text} with {b} {than} with {a} ({} instead of {})", values[0], values[1])
        }
        None => format!("{what} is {} with {b} and {} with {a}", values[0], values[1]),
    };
    let Some((first, second)) = row.groups.first().zip(row.groups.get(group)) else { return both };
    match row.sample {
        SampleUnit::Boot if against.conclusion == Conclusion::Missing => {
            format!("{both}; a later wakeup may not have been counted, so there is no verdict")
        }
        SampleUnit::Boot if !comparison.unknown_boots.is_empty() => {
            format!("{both}; no verdict, since the boot of each run is not recorded")
        }
        SampleUnit::Boot if comparison.one_boot => {
            format!("{both}; all runs are of one boot, which allows no verdict about kernels or boot settings")
        }
        SampleUnit::Boot => {
            let fewest = first.n.min(second.n);
            format!("{both}; no verdict with {}: four are required", of_each(fewest))
        }
        SampleUnit::Batch => format!("{both}; {}", worth(first, second)),
    }
}

fn worth(a: &Sampled, b: &Sampled) -> String {
    let numbers = format!("{} and {}", count(a.n), plural(b.n, "batch", "batches"));
    let alike = match (a.effective, b.effective, a.lag_one.zip(b.lag_one)) {
        (Some(of_a), Some(of_b), Some((lag_a, lag_b))) if of_a + of_b < 0.8 * (a.n + b.n) as f64 => format!(
            "neighbouring batches are correlated (autocorrelation {lag_a:.2} and {lag_b:.2}), so the {numbers} are worth {of_a:.0} and \
             {of_b:.0} independent ones"
        ),
        _ => numbers,
    };
    format!("{alike}, all of one boot: a verdict requires four boots of each")
}

fn heat(row: &ComparisonRow, heat: &Covariate, group: usize, [a, b]: [&str; 2]) -> String {
    let is_more = heat.all.value >= 1.0;
    let step = Ratio { value: heat.step, interval: None, ..heat.all };
    let step = format!("from {} °C on, values are {} with either", heat.at, changed(&step, times(row)).text);
    let numbers =
        |of: Option<&Sampled>, below: u64| of.map_or_else(String::new, |s| format!(" ({below} of {})", count(s.n)));
    let of_a = format!("{a}{}", numbers(row.groups.first(), heat.n_below.0));
    let of_b = format!("{b}{}", numbers(row.groups.get(group), heat.n_below.1));
    let (dear, cheap) = if is_more { (of_b, of_a) } else { (of_a, of_b) };
    let below = format!(
        "below it, the ratio of {dear} to {cheap} is {}, and over all temperatures, it is {}",
        oriented(&heat.below, !is_more),
        three(if is_more { heat.all.value } else { 1.0 / heat.all.value })
    );
    let share = heat.share.filter(|s| (0.0..=1.0).contains(s)).map(|s| format!(" ({:.0} % of it)", s * 100.0));
    match heat.is_most {
        true => format!(
            " The difference is mostly thermal{}: {step} (p {}); {below}.",
            share.unwrap_or_default(),
            round_probability(heat.p)
        ),
        false => format!(" Temperature does not explain it: {step}, and {below}."),
    }
}

fn what(comparison: &Comparison, row: &ComparisonRow) -> String {
    let is_only = comparison.rows.iter().all(|r| r.load == row.load || r.sample == SampleUnit::Batch);
    let place = match row.load.as_str() {
        "all loads" if is_only => String::new(),
        "all loads" => " over all loads".into(),
        "idle" => " while idle".into(),
        load => format!(" under `{}`", clean::clip(load, 48)),
    };
    match (row.sample, row.figure.as_str()) {
        (SampleUnit::Batch, figure) => format!("the {} of `{}`", clean::clip(figure, 48), clean::clip(&row.load, 48)),
        (_, "max") => format!("the worst wakeup{place}"),
        (_, "p50") => format!("the median wakeup{place}"),
        (_, "mean") => format!("the mean wakeup{place}"),
        (_, "min") => format!("the earliest wakeup{place}"),
        (_, "skipped") => format!("the share of periods skipped{place}"),
        (_, figure) if row.more_is_better => format!("`{}`{place}", clean::clip(figure, 48)),
        (_, figure) => format!("the {figure}{place}"),
    }
}

pub fn figure_name(figure: &str) -> &str {
    match figure {
        "max" => "worst wakeup",
        "p50" => "median wakeup",
        "mean" => "mean wakeup",
        "min" => "earliest wakeup",
        "skipped" => "periods skipped",
        other => other,
    }
}

/// Returns the word that follows a multiple, for example `long` in `3.2 times as long`.
fn times(row: &ComparisonRow) -> &'static str {
    match (row.unit.as_str(), row.more_is_better) {
        ("ns" | "s", _) => "long",
        (_, true) => "fast",
        _ => "much",
    }
}

/// Names the groups that lack a figure.
fn lacking(comparison: &Comparison, row: &ComparisonRow, group: usize) -> String {
    let lacks = |n: &usize| row.groups.get(*n).is_none_or(|sampled| sampled.n == 0);
    let names: Vec<String> = [0, group].into_iter().filter(lacks).map(|n| name(comparison, n)).collect();
    words::and(&names)
}

/// Returns one sentence for all figures that the same groups lack.
fn unknown(comparison: &Comparison, rows: &[(usize, &ComparisonRow)]) -> Vec<String> {
    let mut by_groups: Vec<(String, Vec<String>)> = Vec::new();
    for (group, row) in rows {
        let (groups, what) = (lacking(comparison, row, *group), what(comparison, row));
        match by_groups.iter_mut().find(|(same, _)| *same == groups) {
            Some((_, figures)) => figures.push(what),
            None => by_groups.push((groups, vec![what])),
        }
    }
    let said = |(groups, figures): (String, Vec<String>)| {
        format!("Unknown for {groups}, and not compared: {}.", words::and(&figures))
    };
    by_groups.into_iter().map(said).collect()
}
