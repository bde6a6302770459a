//! Computes quantiles with bounds from order statistics.

use punctual_model::Known;
use punctual_stats::{RankBounds, quantile_rank_bounds_clustered};
use std::collections::BTreeMap;

pub const CONFIDENCE: f64 = 0.95;

/// A sample quantile with bounds; a bound is `None` if this run has too few samples for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantile {
    pub ns: Option<u64>,
    pub lower: Option<u64>,
    pub upper: Option<u64>,
}

/// Computes bounds and caches the ranks, since many CPUs have equal numbers of samples.
#[derive(Default)]
pub struct Finder {
    ranks: BTreeMap<(u64, u64, u64), RankBounds>,
}

impl Finder {
    /// Returns the `q` quantile, as far as it is known, of samples that cluster with extremal index `theta` (1:
    /// independent).
    pub fn quantile(&mut self, known: &Known, theta: f64, q: f64) -> Quantile {
        let n = known.all().count();
        let key = (n, theta.to_bits(), q.to_bits());
        let ranks = *self.ranks.entry(key).or_insert_with(|| quantile_rank_bounds_clustered(n, theta, q, CONFIDENCE));
        Quantile {
            ns: known.quantile(q),
            lower: ranks.lower.and_then(|rank| known.at_least(rank)),
            upper: ranks.upper.and_then(|rank| known.at_most(rank)),
        }
    }
}

/// Returns the number of independent samples needed to bound the `q` quantile: qⁿ ≤ α/2, since with fewer samples not
/// even the largest is an upper bound.
pub fn samples_needed(q: f64) -> f64 {
    ((0.5 * (1.0 - CONFIDENCE)).ln() / q.ln()).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Blur;
    use punctual_units::Histogram;
    use std::borrow::Cow;

    fn exact(histogram: &Histogram) -> Known<'_> {
        Known::new(Cow::Borrowed(histogram), Blur::EXACT)
    }

    #[test]
    fn as_many_samples_as_the_order_statistics_ask_for() {
        assert_eq!(samples_needed(0.999), 3_688.0);
        let mut histogram = Histogram::new();
        histogram.record_n(5_000, 3_687);
        let mut finder = Finder::default();
        assert_eq!(finder.quantile(&exact(&histogram), 1.0, 0.999).upper, None);
        histogram.record(9_000);
        assert_eq!(finder.quantile(&exact(&histogram), 1.0, 0.999).upper, Some(9_000));
    }

    #[test]
    fn bounds_enclose_the_quantile() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|n| histogram.record(n * 100));
        let independent = Finder::default().quantile(&exact(&histogram), 1.0, 0.9);
        let clustered = Finder::default().quantile(&exact(&histogram), 0.1, 0.9);
        for q in [independent, clustered] {
            assert!(q.lower < q.ns && q.ns < q.upper, "{q:?}");
        }
        assert!(clustered.lower < independent.lower && clustered.upper > independent.upper);
    }
}
