//! Maximum likelihood fit of the generalised Pareto distribution, with profile likelihood intervals.

use crate::estimate::{Interval, possible_confidence};
use crate::gpd::Gpd;
use crate::minimise::{FINE, ROUGH, golden};
use crate::normal::normal_quantile;

/// Shape below which the likelihood is unbounded as σ approaches −ξ·(largest value).
const MIN_SHAPE: f64 = -1.0;
/// Minimum effective number of exceedances for which the profile intervals have the stated coverage.
const MIN_EFFECTIVE: f64 = 100.0;

/// Exceedances of a threshold, as values or as bin counts.
pub trait Exceedances {
    /// Returns the negative log-likelihood; infinite if the distribution cannot produce one of the values.
    fn nll(&self, gpd: Gpd) -> f64;
    /// Returns the largest exceedance, or the lower edge of the highest bin. The upper end of the distribution, if it
    /// has one, must lie above it.
    fn reach(&self) -> f64;
    fn count(&self) -> f64;
}

/// A maximum likelihood fit of a generalised Pareto distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpdFit {
    pub gpd: Gpd,
    /// Negative log-likelihood at the fit.
    pub nll: f64,
    /// Number of exceedances.
    pub n: f64,
}

impl GpdFit {
    /// Returns the asymptotic standard errors of the shape, (1+ξ)/√n, and of the scale, σ√(2(1+ξ)/n), and their
    /// covariance, −σ(1+ξ)/n. `None` for ξ ≤ −½, where they are not valid (R. L. Smith, Biometrika 72 (1985)).
    ///
    /// Intervals are not computed from them but from the profile likelihood, which is asymmetric.
    pub fn standard_errors(&self) -> Option<(f64, f64, f64)> {
        let Gpd { shape, scale } = self.gpd;
        let one = 1.0 + shape;
        (shape > -0.5).then(|| (one / self.n.sqrt(), scale * (2.0 * one / self.n).sqrt(), -scale * one / self.n))
    }
}

/// Values with weights (number of occurrences).
#[derive(Clone, Debug)]
pub struct Values {
    weighted: Vec<(f64, f64)>,
    count: f64,
    reach: f64,
    mean: f64,
}

impl Values {
    /// Creates the sample from exceedances (values minus their threshold) that occurred once each; `None` as for
    /// [`Values::weighted`].
    pub fn new(exceedances: &[f64]) -> Option<Values> {
        Values::weighted(exceedances.iter().map(|&x| (x, 1.0)).collect())
    }

    /// Creates the sample from exceedances and their numbers of occurrences. `None` if a value is negative, a weight is
    /// not positive, a number is not finite, or there are fewer than 3 distinct values above 0.
    pub fn weighted(weighted: Vec<(f64, f64)>) -> Option<Values> {
        let possible = |&(x, w): &(f64, f64)| x >= 0.0 && x.is_finite() && w > 0.0 && w.is_finite();
        let count: f64 = weighted.iter().map(|(_, w)| w).sum();
        let mean = weighted.iter().map(|(x, w)| x * w).sum::<f64>() / count;
        let reach = weighted.iter().fold(0.0f64, |m, (x, _)| m.max(*x));
        let mut different = [f64::NAN; 2];
        let third = weighted.iter().any(|&(x, _)| {
            let free = different.iter_mut().find(|d| d.is_nan() || **d == x);
            x > 0.0 && free.map(|d| *d = x).is_none()
        });
        (weighted.iter().all(possible) && mean.is_finite() && third).then_some(Values { weighted, count, reach, mean })
    }

    /// Returns the most likely shape for a given θ = ξ/σ: the mean of ln(1 + θx). The result is below −1 or NaN if
    /// there is no such shape.
    fn shape_of(&self, theta: f64) -> f64 {
        self.weighted.iter().map(|(x, w)| w * (theta * x).ln_1p()).sum::<f64>() / self.count
    }

    /// Returns the negative log-likelihood divided by n at the most likely shape for this θ: ln(ξ/θ) + ξ + 1.
    fn along(&self, theta: f64) -> f64 {
        let shape = self.shape_of(theta);
        let scale = if (theta * self.mean).abs() < 1e-10 { self.mean } else { shape / theta };
        if shape > MIN_SHAPE && scale > 0.0 { scale.ln() + shape + 1.0 } else { f64::INFINITY }
    }

