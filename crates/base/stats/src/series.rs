//! Autocorrelation of values in chronological order.

use crate::gamma::chi_square_sf;

/// Maximum number of products that are summed for an estimate. Computing this many takes about 0.2 s.
const MAX_WORK: usize = 200_000_000;
/// Smallest correlation that does not count as zero.
const NEGLIGIBLE: f64 = 0.05;

/// Returns the autocorrelation at `lag`, Σ(xₜ − x̄)(xₜ₊ₗ − x̄) / Σ(xₜ − x̄)², which lies between −1 and 1.
///
/// Returns `None` if no two values are that far apart, all values are equal, or a value is not finite.
///
/// Source: G. E. P. Box and G. M. Jenkins, Time Series Analysis, section 2.1.
pub fn autocorrelation(x: &[f64], lag: usize) -> Option<f64> {
    let centred = Centred::of(x)?;
    (lag < x.len()).then(|| centred.at(lag))
}

/// Returns Pearson's correlation of each value with the next value. The mean is subtracted separately for the first n −
/// 1 and the last n − 1 values, as in most published "lag-1" correlations. `None` for fewer than 3 values, or values
/// that are all equal or not finite.
pub fn lag_one(x: &[f64]) -> Option<f64> {
    pearson(x.get(..x.len().checked_sub(1)?)?, x.get(1..)?)
}

/// Returns Pearson's correlation of two series of equal length; `None` for fewer than 2 values, different lengths, or
/// values that are not finite or all equal.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 2 {
        return None;
    }
    let (x, y) = (Centred::of(x)?, Centred::of(y)?);
    let product: f64 = x.values.iter().zip(&y.values).map(|(x, y)| x * y).sum();
    Some((product / (x.squares.sqrt() * y.squares.sqrt())).clamp(-1.0, 1.0))
}

/// Returns the number of independent values that would determine the mean as precisely as these values: n / (1 + 2 Σ
/// ρ̂ₖ), with k from 1 up to the first ρ̂ₖ < 0.05. It lies between about 1 and n.
///
/// Returns `None` for fewer than 3 values, for values that are all equal or not finite, and for a long series whose
/// correlations do not decay within 2·10⁸ products. Average such a series into longer blocks first.
///
/// Source: G. V. Bayley and J. M. Hammersley, "The effective number of independent observations in an autocorrelated
/// time series", J. R. Statist. Soc. 8 (1946); the cutoff excludes the noise of distant lags.
pub fn effective_n(x: &[f64]) -> Option<f64> {
    let centred = Centred::of(x)?;
    let n = x.len();
    if n < 3 {
        return None;
    }
    let mut sum = 0.0;
    for lag in 1..n {
        if lag * n > MAX_WORK {
            return None;
        }
        let rho = centred.at(lag);
        if rho < NEGLIGIBLE {
            break;
        }
        sum += rho;
    }
    Some(n as f64 / (1.0 + 2.0 * sum))
}

/// Returns n / n_eff (see [`effective_n`]) with most of its bias removed: correlations of n values around their own
/// mean are too small by about (n/n_eff)/n each (M. H. Quenouille, Biometrika 36 (1949)). The result is at least 1; it
/// is also `None` if the correlations extend over a fifth of the series.
pub(crate) fn inflation(x: &[f64]) -> Option<f64> {
    let n = x.len() as f64;
    let plain = (n / effective_n(x)?).max(1.0);
    let kept = 1.0 - 3.0 * plain / n;
    (kept > 0.4 || plain == 1.0).then(|| 1.0 + (plain - 1.0) / kept)
}

/// Returns n / n_eff from the lag-one autocorrelation ρ alone: (1 + ρ)/(1 − ρ), which is correct if correlations decay
/// as ρᵏ. ρ is corrected for its bias of −(1 + 3ρ)/n (F. H. C. Marriott and J. A. Pope, Biometrika 41 (1954)). The
/// result varies less than [`inflation`], which sums many correlations. The result is at least 1; it is `None` if ρ
/// reaches 1, and as for [`autocorrelation`].
pub(crate) fn inflation_by_first(x: &[f64]) -> Option<f64> {
    let seen = autocorrelation(x, 1)?;
    let rho = (seen + (1.0 + 3.0 * seen) / x.len() as f64).max(0.0);
    (rho < 1.0).then(|| (1.0 + rho) / (1.0 - rho))
}

