//! Confidence bounds on a quantile by order statistics, given as the ranks of samples.

use crate::beta::{Tail, ln_beta_tails};

/// Ranks (1 = smallest sample) of the samples that bound a quantile; `None` if no sample does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBounds {
    /// Rank of the sample that is the lower bound.
    pub lower: Option<u64>,
    /// Rank of the sample that is the upper bound.
    pub upper: Option<u64>,
}

const UNBOUNDED: RankBounds = RankBounds { lower: None, upper: None };

/// Returns the bounds of the `q` quantile (0–1) of `n` independent samples; both hold together with `confidence`.
///
/// The ranks are l = max{r : F(r−1) ≤ α/2} and u = min{r ≤ n : F(r−1) ≥ 1 − α/2}, with α = 1 − confidence and F the
/// distribution function of Binomial(n, q). They are valid for any distribution and conservative (H. A. David and H. N.
/// Nagaraja, Order Statistics, 3rd ed., section 7.1). Takes about 2·log₂ n evaluations of the incomplete beta function.
pub fn quantile_rank_bounds(n: u64, q: f64, confidence: f64) -> RankBounds {
    if !(q > 0.0 && q < 1.0 && confidence > 0.0 && confidence < 1.0) {
        return UNBOUNDED;
    }
    let ln_half_alpha = (0.5 * (1.0 - confidence)).ln();
    RankBounds { lower: lower_rank(n, q, ln_half_alpha), upper: upper_rank(n, q, ln_half_alpha) }
}

/// Returns only the rank of the upper bound, which holds with `confidence`: min{r ≤ n : F(r−1) ≥ confidence}.
pub fn quantile_rank_upper(n: u64, q: f64, confidence: f64) -> Option<u64> {
    let possible = q > 0.0 && q < 1.0 && confidence > 0.0 && confidence < 1.0;
    possible.then(|| upper_rank(n, q, (1.0 - confidence).ln())).flatten()
}

/// Like [`quantile_rank_bounds`], for `n` samples in clusters with extremal index `theta` (0–1).
///
/// Late samples then come in groups of 1/θ on average, so n samples carry as much information as n·θ independent
/// samples. The ranks are computed for ⌊n·θ⌋ samples and converted to n samples so that the share of samples above them
/// stays the same. The result is never narrower than for independent samples, and equal to it for θ = 1.
pub fn quantile_rank_bounds_clustered(n: u64, theta: f64, q: f64, confidence: f64) -> RankBounds {
    let independent = quantile_rank_bounds(n, q, confidence);
    if theta >= 1.0 {
        return independent;
    }
    if theta.is_nan() || theta <= 0.0 {
        return UNBOUNDED;
    }
    let effective = (n as f64 * theta).floor() as u64;
    let fewer = quantile_rank_bounds(effective, q, confidence);
    let stretch = |above: u64| above as f64 * (n as f64 / effective as f64);
    // Rounds away from the quantile on either side: fewer samples above the upper bound, more above the lower one.
    let upper = fewer.upper.map(|r| n - (stretch(effective - r).floor() as u64).min(n));
    let lower = fewer.lower.map(|r| n.saturating_sub(stretch(effective - r).ceil() as u64)).filter(|&r| r > 0);
    RankBounds {
        lower: lower.zip(independent.lower).map(|(a, b)| a.min(b)),
        upper: upper.zip(independent.upper).map(|(a, b)| a.max(b)),
    }
}

/// Returns the smallest r ≤ n with P(X ≥ r) ≤ e^`ln_alpha` for X ~ Binomial(n, q).
fn upper_rank(n: u64, q: f64, ln_alpha: f64) -> Option<u64> {
    let enough = |r: u64| ln_at_least(r, n, q) <= ln_alpha;
    (n > 0 && enough(n)).then(|| partition(n, |r| !enough(r)) + 1)
}

/// Returns the largest r ≥ 1 with P(X ≤ r − 1) ≤ e^`ln_alpha` for X ~ Binomial(n, q).
fn lower_rank(n: u64, q: f64, ln_alpha: f64) -> Option<u64> {
    let rank = partition(n, |r| ln_below(r, n, q) <= ln_alpha);
    (rank > 0).then_some(rank)
}

