//! Comparison of paired samples (one boot of each kernel, or two runs with the same seed): whether the second value of
//! a pair tends to be larger, and by how much.

use crate::estimate::{Estimate, Interval, logarithms, possible_confidence};
use crate::mann_whitney::Method;
use crate::normal::{normal_quantile, normal_two_sided};
use crate::order::{double_ranks, sorted};
use crate::pairwise::{middle, nth_walsh};
use crate::subset;

/// Result of the Wilcoxon signed-rank test of the hypothesis that the differences are symmetric about 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// W⁺, the sum of the ranks of the positive differences.
    pub w: f64,
    /// Number of non-zero differences. Zeros are omitted, as Wilcoxon proposed.
    pub n: usize,
    pub p: f64,
    pub method: Method,
}

/// Performs the signed-rank test. It is exact for up to about 150 differences (also with ties), and otherwise uses the
/// normal approximation with corrections for ties and continuity. p is 1 if all differences are 0.
///
/// Returns `None` if there is no difference or a difference is not finite.
///
/// Source: F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945); Hollander, Wolfe and
/// Chicken, Nonparametric Statistical Methods, 3rd ed., section 3.1.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let kept: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    let sizes: Vec<f64> = kept.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = double_ranks(&sizes);
    let positive: u64 = ranks.iter().zip(&kept).filter(|&(_, &d)| d > 0.0).map(|(r, _)| r).sum();
    let (w, n) = (0.5 * positive as f64, kept.len());
    if n == 0 {
        return Some(SignedRank { w, n, p: 1.0, method: Method::Exact });
    }
    if let Some(distribution) = subset::of_signs(&ranks) {
        return Some(SignedRank { w, n, p: subset::two_sided(&distribution, positive), method: Method::Exact });
    }
    let size = n as f64;
    let variance = size * (size + 1.0) * (2.0 * size + 1.0) / 24.0 - ties / 48.0;
    let off = ((w - 0.25 * size * (size + 1.0)).abs() - 0.5).max(0.0);
    Some(SignedRank { w, n, p: normal_two_sided(off / variance.sqrt()), method: Method::Normal })
}

/// Returns the smallest two-sided p-value that is possible with `pairs` pairs: 2^(1−`pairs`). A p-value below .05 needs
/// at least six pairs.
pub fn signed_rank_least_p(pairs: u64) -> f64 {
    2f64.powi(1 - i32::try_from(pairs).unwrap_or(i32::MAX)).min(1.0)
}

/// Returns the minimum number n of pairs for [`paired_shift`] to have an interval: 2^(1−n) ≤ 1 − confidence; 6 for 95
/// %.
///
/// Returns `None` if the confidence is not strictly between 0 and 1.
pub fn pairs_for_interval(confidence: f64) -> Option<u64> {
    let enough = |n: &u64| signed_rank_least_p(*n) <= (1.0 - confidence) * (1.0 + 1e-12);
    possible_confidence(confidence).then(|| (1..1_100).find(enough)).flatten()
}

/// Returns how much larger the second value of each pair is: the Hodges–Lehmann estimate for pairs, which is the median
/// of the Walsh averages (dᵢ + dⱼ)/2, i ≤ j, with the rank interval [A₍c₎, A₍M+1−c₎], where M = n(n+1)/2 and c is the
/// largest rank with 2·P(W⁺ < c) ≤ 1 − confidence.
///
/// It assumes independent pairs whose differences are symmetric about the shift. c is exact for up to about 250 pairs;
/// above, it comes from the normal approximation.
///
/// Returns `None` if there is no pair, a value is not finite, or the confidence is not strictly between 0 and 1.
///
/// Source: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963); for
/// the interval, Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3.
pub fn paired_shift(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    center(&differences, confidence)
}

/// Returns the ratio second / first, which is [`paired_shift`] applied to the logarithms and transformed back. 1 means
/// no difference.
///
/// Returns `None` as for [`paired_shift`], and if a value is not positive.
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (first, second) = (logarithms(&first)?, logarithms(&second)?);
    let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| b - a).collect();
    Some(center(&differences, confidence)?.map(f64::exp))
}

fn center(differences: &[f64], confidence: f64) -> Option<Estimate> {
    let differences = sorted(differences)?;
    if !possible_confidence(confidence) {
        return None;
    }
    let n = differences.len() as u128;
    let averages = n * (n + 1) / 2;
    let value = middle(averages, |k| nth_walsh(&differences, k))?;
    let interval = critical(differences.len(), confidence).and_then(|(c, confidence)| {
        let c = u128::from(c);
        let (low, high) = (nth_walsh(&differences, c)?, nth_walsh(&differences, averages + 1 - c)?);
        Some(Interval { low, high, confidence })
    });
    Some(Estimate { value, interval, least_n: pairs_for_interval(confidence)? })
}

