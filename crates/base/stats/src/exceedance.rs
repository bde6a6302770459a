//! Confidence bounds on the probability of exceeding a limit.

use crate::beta::{Tail, beta_quantile};

/// Returns an upper bound, at `confidence`, on the probability that a sample is beyond a limit, given that `k` of `n`
/// samples were.
///
/// This is the bound of C. J. Clopper and E. S. Pearson, Biometrika 26 (1934): the p at which k or fewer of n samples
/// are beyond with a probability of 1 − confidence, which is Beta⁻¹(confidence; k+1, n−k). For k = 0, p = 1 − (1 −
/// confidence)^(1/n) ≈ 3/n at 95 %.
///
/// `k` and `n` may be non-integers after a correction for clustering. Returns 1 for invalid input.
pub fn exceedance_upper(k: f64, n: f64, confidence: f64) -> f64 {
    if !possible(k, n, confidence) || k >= n {
        return 1.0;
    }
    if k == 0.0 {
        return -((-confidence).ln_1p() / n).exp_m1();
    }
    beta_quantile(k + 1.0, n - k, Tail::Upper, 1.0 - confidence).unwrap_or(1.0)
}

/// Returns a lower bound, at `confidence`, on the probability that a sample is beyond a limit, given that `k` of `n`
/// samples were.
///
/// This is the bound of Clopper and Pearson: the p at which k or more of n samples are beyond with a probability of 1 −
/// confidence, which is Beta⁻¹(1 − confidence; k, n−k+1). Returns 0 for invalid input.
pub fn exceedance_lower(k: f64, n: f64, confidence: f64) -> f64 {
    if !possible(k, n, confidence) || k == 0.0 {
        return 0.0;
    }
    if k == n {
        return ((-confidence).ln_1p() / n).exp();
    }
    beta_quantile(k, n - k + 1.0, Tail::Lower, 1.0 - confidence).unwrap_or(0.0)
}

/// Returns both bounds, between which the probability lies with `confidence`. Each bound has half of the error
/// probability.
pub fn exceedance_interval(k: f64, n: f64, confidence: f64) -> (f64, f64) {
    let one_sided = 1.0 - 0.5 * (1.0 - confidence);
    (exceedance_lower(k, n, one_sided), exceedance_upper(k, n, one_sided))
}

/// Returns the number of independent samples, none of them beyond the limit, that are needed to claim P(beyond) < `p`
/// at `confidence`: ⌈ln(1 − confidence) / ln(1 − p)⌉, for example 2 995 732 273 for 1e-9 at 95 %.
///
/// Returns `None` if p or confidence is not strictly between 0 and 1.
pub fn samples_required(p: f64, confidence: f64) -> Option<f64> {
    let inside = |v: f64| v > 0.0 && v < 1.0;
    (inside(p) && inside(confidence)).then(|| ((-confidence).ln_1p() / (-p).ln_1p()).ceil())
}

fn possible(k: f64, n: f64, confidence: f64) -> bool {
    (0.0..=n).contains(&k) && n > 0.0 && n.is_finite() && confidence > 0.0 && confidence < 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_known_claims_nothing() {
        for (k, n, c) in [
            (0.0, 0.0, 0.95),
            (-1.0, 9.0, 0.95),
            (10.0, 9.0, 0.95),
            (f64::NAN, 9.0, 0.95),
            (1.0, f64::NAN, 0.95),
            (1.0, f64::INFINITY, 0.95),
            (1.0, 9.0, 0.0),
            (1.0, 9.0, 1.0),
            (1.0, 9.0, f64::NAN),
        ] {
            assert_eq!((exceedance_lower(k, n, c), exceedance_upper(k, n, c)), (0.0, 1.0), "{k} {n} {c}");
        }
        assert_eq!(samples_required(0.0, 0.95), None);
        assert_eq!(samples_required(1e-3, 1.0), None);
    }

    #[test]
    fn all_beyond() {
        assert_eq!(exceedance_upper(5.0, 5.0, 0.95), 1.0);
        assert!((exceedance_lower(5.0, 5.0, 0.95) - 0.05f64.powf(0.2)).abs() < 1e-15);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn bounds_contain_the_estimate(k in 0u64..10_000, more in 0u64..1_000_000_000_000, c in 0.5f64..0.999_999) {
            let (k, n) = (k as f64, (k + more).max(1) as f64);
            let (low, high) = (exceedance_lower(k, n, c), exceedance_upper(k, n, c));
            prop_assert!(0.0 <= low && low <= k / n && k / n <= high && high <= 1.0, "{low} {} {high}", k / n);
            let (wide_low, wide_high) = exceedance_interval(k, n, c);
            prop_assert!(wide_low <= low && high <= wide_high);
        }

        #[test]
        fn more_exceedances_raise_the_bounds(k in 0u64..1_000, by in 1u64..100, n in 1_200u64..1_000_000_000_000, c in 0.5f64..0.999_999) {
            let (k, more, n) = (k as f64, (k + by) as f64, n as f64);
            prop_assert!(exceedance_upper(k, n, c) < exceedance_upper(more, n, c));
            prop_assert!(exceedance_lower(k, n, c) < exceedance_lower(more, n, c));
        }

        #[test]
        fn more_samples_lower_the_bounds(k in 0u64..1_000, n in 1_200u64..1_000_000_000_000, by in 1.01f64..100.0, c in 0.5f64..0.999_999) {
            let (k, n) = (k as f64, n as f64);
            prop_assert!(exceedance_upper(k, n * by, c) < exceedance_upper(k, n, c));
            prop_assert!(exceedance_lower(k, n * by, c) <= exceedance_lower(k, n, c));
        }

        #[test]
        fn more_confidence_widens(k in 0u64..1_000, n in 1_200u64..1_000_000_000_000, c in 0.5f64..0.99, by in 0.001f64..0.009) {
            let (k, n) = (k as f64, n as f64);
            prop_assert!(exceedance_upper(k, n, c + by) > exceedance_upper(k, n, c));
            prop_assert!(exceedance_lower(k, n, c + by) <= exceedance_lower(k, n, c));
        }

        #[test]
        fn real_valued_counts_lie_between_whole_ones(k in 0u64..100, part in 0.01f64..0.99, n in 1_000u64..1_000_000_000) {
            let (k, n) = (k as f64, n as f64);
            let bound = |k| exceedance_upper(k, n, 0.95);
            prop_assert!(bound(k) < bound(k + part) && bound(k + part) < bound(k + 1.0));
        }

        #[test]
        fn the_samples_required_are_just_enough(ln_p in -30.0f64..-0.5, c in 0.5f64..0.999_999) {
            let p = ln_p.exp();
            let n = samples_required(p, c).unwrap();
            prop_assert!(exceedance_upper(0.0, n, c) <= p * (1.0 + 1e-9));
            prop_assert!(n <= 1.0 || exceedance_upper(0.0, n - 1.0, c) > p * (1.0 - 1e-9));
        }
    }
}