    /// Returns the maximum likelihood fit, found by a one-dimensional search over θ = ξ/σ (S. D. Grimshaw, "Computing
    /// maximum likelihood estimates for the generalized Pareto distribution", Technometrics 35 (1993)).
    ///
    /// Returns `None` if the likelihood has no maximum with ξ > −1.
    pub fn fit(&self) -> Option<GpdFit> {
        // The grid ranges from just above −1/max through 0 to far above 1/mean, and is denser near the ends.
        let negative = (1..=40).rev().map(|i| ((-0.25 * f64::from(i)).exp_m1()) / self.reach);
        let positive = (0..=40).map(|i| (-9.0 + 0.45 * f64::from(i)).exp() / self.mean);
        let grid: Vec<f64> = negative.chain(positive).collect();
        let heights: Vec<f64> = grid.iter().map(|&theta| self.along(theta)).collect();
        let (lowest, _) = heights.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
        let (before, after) = (grid.get(lowest.checked_sub(1)?)?, grid.get(lowest + 1)?);
        let (theta, height) = golden(*before, *after, FINE, |theta| self.along(theta));
        let shape = self.shape_of(theta);
        let scale = if (theta * self.mean).abs() < 1e-10 { self.mean } else { shape / theta };
        let sound = height.is_finite() && shape > MIN_SHAPE + 0.01;
        sound.then_some(GpdFit { gpd: Gpd { shape, scale }, nll: self.count * height, n: self.count })
    }
}

impl Exceedances for Values {
    fn nll(&self, gpd: Gpd) -> f64 {
        let beyond = gpd.upper_end().is_some_and(|end| end <= self.reach);
        if beyond || gpd.scale.is_nan() || gpd.scale <= 0.0 {
            return f64::INFINITY;
        }
        let sum: f64 = self.weighted.iter().map(|(x, w)| w * gpd.ln_survival(*x)).sum();
        self.count * gpd.scale.ln() - (1.0 + gpd.shape) * sum
    }

    fn reach(&self) -> f64 {
        self.reach
    }

    fn count(&self) -> f64 {
        self.count
    }
}

/// Returns the profile likelihood interval of the shape: all ξ for which the log-likelihood at the best σ is at most
/// z²/2 below its maximum.
///
/// In simulations with ξ from −.2 to .2, 95 % intervals covered the true value in 93 to 95 % of the samples with at
/// least 100 exceedances, and in 88 to 93 % with 50. Therefore there is no interval for fewer than 100.
///
/// `theta` is the extremal index: clustered exceedances carry θ times the information, so the log-likelihood may be
/// z²/(2θ) below its maximum. Returns `None` if there are fewer than 100/θ exceedances, an end of the interval is below
/// −1 or above 5, or θ or the confidence is invalid.
///
/// Source: S. Coles, An Introduction to Statistical Modeling of Extreme Values (2001), sections 2.6.5 and 4.3.
pub fn shape_interval(data: &impl Exceedances, fit: &GpdFit, theta: f64, confidence: f64) -> Option<Interval> {
    let bound = bound(fit, theta, confidence)?;
    let profile = |shape: f64| {
        let floor = (-shape * data.reach() / fit.gpd.scale).max(1e-3).ln();
        golden(floor, floor.max(0.0) + 4.0, ROUGH, |s| data.nll(Gpd { shape, scale: fit.gpd.scale * s.exp() })).1
    };
    let step = (0.5 / fit.n.sqrt()).max(1e-4);
    let inside = |shape: f64| shape > MIN_SHAPE && shape < 5.0;
    let low = crossing(|d| profile(fit.gpd.shape - d), |d| inside(fit.gpd.shape - d), step, bound)?;
    let high = crossing(|d| profile(fit.gpd.shape + d), |d| inside(fit.gpd.shape + d), step, bound)?;
    Some(Interval { low: fit.gpd.shape - low, high: fit.gpd.shape + high, confidence })
}

