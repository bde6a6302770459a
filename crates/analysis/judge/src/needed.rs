//! How much more measuring would decide an open claim, or support more than a passed one.

use crate::cell::Samples;
use crate::rules::Finding;
use punctual_model::{Claim, Needed, Outcome, Quantity};
use punctual_stats::{exceedance_upper, samples_required};
use punctual_units::Nanos;

/// A passed claim is answered with what it takes to say ten times more.
const STRONGER: f64 = 10.0;

/// The samples, none of them beyond the limit, that decide an open claim, or support a tenth of the probability that
/// this run bounds where it passed.
///
/// The time saturates at 584 years, the most that 64 bits of nanoseconds hold.
///
/// Nothing where time is not what is missing: a refuted claim, a cell in doubt, a share already seen that is no
/// smaller than the statement, or more samples already taken than the statement needs.
pub(crate) fn needed(
    claim: &Claim,
    samples: &Samples,
    finding: &Finding,
    theta: f64,
    doubtful: bool,
) -> Option<Needed> {
    let n = samples.corrected.count() as f64;
    let bounded = exceedance_upper(0.0, n * theta, claim.confidence);
    let (asked, confidence) = match claim.quantity {
        // Nothing is asked in figures: what was bounded is the measure.
        Quantity::Max(_) | Quantity::NoneMissed => (1.0, claim.confidence),
        // Rounded to what 1 − q is known to, so that p99.9 asks for 0.001.
        Quantity::Quantile { q, .. } => (((1.0 - q) * 1e15).round() / 1e15, 1.0 - 0.5 * (1.0 - claim.confidence)),
        Quantity::Exceedance { p, .. } => (p, claim.confidence),
        Quantity::MissedShare(share) => (share, claim.confidence),
    };
    let p = match finding.outcome {
        Outcome::Pass if doubtful => return None,
        Outcome::Pass if finding.beyond.1 == 0 => asked.min(bounded) / STRONGER,
        Outcome::Pass => asked / STRONGER,
        Outcome::Inconclusive => asked,
        Outcome::Fail => return None,
    };
    let needed = samples_required(p, confidence)?;
    let time_helps =
        samples.period > 0 && samples.uncounted == 0 && needed > n * theta && (finding.beyond.0 as f64 / n) < p;
    let duration_ns = Nanos((needed / theta * samples.period as f64).ceil() as u64);
    time_helps.then_some(Needed { p, samples: needed, duration_ns })
}