/// Returns the largest r in 1..=n for which `holds` is true, assuming that it is true up to some r and false above; 0
/// if it is false for 1.
fn partition(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Returns ln P(X ≥ r) = ln I_q(r, n−r+1) for 1 ≤ r ≤ n (Abramowitz and Stegun, Handbook of Mathematical Functions,
/// 26.5.24).
fn ln_at_least(r: u64, n: u64, q: f64) -> f64 {
    ln_beta_tails(r as f64, (n - r) as f64 + 1.0, q, 1.0 - q).ln(Tail::Lower)
}

/// Returns ln P(X < r), the complement of [`ln_at_least`].
fn ln_below(r: u64, n: u64, q: f64) -> f64 {
    ln_beta_tails(r as f64, (n - r) as f64 + 1.0, q, 1.0 - q).ln(Tail::Upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes the bounds from the definition, by summing binomial probabilities.
    fn slow(n: u64, q: f64, confidence: f64) -> RankBounds {
        let alpha = 1.0 - confidence;
        let (mut ln_p, mut sum, mut cdf) = (n as f64 * (1.0 - q).ln(), 0.0, vec![]);
        for k in 0..n {
            sum += ln_p.exp();
            cdf.push(sum);
            ln_p += ((n - k) as f64 / (k + 1) as f64 * q / (1.0 - q)).ln();
        }
        let lower = cdf.iter().take_while(|&&f| f <= alpha / 2.0).count() as u64;
        let upper = cdf.iter().position(|&f| f >= 1.0 - alpha / 2.0).map(|i| i as u64 + 1);
        RankBounds { lower: (lower > 0).then_some(lower), upper }
    }

    #[test]
    fn nothing_known_bounds_nothing() {
        for (n, q, c) in [(0, 0.5, 0.95), (10, 0.0, 0.95), (10, 1.0, 0.95), (10, f64::NAN, 0.95), (10, 0.5, 1.0)] {
            assert_eq!(quantile_rank_bounds(n, q, c), UNBOUNDED, "{n} {q} {c}");
            assert_eq!(quantile_rank_upper(n, q, c), None);
        }
        assert_eq!(quantile_rank_bounds_clustered(100, 0.0, 0.5, 0.95), UNBOUNDED);
        assert_eq!(quantile_rank_bounds_clustered(100, f64::NAN, 0.5, 0.95), UNBOUNDED);
        assert_eq!(quantile_rank_bounds_clustered(100, 1e-9, 0.5, 0.95), UNBOUNDED);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_the_definition(n in 1u64..400, q in 0.01f64..0.99, c in 0.5f64..0.99) {
            prop_assert_eq!(quantile_rank_bounds(n, q, c), slow(n, q, c));
        }

        #[test]
        fn the_ranks_enclose_the_quantile(n in 1u64..10_000_000_000, q in 0.000_01f64..0.999_99, c in 0.5f64..0.999) {
            let bounds = quantile_rank_bounds(n, q, c);
            let at = q * n as f64;
            prop_assert!(bounds.lower.is_none_or(|r| r >= 1 && r as f64 <= at + 1.0));
            prop_assert!(bounds.upper.is_none_or(|r| r <= n && r as f64 >= at));
            let upper = quantile_rank_upper(n, q, c);
            prop_assert!(bounds.upper.is_none_or(|two_sided| upper.is_some_and(|r| r <= two_sided)));
        }

        #[test]
        fn more_confidence_widens(n in 1u64..10_000_000, q in 0.001f64..0.999, c in 0.5f64..0.99, by in 0.001f64..0.009) {
            let (narrow, wide) = (quantile_rank_bounds(n, q, c), quantile_rank_bounds(n, q, c + by));
            prop_assert!(wide.lower.unwrap_or(0) <= narrow.lower.unwrap_or(0));
            prop_assert!(wide.upper.unwrap_or(u64::MAX) >= narrow.upper.unwrap_or(u64::MAX));
        }

        #[test]
        fn clustering_widens(n in 1u64..10_000_000, q in 0.001f64..0.999, theta in 0.001f64..1.0) {
            let (narrow, wide) = (quantile_rank_bounds(n, q, 0.95), quantile_rank_bounds_clustered(n, theta, q, 0.95));
            prop_assert!(wide.lower.unwrap_or(0) <= narrow.lower.unwrap_or(0));
            prop_assert!(wide.upper.unwrap_or(u64::MAX) >= narrow.upper.unwrap_or(u64::MAX));
            prop_assert!(wide.upper.is_none_or(|r| r <= n) && wide.lower != Some(0));
            prop_assert_eq!(quantile_rank_bounds_clustered(n, 1.0, q, 0.95), narrow);
        }
    }
}
