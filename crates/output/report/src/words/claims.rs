//! Sentences about a claim and the phase and CPU that decide it.

use super::{at_place, place};
use crate::number::{confidence, count, count_f, nanos, probability};
use punctual_model::{CellJudgement, Claim, Judged, Outcome, Quantity, Recording};
use punctual_units::Nanos;

/// The outcome of a claim and its figures: ``largest 93.0 µs of 450,000 wakeups, on CPU 1 under `io` ``.
pub fn claim(recording: &Recording, judged: &Judged) -> String {
    let Some(cell) = judged.cells.first() else { return "no phase and CPU to judge it on".into() };
    match judged.outcome {
        Outcome::Pass if judged.claim.quantity == Quantity::NoneMissed => {
            let all = judged.cells.iter().fold(0u64, |sum, c| sum.saturating_add(c.samples));
            format!("none of {} periods missed", count(all))
        }
        Outcome::Pass => shown(recording, &judged.claim, cell),
        Outcome::Fail => refuted(recording, &judged.claim, cell),
        Outcome::Inconclusive => undecided(recording, &judged.claim, cell),
    }
}

fn shown(recording: &Recording, claim: &Claim, cell: &CellJudgement) -> String {
    let (samples, at) = (count(cell.samples), at_place(recording, &cell.phase, cell.cpu));
    let sure = confidence(claim.confidence);
    match claim.quantity {
        Quantity::Max(_) => format!("largest {} of {samples} wakeups {at}", nanos(cell.max_ns)),
        Quantity::Quantile { q, .. } => {
            format!("{} is at most {} {at} ({sure} confidence, {samples} wakeups)", name(q), ns(cell.upper))
        }
        Quantity::Exceedance { limit, .. } => {
            let p = p(cell.upper);
            format!("P(> {limit}) is at most {p} {at} ({sure} confidence; {} of {samples} were later)", beyond(cell))
        }
        Quantity::NoneMissed => format!("{} of {samples} periods missed {at}", beyond(cell)),
        Quantity::MissedShare(_) => {
            format!("{} of {samples} periods missed {at}; at most {} ({sure} confidence)", beyond(cell), p(cell.upper))
        }
    }
}

pub(super) fn refuted(recording: &Recording, claim: &Claim, cell: &CellJudgement) -> String {
    let (samples, at) = (count(cell.samples), at_place(recording, &cell.phase, cell.cpu));
    let who = place(recording, &cell.phase, cell.cpu);
    let sure = confidence(claim.confidence);
    match claim.quantity {
        Quantity::Max(_) => format!("{who} woke {} late", nanos(cell.max_ns)),
        Quantity::Quantile { q, .. } => {
            format!("{} of {who} is at least {} ({sure} confidence)", name(q), ns(cell.lower))
        }
        Quantity::Exceedance { limit, .. } => {
            let least = p(cell.lower);
            format!(
                "P(> {limit}) is at least {least} {at} ({sure} confidence; {} of {samples} were later)",
                beyond(cell)
            )
        }
        Quantity::NoneMissed => {
            format!("{who} missed {} of {samples} periods, its worst wakeup {} late", beyond(cell), nanos(cell.max_ns))
        }
        Quantity::MissedShare(_) => {
            format!(
                "{who} missed {} of {samples} periods, at least {} ({sure} confidence)",
                beyond(cell),
                p(cell.lower)
            )
        }
    }
}

pub(super) fn undecided(recording: &Recording, claim: &Claim, cell: &CellJudgement) -> String {
    let at = at_place(recording, &cell.phase, cell.cpu);
    if cell.samples == 0 {
        return format!("nothing was measured {at}");
    }
    let open_itself = match claim.quantity {
        Quantity::Max(_) | Quantity::NoneMissed => cell.beyond.1 > cell.beyond.0,
        _ => true,
    };
    let why = super::imported::open(recording, claim, &cell.phase, cell.cpu);
    if let Some(why) = why.filter(|_| open_itself) {
        return format!("the file leaves it open {at}: {why}{}", bounds_told(claim, cell));
    }
    if cell.outcome == Outcome::Pass || matches!(claim.quantity, Quantity::Max(_) | Quantity::NoneMissed) {
        // The samples alone would have passed.
        return format!("{}; but the run is in doubt, for the reasons given above", shown(recording, claim, cell));
    }
    let samples = format!("{} wakeups", count(cell.samples));
    let found = match claim.quantity {
        Quantity::Quantile { q, .. } => match (cell.lower, cell.upper) {
            (_, None) => format!("{} is not bounded by this run ({samples} {at})", name(q)),
            (None, upper) => format!("{} is at most {} ({samples} {at})", name(q), ns(upper)),
            (lower, upper) => format!("{} lies between {} and {} ({samples} {at})", name(q), ns(lower), ns(upper)),
        },
        Quantity::Exceedance { limit, .. } => match cell.upper {
            Some(most) => format!("{samples} {at} bound P(> {limit}) at {}, no lower", probability(most)),
            None => format!("P(> {limit}) is not bounded by this run ({samples} {at})"),
        },
        Quantity::Max(_) | Quantity::NoneMissed | Quantity::MissedShare(_) => match cell.upper {
            Some(most) => {
                format!("{} of {samples} missed {at}, a share of at most {}", beyond(cell), probability(most))
            }
            None => format!("{} of {samples} missed {at}; their share is not bounded by this run", beyond(cell)),
        },
    };
    format!("{found}{}", needed(cell))
}

/// What the imported file bounds nevertheless.
fn bounds_told(claim: &Claim, cell: &CellJudgement) -> String {
    match (claim.quantity, cell.lower, cell.upper) {
        (Quantity::Quantile { q, .. }, None, Some(_)) => format!("; {} is at most {}", name(q), ns(cell.upper)),
        (Quantity::Quantile { q, .. }, Some(_), None) => format!("; {} is at least {}", name(q), ns(cell.lower)),
        (Quantity::Quantile { q, .. }, Some(_), Some(_)) => {
            format!("; {} lies between {} and {}", name(q), ns(cell.lower), ns(cell.upper))
        }
        _ => String::new(),
    }
}

fn needed(cell: &CellJudgement) -> String {
    match cell.needed {
        Some(n) => format!(
            "; it takes {} independent wakeups, {} on each CPU under each load",
            count_f(n.samples),
            n.duration_ns
        ),
        None => String::new(),
    }
}

/// `75`, or `75 to 77` if the bin of the limit leaves it open.
fn beyond(cell: &CellJudgement) -> String {
    match cell.beyond {
        (least, most) if least == most => count(least),
        (least, u64::MAX) => format!("at least {}", count(least)),
        (least, most) => format!("{} to {}", count(least), count(most)),
    }
}

fn ns(value: Option<f64>) -> String {
    nanos(value.map(|v| v.max(0.0) as u64))
}

fn p(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), probability)
}

/// `p99.99` for 0.9999.
pub(crate) fn name(q: f64) -> String {
    let text = format!("{:.10}", q * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(crate) fn limit(claim: &Claim) -> Option<Nanos> {
    match claim.quantity {
        Quantity::Max(limit) | Quantity::Quantile { limit, .. } | Quantity::Exceedance { limit, .. } => Some(limit),
        Quantity::NoneMissed | Quantity::MissedShare(_) => None,
    }
}
