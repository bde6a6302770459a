//! The generalised Pareto distribution of exceedances of a high threshold, and its fit by L-moments.
//!
//! The shape ξ has the sign that is usual in extreme value theory: for ξ > 0 the tail is heavy, for ξ < 0 it ends at
//! −σ/ξ.
//!
//! Source: J. Pickands, "Statistical inference using extreme order statistics", Ann. Statist. 3 (1975); S. Coles, An
//! Introduction to Statistical Modeling of Extreme Values (2001), chapter 4.

use crate::order::sorted;

/// Absolute value of the shape below which the distribution equals the exponential distribution to full precision.
const EXPONENTIAL: f64 = 1e-12;

/// A generalised Pareto distribution, P(X > x) = (1 + ξx/σ)^(−1/ξ) for x ≥ 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpd {
    /// Shape ξ.
    pub shape: f64,
    /// Scale σ > 0, in the unit of the exceedances.
    pub scale: f64,
}

impl Gpd {
    /// Returns ln P(X > `x`), which is 0 for x ≤ 0 and −∞ beyond the upper end.
    pub fn ln_survival(&self, x: f64) -> f64 {
        let y = (x / self.scale).max(0.0);
        if self.shape.abs() < EXPONENTIAL {
            return -y;
        }
        let grown = self.shape * y;
        if grown <= -1.0 { f64::NEG_INFINITY } else { -grown.ln_1p() / self.shape }
    }

    /// Returns P(X > `x`).
    pub fn survival(&self, x: f64) -> f64 {
        self.ln_survival(x).exp()
    }

    /// Returns the x with P(X > x) = `p`, which is σ(p^(−ξ) − 1)/ξ; `None` unless 0 < p ≤ 1.
    pub fn exceeded_with(&self, p: f64) -> Option<f64> {
        if !(p > 0.0 && p <= 1.0) {
            return None;
        }
        let far = -p.ln();
        let x = if self.shape.abs() < EXPONENTIAL { far } else { (self.shape * far).exp_m1() / self.shape };
        Some(self.scale * x).filter(|x| x.is_finite())
    }

    /// Returns the level that one in `m` exceedances exceeds; `None` if `m` is below 1.
    pub fn return_level(&self, m: f64) -> Option<f64> {
        self.exceeded_with(1.0 / m)
    }

    /// Returns the upper end of the distribution; `None` if there is none (ξ ≥ 0).
    pub fn upper_end(&self) -> Option<f64> {
        (self.shape < 0.0).then(|| -self.scale / self.shape)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LMoments {
    /// Mean, l₁.
    pub l1: f64,
    /// Half the mean absolute difference of two values, l₂.
    pub l2: f64,
    /// L-skewness l₃/l₂, −1 to 1.
    pub t3: f64,
}

/// Returns the unbiased sample L-moments l₁ = b₀, l₂ = 2b₁ − b₀ and l₃ = 6b₂ − 6b₁ + b₀, with bᵣ = Σ C(i−1, r) x₍ᵢ₎ /
/// (n C(n−1, r)).
///
/// Returns `None` for fewer than 3 values, or values that are not finite or all equal.
///
/// Source: J. R. M. Hosking, "L-moments", J. R. Statist. Soc. B 52 (1990).
pub fn l_moments(x: &[f64]) -> Option<LMoments> {
    let x = sorted(x)?;
    let n = x.len() as f64;
    let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
    for (i, v) in x.iter().enumerate() {
        let i = i as f64;
        b0 += v / n;
        b1 += v / n * (i / (n - 1.0));
        b2 += v / n * (i / (n - 1.0)) * ((i - 1.0) / (n - 2.0));
    }
    let (l2, l3) = (2.0 * b1 - b0, 6.0 * b2 - 6.0 * b1 + b0);
    let moments = LMoments { l1: b0, l2, t3: l3 / l2 };
    (x.len() >= 3 && x.first() != x.last() && l2 > 0.0 && moments.t3.is_finite()).then_some(moments)
}

/// Fits the distribution to exceedances (values minus their threshold) by probability-weighted moments: ξ = 2 − l₁/l₂,
/// σ = l₁(l₁/l₂ − 1). Suitable for small samples; requires ξ < 1.
///
/// Returns `None` as for [`l_moments`], and if a value is negative.
///
/// Source: J. R. M. Hosking and J. R. Wallis, "Parameter and quantile estimation for the generalized Pareto
/// distribution", Technometrics 29 (1987).
pub fn gpd_moments(exceedances: &[f64]) -> Option<Gpd> {
    if exceedances.iter().any(|&x| x < 0.0) {
        return None;
    }
    let LMoments { l1, l2, .. } = l_moments(exceedances)?;
    let fit = Gpd { shape: 2.0 - l1 / l2, scale: l1 * (l1 / l2 - 1.0) };
    (fit.scale > 0.0 && fit.shape.is_finite() && fit.scale.is_finite()).then_some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0], &[1.0, 2.0], &[3.0; 9], &[1.0, 2.0, f64::NAN]] {
            assert_eq!(l_moments(x), None);
            assert_eq!(gpd_moments(x), None);
        }
        assert_eq!(gpd_moments(&[-1.0, 2.0, 3.0]), None);
        let gpd = Gpd { shape: 0.1, scale: 1.0 };
        assert_eq!(gpd.exceeded_with(0.0), None);
        assert_eq!(gpd.return_level(0.5), None);
        assert_eq!(gpd.return_level(f64::NAN), None);
    }

    #[test]
    fn the_ends() {
        let bounded = Gpd { shape: -0.5, scale: 2.0 };
        assert_eq!((bounded.upper_end(), bounded.survival(4.0), bounded.survival(5.0)), (Some(4.0), 0.0, 0.0));
        assert_eq!((bounded.survival(0.0), bounded.survival(-1.0)), (1.0, 1.0));
        assert_eq!(Gpd { shape: 0.0, scale: 2.0 }.upper_end(), None);
    }

    proptest! {
        #[test]
        fn the_quantile_undoes_the_survival(shape in -0.9f64..0.9, scale in 0.1f64..100.0, ln_p in -30.0f64..0.0) {
            let gpd = Gpd { shape, scale };
            let back = gpd.ln_survival(gpd.exceeded_with(ln_p.exp()).unwrap());
            // Near an upper end, the value has few digits left for its distance to it.
            let tolerance = if shape < 0.0 { 1e-13 * (-shape * -ln_p).exp().max(1.0) * 1e3 } else { 1e-9 };
            prop_assert!((back - ln_p).abs() <= tolerance * (1.0 + ln_p.abs()) + 1e-9 || back < -20.0, "{back} {ln_p}");
        }

        #[test]
        fn the_shape_goes_continuously_through_zero(x in 0.0f64..20.0) {
            let at = |shape| Gpd { shape, scale: 3.0 }.ln_survival(x);
            prop_assert!((at(0.0) - at(1e-9)).abs() < 1e-6 && (at(0.0) - at(-1e-9)).abs() < 1e-6);
        }
    }
}
