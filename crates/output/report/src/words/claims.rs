//! Formats sentences about a claim and about the phase and CPU that decide it.

use super::{at_place, latency, place};
use crate::number::{at_least, at_most, confidence, count, count_f, nanos, plural};
use punctual_model::{CellJudgement, Claim, Judged, Outcome, Quantity, Recording, StallBound};
use punctual_units::Nanos;

/// Formats the outcome of a claim and its figures: ``largest 93.0 µs of 450,000 wakeups, on CPU 1 under `io` ``.
pub fn claim(recording: &Recording, judged: &Judged) -> String {
    let Some(cell) = judged.cells.first() else { return "no phase and CPU on which to judge it".into() };
    match judged.outcome {
        Outcome::Held if judged.claim.quantity == Quantity::NoneMissed => {
            let all = judged.cells.iter().fold(0u64, |sum, c| sum.saturating_add(c.samples));
            format!("none of {} periods missed{}", count(all), stalls(&judged.claim, cell))
        }
        Outcome::Pass | Outcome::Held => shown(recording, &judged.claim, cell),
        Outcome::Fail => refuted(recording, &judged.claim, cell),
        Outcome::Inconclusive => undecided(recording, &judged.claim, cell),
    }
}

fn shown(recording: &Recording, claim: &Claim, cell: &CellJudgement) -> String {
    let (samples, at) = (count(cell.samples), at_place(recording, &cell.phase, cell.cpu));
    let sure = confidence(claim.confidence);
    let noun = noun(claim);
    match claim.quantity {
        Quantity::Max(_) => {
            format!("largest {} of {samples} {noun}s {at}{}", latency(recording, cell.max_ns), stalls(claim, cell))
        }
        Quantity::Quantile { q, .. } => {
            let stalls = stalls(claim, cell);
            format!("{} is at most {} {at} ({sure} confidence, {samples} {noun}s){stalls}", name(q), ns(cell.upper))
        }
        Quantity::Exceedance { limit, .. } => {
            format!(
                "P(> {limit}) is at most {} {at} ({sure} confidence; {} of {samples} were later){}",
                most(cell.upper),
                beyond(cell),
                stalls(claim, cell)
            )
        }
        Quantity::Episodes { limit, .. } => {
            let upper = cell.upper.map_or_else(|| "–".into(), |rate| often(rate, f64::ceil));
            format!("{} above {limit} {at}: at most {upper} ({sure} confidence)", episodes(cell))
        }
        Quantity::NoneMissed => format!("{} of {samples} periods missed {at}{}", beyond(cell), stalls(claim, cell)),
        Quantity::MissedShare(_) => format!(
            "{} of {samples} periods missed {at}; at most {} ({sure} confidence){}",
            beyond(cell),
            most(cell.upper),
            stalls(claim, cell)
        ),
    }
}

fn noun(claim: &Claim) -> &'static str {
    if claim.of.is_some() { "cycle" } else { "wakeup" }
}

/// Formats the stalls for which a bound holds:
/// `; if each disturbance delays only one period (P ≤ 4.1e-5 if up to 10 ms, 1.9e-4 if up to 50 ms)`.
fn stalls(claim: &Claim, cell: &CellJudgement) -> String {
    let Some((one, longer)) = cell.bounds.split_first() else { return String::new() };
    let of = |b: &StallBound| format!("{} if up to {}", at_most(b.upper), b.stall_ns);
    if claim.stall.is_some_and(|stall| stall > one.stall_ns) {
        let others: Vec<String> = cell.bounds.iter().filter(|b| Some(b.stall_ns) != claim.stall).map(of).collect();
        return format!("; if no disturbance makes releases late for longer than declared (P ≤ {})", others.join(", "));
    }
    let at = match claim.quantity {
        Quantity::Exceedance { .. } | Quantity::MissedShare(_) => {
            "if each disturbance delays only one period".to_owned()
        }
        Quantity::Quantile { limit, .. } => {
            format!("P(≥ {limit}) ≤ {} if each disturbance delays only one period", at_most(one.upper))
        }
        _ => {
            format!(
                "the next one violates it with P ≤ {}, if each disturbance delays only one period",
                at_most(one.upper)
            )
        }
    };
    let longer: Vec<String> = longer.iter().map(of).collect();
    if longer.is_empty() { format!("; {at}") } else { format!("; {at} (P ≤ {})", longer.join(", ")) }
}

fn episodes(cell: &CellJudgement) -> String {
    match cell.episodes {
        Some(e) if e.count > 0 => {
            format!(
                "{} (longest {})",
                plural(e.count, "late episode", "late episodes"),
                plural(e.longest, "period", "periods")
            )
        }
        _ => "no late episode".into(),
    }
}

/// Formats a rate per second in the unit that gives a readable number.
fn often(per_second: f64, round: fn(f64) -> f64) -> String {
    let units = [("second", 1.0), ("minute", 60.0), ("hour", 3_600.0), ("day", 86_400.0), ("week", 604_800.0)];
    let fits = |seconds: f64| per_second * seconds >= 1.0;
    let (name, seconds) = units.into_iter().find(|(_, seconds)| fits(*seconds)).unwrap_or(("year", 31_557_600.0));
    format!("{} per {name}", round(per_second * seconds * 10.0) / 10.0)
}

