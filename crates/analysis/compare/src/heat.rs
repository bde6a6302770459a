//! Is a difference one of the temperature?

use crate::rows::ratio_of;
use crate::{CONFIDENCE, SEED};
use punctual_model::Covariate;
use punctual_stats::{self as stats, Point};

/// The p from which on a threshold is one.
const LEVEL: f64 = 0.05;

/// The threshold of the temperature, if there is one, and the ratio below it. `None` where the temperature says nothing, or too
/// few values of both are below.
pub(crate) fn explained(a: &[Point], b: &[Point]) -> Option<Covariate> {
    let found = stats::threshold(a, b, SEED).filter(|t| t.p <= LEVEL && t.step > 1.0)?;
    // Sensors tell steps of half a degree and more: a whole degree is as precise, and people read it.
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
