//! Formats sentences about the tail of each load: the latency extrapolated beyond the data (the level), and the arrival
//! pattern of the worst wakeups.

use super::{capital, noun, place};
use crate::number::{confidence, count, count_f, plural, probability, round_probability};
use punctual_model::{ArrivalPattern, ArrivalSource, Arrivals, Recording, Tail, TailOutcome, TailRefusal, Verdict};
use punctual_units::Nanos;

/// Minimum p value shown. A smaller value is shown as below this one, because it is not known precisely.
const LEAST_P: f64 = 1e-9;

/// Returns for each load a sentence on the level beyond the data and one on the arrival pattern, then the requirements
/// of refused levels. Empty if no tails were examined.
pub fn tails(recording: &Recording, verdict: &Verdict) -> Vec<String> {
    let of = |t: &Tail| format!("{} {}", tail(recording, t), arrivals(recording, t));
    verdict.tails.iter().map(of).chain(needed(verdict)).collect()
}

pub(crate) fn tail(recording: &Recording, tail: &Tail) -> String {
    let place = capital(&place(recording, &tail.phase, tail.cpu));
    let what = noun(recording);
    match &tail.outcome {
        TailOutcome::Level { once_in, once_in_ns, level_ns, lower_ns, upper_ns, confidence: sure, decades, .. } => {
            let time = once_in_ns.map(|ns| format!(" ({ns})")).unwrap_or_default();
            let far = if *decades > 0.0 { format!("by {decades:.1} decades") } else { "within its length".into() };
            format!(
                "{place}: one {what} in {}{time} is later than {}, between {} and {} at {}. This extrapolates the tail of the run {far}, and does \
                 not cover causes that did not occur in it.",
                times(*once_in),
                ns(*level_ns),
                ns(*lower_ns),
                ns(*upper_ns),
                confidence(*sure),
            )
        }
        TailOutcome::Refused { reasons, .. } => {
            let mixture = if reasons.iter().any(is_mixture) { "the tail is a mixture: " } else { "" };
            // The reasons for a mixture are listed first.
            let (mixed, other): (Vec<_>, Vec<_>) = reasons.iter().partition(|r| is_mixture(r));
            let reasons: Vec<String> = mixed.into_iter().chain(other).map(|r| reason(r, what)).collect();
            format!("{place}: a level beyond the data is refused: {mixture}{}.", reasons.join("; "))
        }
    }
}

fn is_mixture(reason: &TailRefusal) -> bool {
    matches!(
        reason,
        TailRefusal::ShapeUnstable { .. } | TailRefusal::PoorFit { p: Some(_) } | TailRefusal::BelowObserved { .. }
    )
}

fn reason(reason: &TailRefusal, what: &str) -> String {
    match *reason {
        TailRefusal::Doubtful => "the problems of the run affect it".into(),
        TailRefusal::Imprecise => "the file does not record every latency exactly enough".into(),
        TailRefusal::OrderUnknown => "it is unknown whether the run was stationary".into(),
        TailRefusal::NotStationary { kpss } => {
            format!("the run was not stationary (KPSS {kpss:.2}; below 0.463 is required)")
        }
        TailRefusal::ClusteringUnknown { from } => {
            format!(
                "{} too few to determine how they cluster",
                plural(from, &format!("late {what} is"), &format!("late {what}s are"))
            )
        }
        TailRefusal::FewThresholds { thresholds } => {
            let few = if thresholds == 0 {
                "no threshold has".into()
            } else {
                plural(thresholds, "threshold has", "thresholds have")
            };
            format!("{few} 100 later {what}s and a fit; 5 are required")
        }
        TailRefusal::ShapeUnstable { at_most, at_least } => {
            format!(
                "its shape changes with the threshold (ξ at most {at_most:.2} above one threshold, at least {at_least:.2} above another)"
            )
        }
        TailRefusal::PoorFit { p: Some(p) } => {
            format!("the worst {what}s are not distributed like the fit (p {}; above 0.05 is required)", equals(p))
        }
        TailRefusal::PoorFit { p: None } => "how well it fits could not be tested".into(),
        TailRefusal::BelowObserved { upper_ns, observed_ns } => {
            format!("the fit gives a level of at most {}, but {} was observed", ns(upper_ns), Nanos(observed_ns))
        }
        TailRefusal::TooFar { decades } => format!("it is {decades:.1} decades beyond the data; at most 2 are allowed"),
        TailRefusal::Unbounded => "its confidence interval is unbounded".into(),
        TailRefusal::NotPossible => "there are too few samples".into(),
    }
}

fn needed(verdict: &Verdict) -> Vec<String> {
    let all: Vec<&TailRefusal> = verdict
        .tails
        .iter()
        .filter_map(|t| match &t.outcome {
            TailOutcome::Refused { reasons, .. } => Some(reasons),
            TailOutcome::Level { .. } => None,
        })
        .flatten()
        .collect();
    let any = |of: fn(&TailRefusal) -> bool| all.iter().any(|r| of(r));
    let mut needed = Vec::new();
    if any(is_mixture) {
        needed.push("one cause at a time: find the causes of the worst wakeups (`punctual explain`), remove them, measure again");
    }
    if any(|r| matches!(r, TailRefusal::NotStationary { .. })) {
        needed.push("a stationary run: a longer `--warmup`, a steady load, a fixed frequency");
    }
    if any(|r| {
        matches!(
            r,
            TailRefusal::FewThresholds { .. } | TailRefusal::ClusteringUnknown { .. } | TailRefusal::NotPossible
        )
    }) {
        needed.push("a longer run");
    }
    if any(|r| matches!(r, TailRefusal::OrderUnknown | TailRefusal::Imprecise)) {
        needed.push("20 s or more measured by this program with its context sampled");
    }
    if any(|r| matches!(r, TailRefusal::Doubtful)) {
        needed.push("a run without the problems above");
    }
    match needed.is_empty() {
        true => Vec::new(),
        false => vec![format!("A level requires {}.", needed.join("; "))],
    }
}

pub(crate) fn arrivals(recording: &Recording, tail: &Tail) -> String {
    let Arrivals { source, of, pattern } = tail.arrivals;
    let what = noun(recording);
    let latest = match source {
        ArrivalSource::Wakeups => format!("{} worst {what}s", count(of)),
        ArrivalSource::Seconds => format!("{} seconds with the worst {what}s", count(of)),
    };
    match pattern {
        ArrivalPattern::Periodic { period_ns, p, in_step } => format!(
            "The worst recur every {period_ns}: {} of the {latest} are in phase with it (p {} if they were independent).",
            count(in_step),
            equals(p)
        ),
        ArrivalPattern::Bursts { p } => {
            format!("The {latest} occur in bursts, closer together than independent events would be (p {}).", equals(p))
        }
        ArrivalPattern::Independent { p } => {
            format!(
                "The {latest} look like independent rare events: no period and no bursts were found (p {}).",
                equals(p)
            )
        }
        ArrivalPattern::TooFew => format!("Too few {what}s have a known time to look for a period."),
    }
}

fn equals(p: f64) -> String {
    if p < LEAST_P { format!("< {}", round_probability(LEAST_P)) } else { format!("= {}", probability(p)) }
}

fn times(n: f64) -> String {
    if n < 1e7 { count_f(n) } else { round_probability(n) }
}

fn ns(ns: f64) -> String {
    Nanos(ns.max(0.0) as u64).to_string()
}
