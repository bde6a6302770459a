use super::chart::dots;
use super::finding::{doubtful, figure_name, findings, headline, name, recipes};
use super::value::{cell, of_row, ratio};
use super::{context, letter, middle, names, overlay, scatter};
use crate::html::document;
use crate::html::write::{details, esc, figure, list, prose, table};
use crate::number::count;
use crate::svg::{Table, colour};
use punctual_model::{Against, Comparison, ComparisonDrawings, ComparisonRow, Known, SampleUnit};

/// Formats a comparison as a self-contained HTML file: headline, charts, figures, sentences, limits.
pub fn comparison_html(comparison: &Comparison, drawings: &ComparisonDrawings) -> String {
    let others: Vec<String> = (1..comparison.groups.len()).map(|n| name(comparison, n)).collect();
    let title = format!("{} against {}", others.join(", "), name(comparison, 0));
    let clock = if comparison.virtual_time.is_some() { " in virtual time" } else { "" };
    let every_run =
        dots(comparison).map(|svg| format!("<figure>{svg}{}</figure>", legend(comparison))).unwrap_or_default();
    let parts = [
        ("says", "Findings", list("", &findings(comparison))),
        ("unlike", "Other differences", list("", &context::unlike(comparison))),
        ("causes", "Causes in the traces", list("", &context::causes(comparison))),
        ("heat", "Over temperature", scatters(comparison, drawings)),
        ("runs", "Every boot", every_run),
        ("latencies", "All latencies on one scale", overlays(comparison, drawings)),
        ("figures", "Figures", figures(comparison) + &all_values(comparison)),
        ("limits", "Limits", list("", &context::cannot_say(comparison))),
        ("boots", "Boots required", list("", &recipes(comparison))),
        ("method", "Method", method()),
    ];
    let front = format!(
        "<header><p class=\"what\">Comparison of groups of boots{clock}</p><h1>{}</h1><p class=\"answer\">{}</p>{}</header>\n",
        esc(&title),
        prose(&crate::words::capital(&headline(comparison))),
        list("warnings", &[comparison.problems.clone(), doubtful(comparison)].concat()),
    );
    document(&title, &front, &parts.map(|(id, title, content)| (id, title.to_owned(), content)), "")
}

fn legend(comparison: &Comparison) -> String {
    let key = |n: usize| format!("<li><i class=\"{}\"></i>{}: {}", colour(n), letter(n), esc(&name(comparison, n)));
    format!("<ul class=\"legend\">{}</ul>", (0..comparison.groups.len()).map(key).collect::<String>())
}

fn scatters(comparison: &Comparison, drawings: &ComparisonDrawings) -> String {
    let one = |(n, s): (usize, &punctual_model::Scatter)| {
        let chart = scatter::chart(comparison, &format!("s{n}"), s)?;
        Some(figure(&chart, &format!("{}: {}", s.of, s.name), "As a table"))
    };
    let all: Vec<String> = drawings.scatters.iter().enumerate().filter_map(one).collect();
    if all.is_empty() { String::new() } else { format!("<div class=\"pair\">{}</div>", all.concat()) }
}