/// Returns the rank c for the interval of [`paired_shift`], and the actual confidence of that interval.
fn critical(n: usize, confidence: f64) -> Option<(u64, f64)> {
    let ranks = (n <= 250).then(|| (1..=n as u64).collect::<Vec<u64>>());
    if let Some(distribution) = ranks.and_then(|ranks| subset::of_signs(&ranks)) {
        return subset::critical(&distribution, 0, confidence);
    }
    let n = n as f64;
    let (middle, sd) = (0.25 * n * (n + 1.0), (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt());
    let c = (middle - normal_quantile(0.5 + 0.5 * confidence)? * sd + 0.5).floor();
    (c >= 1.0).then(|| (c as u64, 1.0 - normal_two_sided((middle - c + 0.5) / sd)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[f64::NAN]), None);
        assert_eq!(paired_shift(&[], 0.95), None);
        assert_eq!(paired_shift(&[(1.0, f64::NAN)], 0.95), None);
        assert_eq!(paired_ratio(&[(0.0, 1.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, -1.0)], 0.95), None);
        assert_eq!(paired_shift(&[(1.0, 2.0)], 1.0), None);
        assert_eq!(pairs_for_interval(f64::NAN), None);
        assert_eq!(signed_rank_least_p(0), 1.0);
        assert_eq!(signed_rank_least_p(u64::MAX), 0.0);
    }

    #[test]
    fn no_difference_at_all() {
        let same = signed_rank(&[0.0; 9]).unwrap();
        assert_eq!((same.p, same.n), (1.0, 0));
        let same = paired_ratio(&[(3.0, 3.0); 9], 0.95).unwrap();
        assert_eq!((same.value, same.interval.unwrap().low, same.interval.unwrap().high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn five_pairs_cannot_six_can() {
        let pairs: Vec<(f64, f64)> = (1..=6).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
        let five = paired_ratio(&pairs[..5], 0.95).unwrap();
        assert!((five.value - 2.0).abs() < 1e-12);
        assert_eq!((five.interval, five.least_n), (None, 6));
        let six = paired_ratio(&pairs, 0.95).unwrap().interval.unwrap();
        assert_eq!(six.confidence, 0.96875);
        assert!(six.low < 2.0 + 1e-12 && six.high > 2.0 - 1e-12);
        assert_eq!(pairs_for_interval(0.99), Some(8));
    }

    /// The p-value of the depression data in Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed.,
    /// example 3.1, is the same as computed by scipy.stats.wilcoxon.
    #[test]
    #[expect(clippy::approx_constant, reason = "3.14 is a measurement")]
    fn the_depression_data() {
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y - x).collect();
        let test = signed_rank(&differences).unwrap();
        assert_eq!(test.w, 5.0);
        assert!((test.p - 0.0390625).abs() < 1e-14);
        let pairs: Vec<(f64, f64)> = x.iter().copied().zip(y).collect();
        let estimate = paired_shift(&pairs, 0.95).unwrap();
        assert!((estimate.value + 0.46).abs() < 1e-12, "{}", estimate.value);
        let interval = estimate.interval.unwrap();
        assert!((interval.low + 0.786).abs() < 1e-12 && (interval.high + 0.010).abs() < 1e-12, "{interval:?}");
    }

    #[test]
    fn normal_is_near_exact() {
        for n in [60usize, 101] {
            let (exact, _) = critical(n, 0.95).unwrap();
            let size = n as f64;
            let sd = (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt();
            let approximate = 0.25 * size * (size + 1.0) - 1.96 * sd;
            assert!((exact as f64 - approximate).abs() < 3.0, "{exact} {approximate}");
        }
    }

    proptest! {
        #[test]
        fn swapping_mirrors(pairs in proptest::collection::vec((1.0f64..9.0, 1.0f64..9.0), 1..20)) {
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (there, back) = (paired_ratio(&pairs, 0.95).unwrap(), paired_ratio(&swapped, 0.95).unwrap());
            prop_assert!((there.value * back.value - 1.0).abs() < 1e-9);
            prop_assert_eq!(there.interval.is_some(), pairs.len() >= 6);
            if let Some(interval) = there.interval {
                prop_assert!(interval.holds(there.value) && interval.confidence >= 0.95);
            }
        }
    }
}
