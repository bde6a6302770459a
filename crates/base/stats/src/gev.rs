//! The generalised extreme value distribution of block maxima (for example the maxima of each minute or run), and its
//! fits.
//!
//! The tail is heavy for ξ > 0. Source: S. Coles, An Introduction to Statistical Modeling of Extreme Values (2001),
//! chapter 3.

use crate::gpd::{LMoments, l_moments};
use crate::minimise::simplex;

/// A generalised extreme value distribution, P(X ≤ x) = exp(−(1 + ξ(x−μ)/σ)^(−1/ξ)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gev {
    /// Location μ, in the unit of the maxima.
    pub location: f64,
    /// Scale σ > 0, in the unit of the maxima.
    pub scale: f64,
    /// Shape ξ.
    pub shape: f64,
}

impl Gev {
    /// Returns the level that one block in `m` exceeds; `None` if `m` is not above 1.
    pub fn return_level(&self, m: f64) -> Option<f64> {
        if m.is_nan() || m <= 1.0 {
            return None;
        }
        let far = -(-(-1.0 / m).ln_1p()).ln();
        let x = if self.shape.abs() < 1e-12 { far } else { (self.shape * far).exp_m1() / self.shape };
        Some(self.location + self.scale * x).filter(|x| x.is_finite())
    }

    /// Returns the negative log-likelihood of these maxima; infinite if the distribution cannot produce one of them.
    pub fn nll(&self, maxima: &[f64]) -> f64 {
        if self.scale.is_nan() || self.scale <= 0.0 {
            return f64::INFINITY;
        }
        let one = |x: &f64| {
            let z = (x - self.location) / self.scale;
            // −ln of the exponential variable (1 + ξz)^(−1/ξ).
            let far = if self.shape.abs() < 1e-12 { z } else { (self.shape * z).ln_1p() / self.shape };
            if far.is_nan() { f64::INFINITY } else { self.scale.ln() + (1.0 + self.shape) * far + (-far).exp() }
        };
        let sum: f64 = maxima.iter().map(one).sum();
        if sum.is_nan() { f64::INFINITY } else { sum }
    }
}

/// Fits the distribution by L-moments: ξ = −7.8590c − 2.9554c² with c = 2/(3+t₃) − ln 2/ln 3 for 0 ≤ t₃ ≤ ½ (accurate
/// to 9·10⁻⁴), otherwise ξ from t₃ = 2(1−3^ξ)/(1−2^ξ) − 3 by bisection; σ = −l₂ξ / (Γ(1−ξ)(1−2^ξ)) and μ = l₁ −
/// σ(Γ(1−ξ)−1)/ξ. Requires ξ < 1.
///
/// Returns `None` for fewer than 3 values, values that are not finite or all equal, or an L-skewness that no ξ < 1 has.
///
/// Source: J. R. M. Hosking, J. R. Wallis and E. F. Wood, "Estimation of the generalized extreme-value distribution by
/// the method of probability-weighted moments", Technometrics 27 (1985).
pub fn gev_moments(maxima: &[f64]) -> Option<Gev> {
    let LMoments { l1, l2, t3 } = l_moments(maxima)?;
    let shape = if (0.0..=0.5).contains(&t3) { near_shape(t3) } else { far_shape(t3)? };
    let fit = if shape.abs() < 1e-9 {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let scale = l2 / std::f64::consts::LN_2;
        Gev { location: l1 - scale * EULER, scale, shape: 0.0 }
    } else {
        let gamma = libm::tgamma(1.0 - shape);
        let scale = l2 * shape / (gamma * (shape * std::f64::consts::LN_2).exp_m1());
        Gev { location: l1 - scale * (gamma - 1.0) / shape, scale, shape }
    };
    (fit.scale > 0.0 && fit.location.is_finite()).then_some(fit)
}

