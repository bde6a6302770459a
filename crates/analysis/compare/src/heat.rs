use crate::rows::ratio_of;
use crate::{CONFIDENCE, SEED};
use punctual_model::Covariate;
use punctual_stats::{self as stats, Point};

/// Maximum p at which a threshold is accepted.
const LEVEL: f64 = 0.05;

/// The temperature threshold and the ratio below it. `None` if temperature explains nothing, or too few values of
/// either group are below the threshold.
pub(crate) fn explained(a: &[Point], b: &[Point]) -> Option<Covariate> {
    let found = stats::threshold(a, b, SEED).filter(|t| t.p <= LEVEL && t.step > 1.0)?;
    // Sensors have steps of half a degree or more, so a whole degree is precise enough.
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
