//! Comparison of two independent samples: whether one tends to be larger, and by how much.
//!
//! The values must be independent. To compare kernels, use one value per boot, not per cycle.

use crate::estimate::{Estimate, Interval, logarithms, possible_confidence};
use crate::normal::{normal_quantile, normal_two_sided};
use crate::order::{double_ranks, sorted};
use crate::pairwise::{middle, nth_difference};
use crate::subset;

/// Largest total number of values for which the rank of the interval is exact. Above it, the normal approximation is at
/// most one rank off.
const EXACT_INTERVAL: usize = 60;

/// Method by which a p-value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The exact permutation distribution, including ties.
    Exact,
    /// The normal approximation, corrected for ties and continuity.
    Normal,
}

/// Result of the Mann–Whitney U test of the hypothesis that neither sample tends to be larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs in which the value of b is larger; ties count half.
    pub u: f64,
    /// Number of all pairs of a value of a and a value of b.
    pub pairs: f64,
    pub p: f64,
    pub method: Method,
}

impl MannWhitney {
    /// Returns P(b > a) + ½ P(b = a) for a random value of each sample; 0.5 if neither tends to be larger.
    pub fn probability_greater(&self) -> f64 {
        self.u / self.pairs
    }

    /// Returns Cliff's δ = P(b > a) − P(b < a), from −1 to 1.
    pub fn cliffs_delta(&self) -> f64 {
        2.0 * self.u / self.pairs - 1.0
    }
}

/// Performs the Mann–Whitney U test: exact for small samples (also with ties), otherwise by the normal approximation.
///
/// Returns `None` if a sample is empty or a value is not finite.
///
/// Source: H. B. Mann and D. R. Whitney, Ann. Math. Stat. 18 (1947); for the exact distribution with ties, B.
/// Streitberg and J. Röhmel, "Exact distributions for permutation and rank tests", Statistical Software Newsletter 12
/// (1986).
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    let ranked = Ranked::of(a, b)?;
    Some(ranked.exact().unwrap_or_else(|| ranked.normal()))
}

/// Like [`mann_whitney`], but always by the normal approximation: z = (|U − mn/2| − ½)/s with s² = mn/12·((N+1) −
/// Σ(t³−t)/(N(N−1))), summed over groups of t equal values (Hollander, Wolfe and Chicken, Nonparametric Statistical
/// Methods, 3rd ed., section 4.1).
pub fn mann_whitney_normal(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    Some(Ranked::of(a, b)?.normal())
}

/// Both samples ranked together.
struct Ranked {
    double_ranks: Vec<u64>,
    ties: f64,
    n_a: usize,
    n_b: usize,
}

impl Ranked {
    fn of(a: &[f64], b: &[f64]) -> Option<Ranked> {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        if a.is_empty() || b.is_empty() || all.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let (double_ranks, ties) = double_ranks(&all);
        Some(Ranked { double_ranks, ties, n_a: a.len(), n_b: b.len() })
    }

    fn result(&self, p: f64, method: Method) -> MannWhitney {
        let (m, n) = (self.n_a as f64, self.n_b as f64);
        let rank_sum = 0.5 * self.double_ranks.iter().skip(self.n_a).sum::<u64>() as f64;
        MannWhitney { u: rank_sum - 0.5 * n * (n + 1.0), pairs: m * n, p, method }
    }

    fn exact(&self) -> Option<MannWhitney> {
        let (of_a, of_b) = self.double_ranks.split_at_checked(self.n_a)?;
        let fewer = if of_a.len() <= of_b.len() { of_a } else { of_b };
        // Without ties all double ranks are even: halving them halves the work.
        let unit = if self.ties == 0.0 { 2 } else { 1 };
        let weights: Vec<u64> = self.double_ranks.iter().map(|r| r / unit).collect();
        let distribution = subset::of_choices(&weights, fewer.len())?;
        let p = subset::two_sided(&distribution, fewer.iter().sum::<u64>() / unit);
        Some(self.result(p, Method::Exact))
    }

    fn normal(&self) -> MannWhitney {
        let (m, n) = (self.n_a as f64, self.n_b as f64);
        let all = m + n;
        let variance = m * n / 12.0 * ((all + 1.0) - self.ties / (all * (all - 1.0)));
        let u = self.result(1.0, Method::Normal).u;
        let off = ((u - 0.5 * m * n).abs() - 0.5).max(0.0);
        // If all values are equal there is no evidence of a difference.
        let p = if variance > 0.0 { normal_two_sided(off / variance.sqrt()) } else { 1.0 };
        self.result(p, Method::Normal)
    }
}

