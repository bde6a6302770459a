//! Computes how much longer to measure to decide an open claim, or, for a claim that passed or held, to support a
//! stronger one.

use crate::cell::Samples;
use crate::episodes::releases_of;
use crate::quantile::{LEAST_BLOCK_NS, LEAST_BLOCKS};
use crate::rules::Finding;
use punctual_model::{Claim, Needed, Outcome, Quantity};
use punctual_stats::expected_upper;
use punctual_units::Nanos;

/// For a claim that passed or held, the needed samples support a claim that is stronger by this factor.
const STRONGER: f64 = 10.0;

/// Returns the number of releases, none of them late, needed to show that a share is below `p`.
fn releases(p: f64, stall: f64, confidence: f64) -> f64 {
    (expected_upper(0.0, confidence) * stall * (1.0 - p) / p).ceil()
}

/// Returns the shortest time on each CPU under each load in which a claim can pass; `None` if it can only hold.
pub fn shortest(claim: &Claim, period: Nanos) -> Option<Nanos> {
    let stall = claim.stall.and_then(|stall| releases_of(stall, period.0)).unwrap_or(1.0);
    let periods = |n: f64| Nanos((n * period.0 as f64).ceil() as u64);
    match claim.quantity {
        Quantity::Max(_) | Quantity::NoneMissed => None,
        Quantity::Exceedance { p, .. } | Quantity::MissedShare(p) => {
            Some(periods(releases(p, stall, claim.confidence)))
        }
        Quantity::Quantile { q, .. } => {
            Some(periods(releases(1.0 - q, stall, claim.confidence)).max(Nanos(LEAST_BLOCKS as u64 * LEAST_BLOCK_NS)))
        }
        Quantity::Episodes { per_second, .. } => {
            Some(Nanos((expected_upper(0.0, claim.confidence) / per_second * 1e9).ceil() as u64))
        }
    }
}

/// Returns the number of samples, if none exceeds the limit, that decides an open claim, or that supports a tenth of
/// the bounded probability for a claim that passed or held.
///
/// The duration saturates at 584 years (64 bits of nanoseconds).
///
/// `None` if a longer measurement would not help: the claim is refuted, the cell is doubtful, the observed share is not
/// smaller than the claimed one, or there are already more samples than needed.
pub(crate) fn needed(claim: &Claim, samples: &Samples, finding: &Finding, doubtful: bool) -> Option<Needed> {
    let n = samples.corrected.count() as f64;
    let stall = claim.stall.and_then(|stall| releases_of(stall, samples.period)).unwrap_or(1.0);
    let bounded = (expected_upper(0.0, claim.confidence) * stall / n).min(1.0);
    let asked = match claim.quantity {
        // The claim states no probability, so the achieved bound is used.
        Quantity::Max(_) | Quantity::NoneMissed => 1.0,
        // Rounded to the precision of 1 − q, so that p99.9 requires 0.001.
        Quantity::Quantile { q, .. } => ((1.0 - q) * 1e15).round() / 1e15,
        Quantity::Exceedance { p, .. } | Quantity::MissedShare(p) => p,
        Quantity::Episodes { per_second, .. } => per_second * samples.period as f64 / 1e9,
    };
    let p = match finding.outcome {
        Outcome::Pass | Outcome::Held if doubtful => return None,
        Outcome::Pass | Outcome::Held if finding.beyond.1 == 0 => asked.min(bounded) / STRONGER,
        Outcome::Pass | Outcome::Held => asked / STRONGER,
        Outcome::Inconclusive => asked,
        Outcome::Fail => return None,
    };
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let needed =
        releases(p, if matches!(claim.quantity, Quantity::Episodes { .. }) { 1.0 } else { stall }, claim.confidence);
    // Ten blocks of half a minute.
    let blocks = (LEAST_BLOCKS as f64 * LEAST_BLOCK_NS as f64 / samples.period.max(1) as f64).ceil();
    let needed = match claim.quantity {
        Quantity::Quantile { .. } if finding.outcome == Outcome::Inconclusive => needed.max(blocks),
        _ => needed,
    };
    let time_helps = samples.period > 0
        && samples.uncounted == 0
        && !finding.exceeded
        && needed > n
        && (finding.beyond.0 as f64 / n) < p;
    let duration_ns = Nanos((needed * samples.period as f64).ceil() as u64);
    time_helps.then_some(Needed { p, samples: needed, duration_ns })
}
