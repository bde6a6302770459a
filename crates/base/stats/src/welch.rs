//! Comparison of means. It is reported in addition to the rank tests, because published comparisons often use it.

use crate::beta::ln_beta_tails;

/// Result of Welch's test of the hypothesis that both means are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// (mean of b − mean of a) / standard error.
    pub t: f64,
    /// Degrees of freedom, approximated by Satterthwaite's formula.
    pub degrees: f64,
    pub p: f64,
}

/// Performs the t-test for samples with unequal variances. Latencies are not normally distributed, so prefer
/// [`crate::mann_whitney`].
///
/// Returns `None` if a sample has fewer than 2 values, a value is not finite, or neither sample varies.
///
/// Source: B. L. Welch, "The generalization of Student's problem when several different population variances are
/// involved", Biometrika 34 (1947); for p, Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    let (mean_a, part_a) = mean_and_error(a)?;
    let (mean_b, part_b) = mean_and_error(b)?;
    let square = part_a + part_b;
    let t = (mean_b - mean_a) / square.sqrt();
    let rest = |part: f64, n: usize| part * part / (n as f64 - 1.0);
    let degrees = square * square / (rest(part_a, a.len()) + rest(part_b, b.len()));
    if !(t.is_finite() && degrees.is_finite() && square > 0.0) {
        return None;
    }
    let whole = degrees + t * t;
    let p = ln_beta_tails(0.5 * degrees, 0.5, degrees / whole, t * t / whole).ln_lower.exp();
    Some(Welch { t, degrees, p })
}

fn mean_and_error(x: &[f64]) -> Option<(f64, f64)> {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let squares: f64 = x.iter().map(|v| (v - mean).powi(2)).sum();
    (x.len() >= 2 && squares.is_finite()).then(|| (mean, squares / (n - 1.0) / n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_input_is_none() {
        for bad in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(welch(bad, &[1.0, 2.0]), None);
            assert_eq!(welch(&[1.0, 2.0], bad), None);
        }
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(welch(&[1.0, 2.0], &[1.0, 2.0]).unwrap().p, 1.0);
    }
}