/// Returns how much larger `b` is than `a`: the Hodges–Lehmann estimate, which is the median of all differences b − a,
/// with the rank interval [D₍c₎, D₍mn+1−c₎], where c is the largest rank with 2·P(U < c) ≤ 1 − confidence.
///
/// It assumes no particular distribution, only independent samples that differ by a shift. c is exact for up to 60
/// values in total; above, c = ⌊mn/2 − z·√(mn(m+n+1)/12)⌋, which is never larger than the exact rank. The interval is
/// conservative with ties.
///
/// Returns `None` if a sample is empty, a value is not finite, or the confidence is not strictly between 0 and 1.
///
/// Source: J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Stat. 34 (1963); for
/// the interval, Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., section 4.3.
pub fn shift(a: &[f64], b: &[f64], confidence: f64) -> Option<Estimate> {
    let (a, b) = (sorted(a)?, sorted(b)?);
    if !possible_confidence(confidence) {
        return None;
    }
    let pairs = a.len() as u128 * b.len() as u128;
    let value = middle(pairs, |k| nth_difference(&a, &b, k))?;
    let interval = critical(a.len(), b.len(), confidence).and_then(|(c, confidence)| {
        let c = u128::from(c);
        let (low, high) = (nth_difference(&a, &b, c)?, nth_difference(&a, &b, pairs + 1 - c)?);
        Some(Interval { low, high, confidence })
    });
    Some(Estimate { value, interval, least_n: samples_for_interval(confidence)? })
}

/// Returns the ratio b / a, which is [`shift`] applied to the logarithms and transformed back. 1 means no difference.
///
/// Returns `None` as for [`shift`], and if a value is not positive.
pub fn ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Estimate> {
    Some(shift(&logarithms(a)?, &logarithms(b)?, confidence)?.map(f64::exp))
}

/// Returns the minimum size n of each of two samples for [`shift`] to have an interval: 2/C(2n, n) ≤ 1 − confidence; 4
/// for 95 %. `None` if the confidence is not strictly between 0 and 1.
pub fn samples_for_interval(confidence: f64) -> Option<u64> {
    if !possible_confidence(confidence) {
        return None;
    }
    let (mut n, mut ways) = (1u64, 2.0);
    while 2.0 / ways > (1.0 - confidence) * (1.0 + 1e-12) {
        n += 1;
        let k = n as f64;
        ways *= 2.0 * (2.0 * k - 1.0) / k;
    }
    Some(n)
}

