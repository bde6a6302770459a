use crate::rows::ratio_of;
use crate::{CONFIDENCE, SEED};
use punctual_model::Covariate;
use punctual_stats::{self as stats, Point};

/// Maximum p-value at which a threshold is accepted.
const LEVEL: f64 = 0.05;

/// Returns the temperature threshold, and the ratio of the values below it. `None` if temperature does not explain the
/// difference, or either group has too few values below the threshold.
pub(crate) fn explained(a: &[Point], b: &[Point]) -> Option<Covariate> {
    let found = stats::threshold(a, b, SEED).filter(|t| t.p <= LEVEL && t.step > 1.0)?;
    // Sensors have a resolution of half a degree or more, so whole degrees suffice.
    let at = found.at.floor();
    let split = stats::split_ratio(a, b, at, CONFIDENCE)?;
    split.below.interval?;
    Some(Covariate {
        at,
        step: found.step,
        p: found.p,
        all: ratio_of(&split.all),
        below: ratio_of(&split.below),
        n_below: (split.n_below.0 as u64, split.n_below.1 as u64),
        share: split.share_explained(),
        is_most: split.mostly_covariate(),
    })
}
