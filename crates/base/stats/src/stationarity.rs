//! KPSS test for stationarity of a series.

/// The 5 % critical value of [`kpss`]. A series with a larger statistic is not stationary. Source: table 1 of the paper
/// cited for [`kpss`].
pub const KPSS_CRITICAL_5: f64 = 0.463;

/// Returns the usual number of lags for `n` values, ⌊12·(n/100)^¼⌋: 21 for a thousand values (G. W. Schwert, "Tests for
/// unit roots: a Monte Carlo investigation", J. Business & Economic Statistics 7 (1989)).
pub fn kpss_lags(n: usize) -> usize {
    (12.0 * (n as f64 / 100.0).powf(0.25)) as usize
}

/// Returns the KPSS statistic for the hypothesis that the series is stationary around a constant level: Σ Sₜ² / (n²
/// s²), where Sₜ are the partial sums of the residuals and s² is their long-run variance with Bartlett weights 1 −
/// k/(lags+1).
///
/// Returns `None` for fewer than 2 values, at least as many lags as values, or values that are not finite or all equal.
/// Takes O(n·lags) time.
///
/// Source: D. Kwiatkowski, P. C. B. Phillips, P. Schmidt and Y. Shin, "Testing the null hypothesis of stationarity
/// against the alternative of a unit root", J. Econometrics 54 (1992).
pub fn kpss(x: &[f64], lags: usize) -> Option<f64> {
    if x.len() < 2 || lags >= x.len() {
        return None;
    }
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let residuals: Vec<f64> = x.iter().map(|v| v - mean).collect();
    let product = |k: usize| -> f64 {
        let later = residuals.get(k..).unwrap_or_default();
        later.iter().zip(&residuals).map(|(a, b)| a * b).sum()
    };
    let weighted: f64 = (1..=lags).map(|k| (1.0 - k as f64 / (lags as f64 + 1.0)) * product(k)).sum();
    let variance = (product(0) + 2.0 * weighted) / n;
    let (mut partial, mut squares) = (0.0, 0.0);
    for r in &residuals {
        partial += r;
        squares += partial * partial;
    }
    let largest = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let rounding = (largest * f64::EPSILON * 4.0).powi(2);
    Some(squares / (n * n * variance)).filter(|eta| eta.is_finite() && variance > rounding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0], &[3.0; 50], &[0.1; 50], &[1.0, f64::NAN, 3.0]] {
            assert_eq!(kpss(x, 0), None);
        }
        assert_eq!(kpss(&[1.0, 2.0], 2), None);
        assert_eq!(kpss_lags(0), 0);
        assert_eq!(kpss_lags(1_000), 21);
    }

    /// About 95 % of stationary series pass, but almost no series whose level shifts by more than its standard
    /// deviation.
    #[test]
    fn noise_passes_and_a_shift_does_not() {
        let (mut random, mut passed, mut shifted) = (SplitMix64::new(8), 0, 0);
        for _ in 0..200 {
            let noise: Vec<f64> = (0..300).map(|_| random.uniform()).collect();
            let shift: Vec<f64> = noise.iter().enumerate().map(|(i, v)| if i < 150 { *v } else { v + 0.4 }).collect();
            passed += u32::from(kpss(&noise, kpss_lags(300)).unwrap() < KPSS_CRITICAL_5);
            shifted += u32::from(kpss(&shift, kpss_lags(300)).unwrap() < KPSS_CRITICAL_5);
        }
        assert!(passed >= 180 && shifted <= 10, "{passed} {shifted}");
    }
}