/// Returns the rank c for the interval of [`shift`], and the actual confidence of that interval.
fn critical(m: usize, n: usize, confidence: f64) -> Option<(u64, f64)> {
    let fewer = m.min(n);
    let ranks = (m + n <= EXACT_INTERVAL).then(|| (1..=(m + n) as u64).collect::<Vec<u64>>());
    if let Some(distribution) = ranks.and_then(|ranks| subset::of_choices(&ranks, fewer)) {
        return subset::critical(&distribution, fewer * (fewer + 1) / 2, confidence);
    }
    let (m, n) = (m as f64, n as f64);
    let (middle, sd) = (0.5 * m * n, (m * n * (m + n + 1.0) / 12.0).sqrt());
    let c = (middle - normal_quantile(0.5 + 0.5 * confidence)? * sd).floor();
    (c >= 1.0).then(|| (c as u64, 1.0 - normal_two_sided((middle - c + 0.5) / sd)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for (a, b) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[f64::NAN], &[1.0]), (&[1.0], &[f64::INFINITY])] {
            assert_eq!(mann_whitney(a, b), None);
            assert_eq!(mann_whitney_normal(a, b), None);
            assert_eq!(shift(a, b, 0.95), None);
            assert_eq!(ratio(a, b, 0.95), None);
        }
        assert_eq!(ratio(&[0.0], &[1.0], 0.95), None);
        for c in [0.0, 1.0, f64::NAN] {
            assert_eq!(shift(&[1.0], &[1.0], c), None);
            assert_eq!(samples_for_interval(c), None);
        }
    }

    /// Two samples of three values have no 95 % interval, but two of four values do: the smallest p-values are 2/20 and
    /// 2/70.
    #[test]
    fn too_few_have_no_interval() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0]);
        let three = shift(&a[..3], &b[..3], 0.95).unwrap();
        assert_eq!((three.value, three.interval, three.least_n), (10.0, None, 4));
        let four = shift(&a, &b, 0.95).unwrap().interval.unwrap();
        assert_eq!((four.low, four.high), (7.0, 13.0));
        assert!((four.confidence - (1.0 - 2.0 / 70.0)).abs() < 1e-14);
        assert_eq!(samples_for_interval(0.99), Some(5));
        assert!((mann_whitney(&a, &b).unwrap().p - 2.0 / 70.0).abs() < 1e-14);
    }

    #[test]
    fn equal_values_are_no_difference() {
        let same = mann_whitney(&[5.0; 4], &[5.0; 3]).unwrap();
        assert_eq!((same.p, same.probability_greater(), same.cliffs_delta()), (1.0, 0.5, 0.0));
        assert_eq!(mann_whitney_normal(&[5.0; 4], &[5.0; 3]).unwrap().p, 1.0);
        assert_eq!(mann_whitney_normal(&[5.0], &[5.0]).unwrap().p, 1.0);
    }

    #[test]
    fn the_normal_rank_is_at_most_one_too_careful() {
        for (m, n) in [(31, 31), (20, 45), (45, 40), (10, 60)] {
            let ranks: Vec<u64> = (1..=m + n).collect();
            let fewer = m.min(n) as usize;
            let distribution = subset::of_choices(&ranks, fewer).unwrap();
            let (exact, _) = subset::critical(&distribution, fewer * (fewer + 1) / 2, 0.95).unwrap();
            let (normal, confidence) = critical(m as usize, n as usize, 0.95).unwrap();
            assert!((exact - 1..=exact).contains(&normal) && confidence >= 0.95, "{exact} {normal}");
        }
    }

    #[test]
    fn twenty_thousand_values_a_side() {
        let a: Vec<f64> = (0..20_000).map(|i| f64::from(i).sqrt()).collect();
        let b: Vec<f64> = a.iter().map(|v| v + 3.0).collect();
        let estimate = shift(&a, &b, 0.95).unwrap();
        assert!((estimate.value - 3.0).abs() < 1e-9 && estimate.interval.unwrap().holds(3.0));
    }

    fn sample_of(sizes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(prop_oneof![1.0f64..100.0, (1u8..5).prop_map(f64::from)], sizes)
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        sample_of(1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn swapping_the_samples_mirrors_everything(a in sample(), b in sample()) {
            let (there, back) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
            prop_assert!((there.p - back.p).abs() < 1e-9 && (0.0..=1.0).contains(&there.p));
            prop_assert!((there.u + back.u - there.pairs).abs() < 1e-9);
            let (there, back) = (shift(&a, &b, 0.9).unwrap(), shift(&b, &a, 0.9).unwrap());
            prop_assert!((there.value + back.value).abs() < 1e-9);
            if let Some((there, back)) = there.interval.zip(back.interval) {
                prop_assert!((there.low + back.high).abs() < 1e-9 && (there.high + back.low).abs() < 1e-9);
            }
        }

        #[test]
        fn the_interval_holds_the_estimate_and_follows_the_data(a in sample(), b in sample(), by in 1.1f64..3.0) {
            let once = ratio(&a, &b, 0.95).unwrap();
            let scaled: Vec<f64> = b.iter().map(|v| v * by).collect();
            let twice = ratio(&a, &scaled, 0.95).unwrap();
            prop_assert!((twice.value / once.value / by - 1.0).abs() < 1e-9);
            if let Some(interval) = once.interval {
                prop_assert!(interval.holds(once.value) && interval.confidence >= 0.95);
                prop_assert!((twice.interval.unwrap().low / interval.low / by - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn exact_and_normal_agree_roughly(a in sample_of(8..20), b in sample_of(8..20)) {
            let (exact, normal) = (mann_whitney(&a, &b).unwrap(), mann_whitney_normal(&a, &b).unwrap());
            prop_assert_eq!(exact.method, Method::Exact);
            prop_assert!((exact.p - normal.p).abs() < 0.08, "{} {}", exact.p, normal.p);
        }
    }
}
