//! How much longer to measure to decide an open claim, or to support a stronger statement than a passed one.

use crate::cell::Samples;
use crate::rules::Finding;
use punctual_model::{Claim, Needed, Outcome, Quantity};
use punctual_stats::{exceedance_upper, samples_required};
use punctual_units::Nanos;

/// For a passed claim: the samples that support a statement stronger by this factor.
const STRONGER: f64 = 10.0;

/// The number of samples, none beyond the limit, that decides an open claim, or that supports a tenth of the
/// probability bounded by a passed one.
///
/// The duration saturates at 584 years (64 bits of nanoseconds).
///
/// `None` if time would not help: a refuted claim, a cell in doubt, an observed share no smaller than the claimed one,
/// or more samples than needed already.
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
        // The claim has no probability: the bound achieved is the measure.
        Quantity::Max(_) | Quantity::NoneMissed => (1.0, claim.confidence),
        // Rounded to the precision of 1 − q, so that p99.9 asks for 0.001.
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