fn near_shape(t3: f64) -> f64 {
    let c = 2.0 / (3.0 + t3) - std::f64::consts::LN_2 / 3f64.ln();
    -c * (7.8590 + 2.9554 * c)
}

fn far_shape(t3: f64) -> Option<f64> {
    let (mut low, mut high) = (-5.0, 0.999);
    if !(skewness(low) < t3 && t3 < skewness(high)) {
        return None;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if skewness(middle) < t3 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// Returns the L-skewness t₃ of a distribution with this shape. It increases with the shape.
fn skewness(shape: f64) -> f64 {
    if shape.abs() < 1e-9 {
        return 2.0 * 3f64.ln() / std::f64::consts::LN_2 - 3.0;
    }
    2.0 * (shape * 3f64.ln()).exp_m1() / (shape * std::f64::consts::LN_2).exp_m1() - 3.0
}

/// Returns the maximum likelihood fit and its negative log-likelihood. The search starts at [`gev_moments`].
///
/// Returns `None` as for [`gev_moments`], and if the likelihood has no maximum with ξ > −1.
pub fn gev_fit(maxima: &[f64]) -> Option<(Gev, f64)> {
    let start = gev_moments(maxima)?;
    // The parameters are in units of the first fit, so that one step size suits all three.
    let of = |p: &[f64; 3]| {
        let [location, ln_scale, shape] = *p;
        Gev { location: start.location + start.scale * location, scale: start.scale * ln_scale.exp(), shape }
    };
    let nll = |p: &[f64; 3]| {
        let gev = of(p);
        if gev.shape > -1.0 { gev.nll(maxima) } else { f64::INFINITY }
    };
    // The fit by moments may exclude a maximum; the exponential tail never does.
    let first = if start.nll(maxima).is_finite() { start.shape } else { 0.0 };
    let (at, least) = simplex([0.0, 0.0, first], 0.1, nll)?;
    let fit = of(&at);
    (fit.shape > -0.99).then_some((fit, least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0, 2.0], &[5.0; 9], &[1.0, 2.0, f64::NAN]] {
            assert_eq!(gev_moments(x), None);
            assert_eq!(gev_fit(x), None);
        }
        let gev = Gev { location: 0.0, scale: 1.0, shape: 0.1 };
        assert_eq!(gev.return_level(1.0), None);
        assert_eq!(gev.return_level(f64::NAN), None);
        assert_eq!(gev.nll(&[-1e9]), f64::INFINITY);
    }

    #[test]
    fn both_fits_find_the_truth() {
        for shape in [-0.2, 0.0, 0.2] {
            let truth = Gev { location: 50.0, scale: 5.0, shape };
            let mut random = SplitMix64::new(71);
            let x: Vec<f64> = (0..2_000).map(|_| truth.return_level(1.0 / random.uniform()).unwrap()).collect();
            let (moments, (likely, _)) = (gev_moments(&x).unwrap(), gev_fit(&x).unwrap());
            for fit in [moments, likely] {
                assert!((fit.shape - shape).abs() < 0.06 && (fit.scale - 5.0).abs() < 0.4, "{fit:?}");
                assert!((fit.location - 50.0).abs() < 0.5, "{fit:?}");
            }
        }
    }

    #[test]
    fn both_ways_to_the_shape_agree() {
        for t3 in [0.0, 0.1, 0.169_925, 0.3, 0.4, 0.5] {
            assert!((near_shape(t3) - far_shape(t3).unwrap()).abs() < 9e-4, "{t3}");
        }
        assert_eq!(far_shape(0.9999), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn any_maxima_are_answered(x in proptest::collection::vec(0.0f64..99.0, 3..30)) {
            if let Some((fit, nll)) = gev_fit(&x) {
                prop_assert!(fit.scale > 0.0 && nll.is_finite());
                prop_assert!(gev_moments(&x).is_some_and(|start| start.nll(&x) >= nll - 1e-6));
            }
        }
    }
}