pub(super) fn refuted(recording: &Recording, claim: &Claim, cell: &CellJudgement) -> String {
    let (samples, at) = (count(cell.samples), at_place(recording, &cell.phase, cell.cpu));
    let who = place(recording, &cell.phase, cell.cpu);
    let sure = confidence(claim.confidence);
    match claim.quantity {
        Quantity::Max(_) if claim.of.is_some() => format!("{who} was {}", latency(recording, cell.max_ns)),
        Quantity::Max(_) => format!("{who} woke {} late", latency(recording, cell.max_ns)),
        Quantity::Quantile { q, .. } => {
            format!("{} of {who} is at least {} ({sure} confidence)", name(q), ns(cell.lower))
        }
        Quantity::Exceedance { limit, .. } => {
            format!(
                "P(> {limit}) is at least {} {at} ({sure} confidence; {} of {samples} were later)",
                least(cell.lower),
                beyond(cell)
            )
        }
        Quantity::Episodes { limit, .. } => {
            let lower = cell.lower.map_or_else(|| "–".into(), |rate| often(rate, f64::floor));
            format!("{} above {limit} {at}: at least {lower} ({sure} confidence)", episodes(cell))
        }
        Quantity::NoneMissed => {
            let (missed, worst) = (beyond(cell), latency(recording, cell.max_ns));
            match claim.of {
                Some(_) => format!("{who} was late in {missed} of {samples} periods, its worst cycle took {worst}"),
                None => format!("{who} missed {missed} of {samples} periods, its worst wakeup {worst} late"),
            }
        }
        Quantity::MissedShare(_) => {
            format!(
                "{who} missed {} of {samples} periods, at least {} ({sure} confidence)",
                beyond(cell),
                least(cell.lower)
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
        return format!("undecided from the file {at}: {why}{}", bounds_reported(claim, cell));
    }
    if would_pass(claim, cell) || matches!(claim.quantity, Quantity::Max(_) | Quantity::NoneMissed) {
        // By the samples alone, the claim would have passed.
        return format!("{}; but the run is doubtful for the reasons above", shown(recording, claim, cell));
    }
    let samples = format!("{} {}s", count(cell.samples), noun(claim));
    let found = match claim.quantity {
        Quantity::Quantile { q, .. } => match (cell.lower, cell.upper) {
            (_, None) => format!("{} is not bounded by this run ({samples} {at})", name(q)),
            (None, upper) => format!("{} is at most {} ({samples} {at})", name(q), ns(upper)),
            (lower, upper) => format!("{} lies between {} and {} ({samples} {at})", name(q), ns(lower), ns(upper)),
        },
        Quantity::Exceedance { limit, .. } => match cell.upper {
            Some(most) => {
                format!("{samples} {at} bound P(> {limit}) no lower than {}{}", at_most(most), longer(claim, cell))
            }
            None => format!("P(> {limit}) is not bounded by this run ({samples} {at})"),
        },
        Quantity::Episodes { limit, .. } => match cell.upper {
            Some(most) => {
                format!("{} above {limit} in {samples} {at}: at most {}", episodes(cell), often(most, f64::ceil))
            }
            None => {
                format!("the order of the samples is unknown, and therefore the late episodes too ({samples} {at})")
            }
        },
        Quantity::Max(_) | Quantity::NoneMissed | Quantity::MissedShare(_) => match cell.upper {
            Some(most) => format!(
                "{} of {samples} missed {at}, a share of at most {}{}",
                beyond(cell),
                at_most(most),
                longer(claim, cell)
            ),
            None => format!("{} of {samples} missed {at}; their share is not bounded by this run", beyond(cell)),
        },
    };
    format!("{found}{}", needed(cell))
}

/// Reports an observed episode that is longer than the claim allows for.
fn longer(claim: &Claim, cell: &CellJudgement) -> String {
    match cell.episodes {
        Some(seen) if cell.stall_exceeded => {
            let what = claim.stall.map_or_else(|| "stalls of one period".into(), |stall| format!("stalls of {stall}"));
            format!(
                "; an episode of {} late was observed, but the bound assumes {what}: declare the longest with @stall",
                plural(seen.most_late, "period", "periods")
            )
        }
        _ => String::new(),
    }
}

/// Returns true if the samples alone show that the claim holds.
fn would_pass(claim: &Claim, cell: &CellJudgement) -> bool {
    let below = |limit: f64| cell.upper.is_some_and(|upper| upper < limit) && !cell.stall_exceeded;
    match claim.quantity {
        Quantity::Exceedance { p, .. } => below(p) && cell.episodes.is_some(),
        Quantity::MissedShare(p) => below(p),
        Quantity::Episodes { per_second, .. } => below(per_second),
        Quantity::Quantile { .. } | Quantity::Max(_) | Quantity::NoneMissed => false,
    }
}

/// Reports the bounds that follow from the imported file even though it lacks some values.
fn bounds_reported(claim: &Claim, cell: &CellJudgement) -> String {
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
            "; this requires {} wakeups, none of them beyond the limit, {} on each CPU under each load",
            count_f(n.samples),
            n.duration_ns
        ),
        None => String::new(),
    }
}

/// Formats the number of samples beyond the limit: `75`, or `75 to 77` if the limit lies within a bin.
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

fn most(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), at_most)
}

fn least(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), at_least)
}

/// Returns the name of a quantile, for example `p99.99` for 0.9999.
pub(crate) fn name(q: f64) -> String {
    let text = format!("{:.10}", q * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(crate) fn limit(claim: &Claim) -> Option<Nanos> {
    match claim.quantity {
        Quantity::Max(limit)
        | Quantity::Quantile { limit, .. }
        | Quantity::Exceedance { limit, .. }
        | Quantity::Episodes { limit, .. } => Some(limit),
        Quantity::NoneMissed | Quantity::MissedShare(_) => None,
    }
}