/// Result of a test of the hypothesis that there is no autocorrelation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LjungBox {
    /// Q = n(n+2) Σ ρ̂ₖ²/(n−k), k = 1…lags.
    pub q: f64,
    /// Probability that χ² with `lags` degrees of freedom is at least Q.
    pub p: f64,
}

/// Performs the test of G. M. Ljung and G. E. P. Box, "On a measure of lack of fit in time series models", Biometrika
/// 65 (1978).
///
/// Returns `None` if `lags` is 0, there are no more values than lags, the computation would be too long (2·10⁸
/// products), or the values are all equal or not finite.
pub fn ljung_box(x: &[f64], lags: usize) -> Option<LjungBox> {
    let centred = Centred::of(x)?;
    if lags == 0 || lags >= x.len() || lags.checked_mul(x.len())? > MAX_WORK {
        return None;
    }
    let n = x.len() as f64;
    let sum: f64 = (1..=lags).map(|k| centred.at(k).powi(2) / (n - k as f64)).sum();
    let q = n * (n + 2.0) * sum;
    Some(LjungBox { q, p: chi_square_sf(q, lags as f64) })
}

/// A series with its mean subtracted.
struct Centred {
    values: Vec<f64>,
    squares: f64,
}

impl Centred {
    fn of(x: &[f64]) -> Option<Centred> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let values: Vec<f64> = x.iter().map(|v| v - mean).collect();
        let squares: f64 = values.iter().map(|v| v * v).sum();
        // The residue of equal values is rounding, not variation.
        let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let rounding = (largest * f64::EPSILON * 4.0).powi(2) * x.len() as f64;
        (squares.is_finite() && squares > rounding).then_some(Centred { values, squares })
    }

    fn at(&self, lag: usize) -> f64 {
        let later = self.values.get(lag..).unwrap_or_default();
        later.iter().zip(&self.values).map(|(a, b)| a * b).sum::<f64>() / self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0], &[2.0, 2.0, 2.0], &[1.0, f64::NAN, 3.0], &[0.1; 7], &[f64::MAX, -f64::MAX, 0.0]] {
            assert_eq!(autocorrelation(x, 1), None);
            assert_eq!(lag_one(x), None);
            assert_eq!(effective_n(x), None);
            assert_eq!(ljung_box(x, 1), None);
        }
        assert_eq!(autocorrelation(&[1.0, 2.0], 2), None);
        assert_eq!(pearson(&[1.0, 2.0], &[1.0]), None);
        assert_eq!(ljung_box(&[1.0, 2.0, 4.0], 3), None);
        assert_eq!(ljung_box(&[1.0, 2.0, 4.0], 0), None);
    }

    /// An AR(1) series with ρ has n(1−ρ)/(1+ρ) effective values: 1000 of 9000 for ρ = 0.8.
    #[test]
    fn an_autoregressive_series() {
        let (mut random, mut x) = (SplitMix64::new(5), vec![0.0]);
        for _ in 1..9_000 {
            let last = x.last().copied().unwrap();
            x.push(0.8 * last + random.uniform() - 0.5);
        }
        let n = effective_n(&x).unwrap();
        assert!((850.0..1_200.0).contains(&n), "{n}");
        assert!((lag_one(&x).unwrap() - 0.8).abs() < 0.02);
    }

    #[test]
    fn independent_values_count_fully() {
        let mut random = SplitMix64::new(6);
        let x: Vec<f64> = (0..5_000).map(|_| random.uniform()).collect();
        assert_eq!(effective_n(&x), Some(5_000.0));
        assert!(ljung_box(&x, 10).unwrap().p > 0.01);
    }

    proptest! {
        #[test]
        fn correlations_are_correlations(x in proptest::collection::vec(-9.0f64..9.0, 3..60), lag in 0usize..60) {
            if let Some(rho) = autocorrelation(&x, lag) {
                prop_assert!((-1.000_001..=1.000_001).contains(&rho));
            }
            if let Some(n) = effective_n(&x) {
                prop_assert!(n > 0.9 && n <= x.len() as f64);
            }
        }
    }
}
