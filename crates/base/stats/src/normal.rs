//! The normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Returns P(Z ≤ `z`) for the standard normal distribution, precise in both tails. NaN for NaN.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// Returns P(|Z| ≥ |`z`|), the two-sided p-value of a score.
pub fn normal_two_sided(z: f64) -> f64 {
    libm::erfc(z.abs() * FRAC_1_SQRT_2)
}

/// Returns the z with P(Z ≤ z) = `p`, for example 1.959963984540054 for 0.975; `None` if `p` is not strictly between 0
/// and 1.
///
/// Uses Newton's method in the lower tail, for ln P as a function of z, which is concave.
pub fn normal_quantile(p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let (tail, sign) = if p <= 0.5 { (p, -1.0) } else { (1.0 - p, 1.0) };
    let target = tail.ln();
    // erfc(38.5/√2) is the smallest positive double.
    let (mut low, mut high) = (-38.5, 0.0);
    let mut z: f64 = 0.0;
    for _ in 0..200 {
        let cdf = normal_cdf(z);
        let excess = cdf.ln() - target;
        if excess > 0.0 {
            high = z;
        } else {
            low = z;
        }
        let newton = z - excess * cdf / ((-0.5 * z * z).exp() / TAU.sqrt());
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - z).abs() <= 2.0 * f64::EPSILON * z.abs() || excess == 0.0 {
            break;
        }
        z = next;
    }
    Some(-sign * z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn known_values() {
        assert!((normal_quantile(0.975).unwrap() - 1.959_963_984_540_054).abs() < 1e-14);
        assert_eq!(normal_quantile(0.5), Some(0.0));
        assert!((normal_cdf(-10.0) / 7.619_853_024_160_527e-24 - 1.0).abs() < 1e-13);
        for p in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
            assert_eq!(normal_quantile(p), None);
        }
        assert!(normal_cdf(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn agrees_with_statrs(z in -8.0f64..8.0) {
            let theirs = Normal::standard().cdf(z);
            prop_assert!((normal_cdf(z) - theirs).abs() < 1e-10, "{theirs}");
            prop_assert!((normal_two_sided(z) - 2.0 * normal_cdf(-z.abs())).abs() < 1e-15);
        }

        #[test]
        fn the_quantile_undoes_the_distribution(ln_p in -600.0f64..-0.001) {
            let p = ln_p.exp();
            let back = normal_cdf(normal_quantile(p).unwrap());
            prop_assert!((back / p - 1.0).abs() < 1e-11, "{back} {p}");
        }
    }
}
