use crate::cell::Samples;
use punctual_model::{Claim, Outcome, Quantity};
use punctual_stats::{exceedance_lower, exceedance_upper, quantile_rank_bounds_clustered};

/// The result from the samples alone, before doubts.
pub(crate) struct Finding {
    pub outcome: Outcome,
    /// Bounds (least, most) of the samples beyond the limit, or missed.
    pub beyond: (u64, u64),
    /// A latency in ns or a probability, with its bounds.
    pub estimate: Option<f64>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

pub(crate) fn limit(quantity: Quantity, samples: &Samples) -> u64 {
    match quantity {
        // These claim `< limit`, so a sample at the limit is beyond it.
        Quantity::Max(limit) | Quantity::Quantile { limit, .. } => limit.0.saturating_sub(1),
        Quantity::Exceedance { limit, .. } => limit.0,
        // A wakeup late by a whole period skips the next release.
        Quantity::NoneMissed | Quantity::MissedShare(_) => samples.deadline.unwrap_or(samples.period.saturating_sub(1)),
    }
}

pub(crate) fn find(claim: &Claim, samples: &Samples, theta: f64) -> Finding {
    let limit = limit(claim.quantity, samples);
    let share = |beyond| probability(beyond, samples, theta, claim.confidence);
    match claim.quantity {
        Quantity::Max(_) => {
            let beyond = samples.beyond(limit);
            Finding { outcome: none_allowed(beyond), ..share(beyond) }
        }
        Quantity::NoneMissed => {
            let missed = missed(samples);
            Finding { outcome: none_allowed(missed), ..share(missed) }
        }
        Quantity::Exceedance { p, .. } => {
            let found = share(samples.beyond(limit));
            let passes = found.upper.is_some_and(|upper| upper < p);
            Finding { outcome: decide(passes, found.lower.is_some_and(|lower| lower > p)), ..found }
        }
        // The claim is `<=`: a bound equal to the share passes.
        Quantity::MissedShare(most) => {
            let found = share(missed(samples));
            let passes = found.upper.is_some_and(|upper| upper <= most);
            Finding { outcome: decide(passes, found.lower.is_some_and(|lower| lower > most)), ..found }
        }
        Quantity::Quantile { q, limit: below } => {
            let found = quantile(q, samples, theta, claim.confidence);
            let (passes, fails) = (found.upper.map(|u| u < below.0 as f64), found.lower.map(|l| l > below.0 as f64));
            let outcome = decide(passes == Some(true), fails == Some(true));
            Finding { outcome, beyond: samples.beyond(limit), ..found }
        }
    }
}

fn missed(samples: &Samples) -> (u64, u64) {
    let late = samples.deadline.map_or((0, 0), |deadline| samples.raw_beyond(deadline));
    let most = samples.missed.saturating_add(samples.uncounted);
    (samples.missed.saturating_add(late.0), most.saturating_add(late.1))
}

fn none_allowed(beyond: (u64, u64)) -> Outcome {
    decide(beyond.1 == 0, beyond.0 > 0)
}

fn decide(passes: bool, fails: bool) -> Outcome {
    match (passes, fails) {
        (_, true) => Outcome::Fail,
        (true, false) => Outcome::Pass,
        (false, false) => Outcome::Inconclusive,
    }
}

/// Probability of being beyond: the wider of Clopper–Pearson for the samples and for the events they cluster into. The
/// caller sets the outcome.
fn probability(beyond: (u64, u64), samples: &Samples, theta: f64, confidence: f64) -> Finding {
    let n = samples.corrected.count() as f64;
    let (least, most) = (beyond.0 as f64, beyond.1 as f64);
    // Uncounted skipped periods are either beyond, and included in `most`, or not, and then the total is larger.
    let all = n + samples.uncounted as f64;
    let total = if beyond.1 == 0 { n } else { all };
    let (few, many) = ((least * theta).floor().max(least.min(1.0)), (most * theta).ceil());
    let upper = exceedance_upper(most, total, confidence).max(exceedance_upper(many, total * theta, confidence));
    let lower = exceedance_lower(least, all, confidence).min(exceedance_lower(few, all * theta, confidence));
    let seen = samples.uncounted == 0;
    Finding {
        outcome: Outcome::Inconclusive,
        beyond,
        estimate: seen.then(|| (0.5 * (least + most) / n).min(1.0)),
        lower: Some(lower),
        upper: Some(upper),
    }
}

/// A quantile with bounds, ns: the lower edge of the bin of the lower rank, the upper edge of that of the upper rank.
/// Uncounted skipped periods are all assumed early for the lower bound and late for the upper.
fn quantile(q: f64, samples: &Samples, theta: f64, confidence: f64) -> Finding {
    let n = samples.corrected.count();
    let nearest = ((q * n as f64).ceil() as u64).clamp(1, n);
    let ranks = |n: u64| quantile_rank_bounds_clustered(n, theta, q, confidence);
    let (lower, upper) = match n.checked_add(samples.uncounted) {
        Some(all) => {
            let ranks = ranks(all);
            (ranks.lower.and_then(|rank| rank.checked_sub(samples.uncounted)), ranks.upper.map(|rank| rank.min(n)))
        }
        None => (None, ranks(n).upper.map(|_| n)),
    };
    let high = |rank| samples.edges_at(rank).and_then(|(_, high)| high);
    Finding {
        outcome: Outcome::Inconclusive,
        beyond: (0, 0),
        estimate: high(nearest).map(|high| high as f64),
        lower: lower.and_then(|rank| samples.edges_at(rank)).map(|(low, _)| low as f64),
        upper: upper.and_then(high).map(|high| high as f64),
    }
}
