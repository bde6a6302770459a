//! Number of boots that a comparison needs.

use crate::estimate::possible_confidence;
use crate::normal::normal_quantile;
use crate::signed_rank::signed_rank_least_p;

/// Probability with which the difference must be detected.
const POWER: f64 = 0.8;
const MAX: u64 = 100_000;

/// Returns the number of boots in each of two groups, or of pairs, with which the rank test at the two-sided level
/// `alpha` detects a `shift` between normal values with standard deviation `spread` in 80 % of cases. It is 2(z +
/// z′)²·spread²/shift²·π/3 + z²/4, or more if the smallest possible p-value requires it. The factor π/3 is the loss of
/// efficiency of ranks against means for a normal distribution. The term z²/4 corrects for small samples.
///
/// Returns `None` if `alpha` is not strictly between 0 and 1, `spread` or `shift` is not positive and finite, or more
/// than 100 000 boots are needed.
///
/// Sources: E. L. Lehmann, Nonparametrics (1975), section 2.4; W. C. Guenther, "Sample size formulas for normal theory
/// t tests", The American Statistician 35 (1981).
pub fn boots_for_difference(spread: f64, shift: f64, alpha: f64, in_pairs: bool) -> Option<u64> {
    let z = normal_quantile(1.0 - 0.5 * alpha).filter(|z| z.is_finite())?;
    let signal = shift / spread;
    if !(possible_confidence(alpha) && signal.is_finite() && shift > 0.0 && spread > 0.0) {
        return None;
    }
    let both = z + normal_quantile(POWER)?;
    let wanted = 2.0 * (both / signal).powi(2) * std::f64::consts::FRAC_PI_3 + 0.25 * z * z;
    let least_p = |n: u64| match in_pairs {
        true => signed_rank_least_p(n),
        // 2 / C(2n, n)
        false => (1..=n).fold(2.0, |p, k| p * k as f64 / (n + k) as f64),
    };
    let possible = (1..200).find(|n| least_p(*n) <= alpha * (1.0 + 1e-12))?;
    (wanted <= MAX as f64).then(|| possible.max(wanted.ceil() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mann_whitney::mann_whitney;
    use crate::random::SplitMix64;

    #[test]
    fn impossible_input_is_none() {
        for (spread, shift, alpha) in
            [(0.0, 1.0, 0.05), (1.0, -1.0, 0.05), (1.0, 1.0, 1.0), (f64::NAN, 1.0, 0.05), (1.0, 1e-6, 0.05)]
        {
            assert_eq!(boots_for_difference(spread, shift, alpha, false), None);
        }
        assert_eq!(boots_for_difference(1e-6, 1.0, 0.05, false), Some(4), "2/C(8, 4) = 0.029");
        assert_eq!(boots_for_difference(1e-6, 1.0, 0.05, true), Some(6), "2/2^6 = 0.031");
    }

    #[test]
    fn so_many_find_it_in_four_of_five() {
        let mut random = SplitMix64::new(6);
        for (spread, alpha) in [(0.5, 0.05), (1.0, 0.05), (0.5, 0.004)] {
            let n = boots_for_difference(spread, 1.0, alpha, false).unwrap();
            let mut draw = |shift: f64| -> Vec<f64> {
                (0..n).map(|_| shift + spread * normal_quantile(random.uniform()).unwrap()).collect()
            };
            let found = (0..300).filter(|_| mann_whitney(&draw(0.0), &draw(1.0)).unwrap().p <= alpha).count();
            assert!((225..=292).contains(&found), "{spread} {alpha} {n}: {found} of 300");
        }
    }
}
