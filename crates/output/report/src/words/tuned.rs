use crate::number::{plural, probability};
use punctual_model::{Ended, Trial, TrialCost, TrialKind, Tuned};
use punctual_units::Nanos;

/// Reports how the search ended, and the effect of every change that was decided.
pub fn tuned(tuned: &Tuned) -> Vec<String> {
    let mut all = vec![summary(tuned)];
    let confirmed = |t: &&Trial| matches!(t.kind, TrialKind::Confirmation { .. });
    all.extend(tuned.trials.iter().filter(confirmed).map(|t| decided(tuned, t)));
    let mut rest: Vec<&str> = Vec::new();
    for trial in tuned.trials.iter().filter(|t| !tuned.trials.iter().any(|o| confirmed(&o) && o.rule == t.rule)) {
        if !rest.contains(&trial.rule.as_str()) {
            rest.push(&trial.rule);
        }
    }
    if !rest.is_empty() {
        let names: Vec<String> = rest.iter().map(|rule| format!("`{rule}`")).collect();
        let left = if names.len() == 1 { "it was" } else { "they were" };
        all.push(format!("No gain worth confirming from {}: left as {left}.", names.join(", ")));
    }
    all.extend(tuned.not_tried.iter().map(|(rule, why)| format!("`{rule}` was not tried: {why}")));
    all
}

fn summary(tuned: &Tuned) -> String {
    let kept = match tuned.kept.as_slice() {
        [] => "Nothing was changed".to_owned(),
        kept => format!("Kept: {}", kept.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ")),
    };
    let ended = match &tuned.ended {
        Ended::ClaimsHold => "the claims hold".to_owned(),
        Ended::NothingHelps => "no other candidate helps".to_owned(),
        Ended::NothingToTry => "there is nothing to try".to_owned(),
        Ended::TimeUp => "the time limit ended the search before all candidates were tried".to_owned(),
        Ended::Stopped { why } => format!("it was stopped: {why}"),
    };
    let middle = |figures: &[f64]| punctual_stats::median(figures).map(time);
    let gain = match (middle(&tuned.before_ns), middle(&tuned.after_ns)) {
        (Some(before), Some(after)) => {
            format!(
                " The {} of a block of {} went from {before} to {after} (medians).",
                tuned.objective, tuned.block_ns
            )
        }
        _ => String::new(),
    };
    format!("{kept}; {ended}.{gain}")
}

/// Reports the effect and the cost of a change, which was decided by its own pairs of blocks.
fn decided(tuned: &Tuned, trial: &Trial) -> String {
    let TrialKind::Confirmation { p, alpha, kept } = trial.kind else { return String::new() };
    let (verb, word) = if trial.shift_ns <= 0.0 { ("reduced", "gain") } else { ("increased", "cost") };
    let interval = match trial.interval_ns {
        Some((low, high)) if trial.shift_ns <= 0.0 => format!("95 %: {} to {}", signed(-high), signed(-low)),
        Some((low, high)) => format!("95 %: {} to {}", signed(low), signed(high)),
        None => "too few pairs for an interval".into(),
    };
    let verdict = if kept { "kept".to_owned() } else { format!("no {word} proven, reverted") };
    let without: Vec<f64> = trial.pairs.iter().map(|(without, _)| *without).collect();
    let instead = punctual_stats::median(&without)
        .map(|usual| format!("{} instead of {}; ", time((usual + trial.shift_ns).max(0.0)), time(usual)));
    let costs: String = trial.costs.iter().map(cost).collect();
    format!(
        "`{}` {verb} the {} by {} ({}{interval}; {} of blocks with and without, p {}, decided at {}): {verdict}.{costs} The change: {}",
        trial.rule,
        tuned.objective,
        time(trial.shift_ns.abs()),
        instead.unwrap_or_default(),
        plural(trial.pairs.len() as u64, "pair", "pairs"),
        probability(p),
        probability(alpha),
        trial.what
    )
}

/// Reports the cost of a confirmed change in power or throughput.
fn cost(cost: &TrialCost) -> String {
    let middle = |of: fn(&(f64, f64)) -> f64| punctual_stats::median(&cost.pairs.iter().map(of).collect::<Vec<f64>>());
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0)).replace('-', "−");
    let Some((without, with)) = middle(|pair| pair.0).zip(middle(|pair| pair.1)) else { return String::new() };
    let interval = match cost.interval {
        Some((low, high)) => format!("95 %: {} to {}", percent(low), percent(high)),
        None => "too few pairs for an interval".into(),
    };
    let each = match cost.unit.as_str() {
        "1/s" => format!("{} instead of {} counts of N queens per second", count(with), count(without)),
        unit => format!("{with:.2} {unit} instead of {without:.2} in its blocks"),
    };
    format!(" Its {} is {} with it ({each}; {interval}).", cost.what, percent(cost.ratio))
}

fn count(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}

fn time(ns: f64) -> String {
    Nanos(ns.round().max(0.0) as u64).to_string()
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("−{}", time(-ns)) } else { time(ns) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_spoken_of_once() {
        let trial = |rule: &str, shift_ns: f64, kind| Trial {
            rule: rule.into(),
            what: "sysctl x".into(),
            round: 0,
            pairs: vec![(5e6, 1e6); 7],
            shift_ns,
            interval_ns: Some((shift_ns - 1e4, shift_ns + 1e4)),
            kind,
            costs: Vec::new(),
        };
        let all = Tuned {
            schema: punctual_model::TUNE_SCHEMA.into(),
            objective: "largest latency".into(),
            block_ns: Nanos::from_secs(2),
            alpha: 0.05,
            seed: 1,
            before_ns: vec![5e6],
            after_ns: vec![1e6],
            trials: vec![
                trial("hog", -4e6, TrialKind::Screening),
                trial("idle", 0.0, TrialKind::Screening),
                trial("hog", -4e6, TrialKind::Confirmation { p: 0.008, alpha: 0.03, kept: true }),
                trial("idle", -2e3, TrialKind::Screening),
            ],
            not_tried: vec![("smt".into(), "read-only".into())],
            kept: vec!["hog".into()],
            ended: Ended::NothingHelps,
        };
        let cost = |what: &str, unit: &str, with: f64, interval| TrialCost {
            what: what.into(),
            unit: unit.into(),
            pairs: vec![(10.0, 10.0 * with); 7],
            ratio: with,
            interval,
        };
        let mut all = all;
        all.trials[2].costs = vec![cost("power", "W", 1.1, Some((1.08, 1.12))), cost("throughput", "1/s", 0.98, None)];
        let said = tuned(&all);
        assert_eq!(said.len(), 4, "{said:#?}");
        assert!(said[0].contains("Kept: `hog`") && said[0].contains("5.00 ms to 1.00 ms"), "{said:#?}");
        assert!(
            said[1].contains("reduced the largest latency by 4.00 ms (1.00 ms instead of 5.00 ms; 95 %:")
                && said[1].contains("3.99 ms to 4.01 ms"),
            "{said:#?}"
        );
        assert!(
            said[1].contains(
                "Its power is +10.0 % with it (11.00 W instead of 10.00 in its blocks; 95 %: +8.0 % to +12.0 %)"
            ),
            "{said:#?}"
        );
        assert!(
            said[1].contains("throughput is −2.0 %") && said[1].contains("9.80 instead of 10.00 counts"),
            "{said:#?}"
        );
        assert!(said[2].contains("`idle`") && said[3].contains("read-only"), "{said:#?}");
    }
}