/// Returns the profile likelihood interval of the level that one in `m` exceedances exceeds (see [`shape_interval`]).
///
/// Returns `None` as for [`shape_interval`], and if `m` is not above 1 or an end of the interval is more than a factor
/// of e¹² away from the level.
pub fn level_interval(data: &impl Exceedances, fit: &GpdFit, m: f64, theta: f64, confidence: f64) -> Option<Interval> {
    let bound = bound(fit, theta, confidence)?;
    let level = fit.gpd.return_level(m).filter(|&level| m > 1.0 && level > 0.0)?;
    let shapes = shape_interval(data, fit, theta, 0.5 + 0.5 * confidence)?;
    let width = shapes.high - shapes.low;
    let profile = |z: f64| {
        // Smaller shapes end before the largest value.
        let least = if z > data.reach() { MIN_SHAPE } else { (-z / data.reach()).ln_1p() / m.ln() };
        let (low, high) = ((shapes.low - width).max(least).max(MIN_SHAPE), shapes.high + width);
        let scale = |shape: f64| if shape.abs() < 1e-12 { z / m.ln() } else { z * shape / (shape * m.ln()).exp_m1() };
        golden(low.min(high), high, ROUGH, |shape| data.nll(Gpd { shape, scale: scale(shape) })).1
    };
    let inside = |d: f64| d < 12.0;
    let low = crossing(|d| profile(level * (-d).exp()), inside, 0.02, bound)?;
    let high = crossing(|d| profile(level * d.exp()), inside, 0.02, bound)?;
    Some(Interval { low: level * (-low).exp(), high: level * high.exp(), confidence })
}

fn bound(fit: &GpdFit, theta: f64, confidence: f64) -> Option<f64> {
    let enough = fit.n * theta >= MIN_EFFECTIVE;
    if !(enough && theta > 0.0 && theta <= 1.0 && possible_confidence(confidence)) {
        return None;
    }
    let z = normal_quantile(0.5 + 0.5 * confidence)?;
    Some(fit.nll + 0.5 * z * z / theta)
}