fn overlays(comparison: &Comparison, drawings: &ComparisonDrawings) -> String {
    let Some(span) = overlay::span(drawings.histograms.iter().flat_map(|(_, groups)| groups)) else {
        return String::new();
    };
    let one = |(n, (load, groups)): (usize, &(String, Vec<Known<'static>>))| {
        let bars = overlay::histogram(comparison, &format!("h{n}"), load, groups, span);
        let tail = overlay::ccdf(comparison, &format!("c{n}"), load, groups, span);
        format!(
            "<div class=\"phase\"><h3>{}</h3><div class=\"pair\">{}{}</div></div>",
            esc(load),
            figure(&bars, "Histogram", "Histogram as a table"),
            figure(&tail, "Share of wakeups later than x", "Quantiles as a table")
        )
    };
    drawings.histograms.iter().enumerate().map(one).collect()
}

fn figures(comparison: &Comparison) -> String {
    let mut head: Vec<String> = ["load", "figure", "of"].map(String::from).to_vec();
    head.extend((0..comparison.groups.len()).map(letter));
    let several = comparison.groups.len() > 2;
    for n in 1..comparison.groups.len() {
        let of = if several { format!(" {}", letter(n)) } else { String::new() };
        head.extend([format!("{} / A", letter(n)), format!("p{of}"), format!("p corrected{of}")]);
    }
    let row = |row: &ComparisonRow| {
        let mut cells = vec![row.load.clone(), figure_name(&row.figure).to_owned(), of(row)];
        cells.extend((0..comparison.groups.len()).map(|n| value(row, n)));
        cells.extend(row.against.iter().flat_map(against));
        cells
    };
    let note = "<p class=\"note\">Each figure is the median of several boots, the mean of batches, or a quantile of one run with its bounds at 95 %.";
    format!("{note}{}", table(&Table { head, rows: comparison.rows.iter().map(row).collect() }))
}

fn of(row: &ComparisonRow) -> String {
    let units = match row.sample {
        SampleUnit::Boot => "boots",
        SampleUnit::Batch => "batches",
    };
    let numbers: Vec<String> = row.groups.iter().map(|g| count(g.n)).collect();
    let all_same = numbers.iter().all(|n| Some(n) == numbers.first());
    match (all_same, numbers.first()) {
        (true, Some(n)) if n == "1" => "one boot each".into(),
        (true, Some(n)) => format!("{n} {units} each"),
        _ => format!("{} {units}", crate::words::and(&numbers)),
    }
}

fn value(row: &ComparisonRow, group: usize) -> String {
    let middle = cell(middle(row, group), row);
    let bounds = row.groups.get(group).filter(|g| g.lower.is_some() || g.upper.is_some());
    match bounds {
        Some(g) => format!("{middle} [{} – {}]", cell(g.lower, row), cell(g.upper, row)),
        None => middle,
    }
}

fn against(against: &Against) -> [String; 3] {
    let p = |p: Option<f64>| p.map_or("–".into(), |p| if p < 1e-4 { format!("{p:.0e}") } else { format!("{p:.4}") });
    [against.ratio.as_ref().map_or("–".into(), ratio), p(against.p), p(against.q)]
}

fn all_values(comparison: &Comparison) -> String {
    let head = ["load", "figure", "group", "boot", "value"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for row in comparison.rows.iter().filter(|r| r.sample == SampleUnit::Boot) {
        for (n, (sampled, group)) in row.groups.iter().zip(&comparison.groups).enumerate() {
            for (value, run) in sampled.values.iter().zip(names(sampled, group)) {
                let figure = figure_name(&row.figure).to_owned();
                rows.push(vec![row.load.clone(), figure, letter(n), run, of_row(*value, row)]);
            }
        }
    }
    if rows.is_empty() { String::new() } else { details("Every value", &table(&Table { head, rows })) }
}

fn method() -> String {
    format!(
        "<p>{}",
        prose(
            "One boot is one sample, by the median of its runs: the wakeups of one boot share its memory layout, its order of loads and \
             its phase. With at least four boots of each, ratios are Hodges–Lehmann's estimate on logarithms with the rank interval of \
             the Mann–Whitney test, whose two-sided p is given; with six or more alternating pairs (A B B A …), estimate, interval and p are those of the signed-rank test. With fewer than four boots there is no verdict. p is corrected for the number of rows (Benjamini and Hochberg); a reported \
             difference has a corrected p of at most 0.05. The difference at equal temperature is from an analysis of covariance of the boots; for batches, temperature explains a difference if the values step up at a threshold that is the same in both groups, and more than half of the difference vanishes below it. It excuses a difference only between alternating boots that began at the same temperature."
        )
    )
}