/// Returns the distance at which `height` crosses `bound`, found by doubling `step` and then by bisection; `None` if
/// that distance is not `inside`.
fn crossing(height: impl Fn(f64) -> f64, inside: impl Fn(f64) -> bool, step: f64, bound: f64) -> Option<f64> {
    let (mut near, mut far) = (0.0, step);
    loop {
        if !inside(far) {
            return None;
        }
        if height(far) > bound {
            break;
        }
        (near, far) = (far, 2.0 * far);
    }
    for _ in 0..18 {
        let middle = 0.5 * (near + far);
        if height(middle) > bound {
            far = middle;
        } else {
            near = middle;
        }
    }
    Some(0.5 * (near + far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0], &[1.0, 2.0, 1.0, 0.0], &[-1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, f64::NAN]] {
            assert!(Values::new(x).is_none(), "{x:?}");
        }
        assert!(Values::weighted(vec![(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]).is_none());
        let some = Values::new(&[0.2, 0.5, 1.0, 1.6, 2.4, 3.6, 6.0]).unwrap();
        assert_eq!(shape_interval(&some, &some.fit().unwrap(), 1.0, 0.95), None);
        let data = draw(&mut SplitMix64::new(51), Gpd { shape: 0.1, scale: 5.0 }, 150);
        let fit = data.fit().unwrap();
        assert!(shape_interval(&data, &fit, 0.7, 0.95).is_some() && shape_interval(&data, &fit, 0.6, 0.95).is_none());
        assert!(level_interval(&data, &fit, 1e3, 0.7, 0.95).is_some());
        assert_eq!(level_interval(&data, &fit, 1e3, 0.6, 0.95), None);
        assert_eq!(shape_interval(&data, &fit, 0.0, 0.95), None);
        assert_eq!(shape_interval(&data, &fit, 1.0, 1.0), None);
        assert_eq!(level_interval(&data, &fit, 1.0, 1.0, 0.95), None);
        assert_eq!(level_interval(&data, &fit, f64::NAN, 1.0, 0.95), None);
    }

    /// For evenly spaced values, the likelihood grows until the distribution ends at the largest value. It has no
    /// maximum with ξ > −1.
    #[test]
    fn a_box_is_refused_or_ends() {
        let even: Vec<f64> = (1..=50).map(f64::from).collect();
        assert!(Values::new(&even).unwrap().fit().is_none_or(|fit| fit.gpd.shape > -1.0));
    }

    fn draw(random: &mut SplitMix64, gpd: Gpd, n: usize) -> Values {
        let x: Vec<f64> = (0..n).map(|_| gpd.exceeded_with(random.uniform()).unwrap()).collect();
        Values::new(&x).unwrap()
    }

    /// Returns how many of `times` intervals of the shape and of the one-in-1000 level contain the true value, and how
    /// many intervals of each could not be computed.
    fn held(gpd: Gpd, n: usize, times: usize, seed: u64) -> [usize; 4] {
        let (mut random, mut held) = (SplitMix64::new(seed), [0; 4]);
        for _ in 0..times {
            let data = draw(&mut random, gpd, n);
            let fit = data.fit();
            let shape = fit.and_then(|fit| shape_interval(&data, &fit, 1.0, 0.95));
            let level = fit.and_then(|fit| level_interval(&data, &fit, 1e3, 1.0, 0.95));
            held[0] += usize::from(shape.is_some_and(|shape| shape.holds(gpd.shape)));
            held[1] += usize::from(level.is_some_and(|level| level.holds(gpd.return_level(1e3).unwrap())));
            held[2] += usize::from(shape.is_none());
            held[3] += usize::from(level.is_none());
        }
        held
    }

    /// This test has few runs and detects only gross errors. The next test measures the coverage.
    #[test]
    fn profile_intervals_cover_the_truth() {
        for (shape, seed) in [(-0.2, 1), (0.0, 2), (0.2, 3)] {
            let held = held(Gpd { shape, scale: 5.0 }, 100, 15, seed);
            assert!(held.iter().take(2).all(|&h| h >= 12), "{shape} {held:?}");
        }
    }

    /// The measured coverage is 93.2 to 95.1 % in all cases, and two levels have no interval. With 50 exceedances the
    /// coverage is only 89 % for ξ = −0.2.
    #[test]
    #[ignore = "takes minutes: cargo test -p punctual-stats --release -- --ignored"]
    fn profile_intervals_cover_the_truth_in_18000_samples() {
        for n in [100, 200, 400] {
            for (shape, seed) in [(-0.2, 53), (0.0, 54), (0.2, 55)] {
                let held = held(Gpd { shape, scale: 5.0 }, n, 2_000, seed);
                let [shapes, levels, without_shape, without_level] = held;
                assert!(shapes >= 1_860 && levels >= 1_860, "{n} {shape} {held:?}");
                assert!(without_shape == 0 && without_level <= 2, "{n} {shape} {held:?}");
            }
        }
    }

    #[test]
    fn clustering_widens() {
        let data = draw(&mut SplitMix64::new(52), Gpd { shape: 0.1, scale: 5.0 }, 200);
        let fit = data.fit().unwrap();
        let [one, half] = [1.0, 0.5].map(|theta| shape_interval(&data, &fit, theta, 0.95).unwrap());
        assert!(half.low < one.low && half.high > one.high);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn the_unit_does_not_matter(x in proptest::collection::vec(0.01f64..9.0, 5..40), unit in 1e-3f64..1e9) {
            let scaled: Vec<f64> = x.iter().map(|v| v * unit).collect();
            let (one, other) = (Values::new(&x).unwrap().fit(), Values::new(&scaled).unwrap().fit());
            prop_assert_eq!(one.is_some(), other.is_some());
            if let Some((one, other)) = one.zip(other) {
                prop_assert!((one.gpd.shape - other.gpd.shape).abs() < 1e-4);
            }
        }

        #[test]
        fn no_place_is_likelier(x in proptest::collection::vec(0.01f64..9.0, 8..40), shape in -0.9f64..2.0, scale in 0.1f64..50.0) {
            let data = Values::new(&x).unwrap();
            if let Some(fit) = data.fit() {
                prop_assert!((data.nll(fit.gpd) - fit.nll).abs() < 1e-6 * (1.0 + fit.nll.abs()));
                let elsewhere = data.nll(Gpd { shape, scale });
                prop_assert!(elsewhere >= fit.nll - 1e-6);
            }
        }
    }
}
