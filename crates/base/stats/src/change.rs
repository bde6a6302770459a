//! Change points: the first run at which a figure shifted.

use crate::estimate::{Estimate, possible_confidence};
use crate::mann_whitney::shift;
use crate::order::double_ranks;
use crate::random::SplitMix64;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Permutations drawn for the p-value if the approximation is too rough.
const ORDERS: u32 = 1_999;
/// Up to this many values the p-value comes from permutations.
const FEW: usize = 200;
/// Limit on the number of values: this is for a history of runs, not for samples.
const MOST_VALUES: usize = 100_000;

/// The most likely change of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change, from 0.
    pub at: usize,
    /// Probability of so clear a change in a series without one.
    pub p: f64,
    /// How much larger the values after are than those before, with an interval if there are enough values.
    pub shift: Estimate,
}

/// The most likely single change of level. Its significance is that of Pettitt's test: K = max |Uₜ|, Uₜ = 2 Σᵢ≤ₜ rᵢ −
/// t(n+1) over the ranks r. Its position is the split with the least sum of distances from the medians of both parts,
/// because the t of K is biased towards the middle of the series, by a run or two even if the parts do not overlap.
///
/// The p-value comes from 1999 seeded permutations for up to 200 values, and is 2·exp(−6K²/(n³+n²)) beyond. The values
/// must be independent: one per run or boot.
///
/// `None` for fewer than 2 or more than 100 000 values, values that are not finite, or a confidence not strictly
/// between 0 and 1. The confidence is for the interval of the shift, given the position.
///
/// Source: A. N. Pettitt, "A non-parametric approach to the change-point problem", Appl. Statist. 28 (1979).
pub fn pettitt(x: &[f64], confidence: f64, seed: u64) -> Option<ChangePoint> {
    if x.len() < 2 || x.len() > MOST_VALUES || x.iter().any(|v| !v.is_finite()) || !possible_confidence(confidence) {
        return None;
    }
    let (mut ranks, _) = double_ranks(x);
    let clearest = largest(&ranks);
    let at = best_cut(x);
    let (before, after) = x.split_at_checked(at)?;
    let p = if x.len() > FEW { approximate_p(x.len(), clearest) } else { drawn_p(&mut ranks, clearest, seed) };
    Some(ChangePoint { at, p, shift: shift(before, after, confidence)? })
}

/// All changes of level, ordered by time. The series is split at the clearest change while its p ≤ 1 − `confidence`,
/// and then each part again (binary segmentation; L. J. Vostrikova, Soviet Math. Doklady 24 (1981)). The shift of each
/// change is between its two adjacent parts.
///
/// With k splits tried, the probability of a false one is up to k times 1 − confidence: see
/// [`crate::benjamini_hochberg`]. `None` as for [`pettitt`]; empty if nothing changed.
pub fn change_points(x: &[f64], confidence: f64, seed: u64) -> Option<Vec<ChangePoint>> {
    pettitt(x, confidence, seed)?;
    let (mut found, mut parts) = (vec![], vec![(0, x.len())]);
    while let Some((from, to)) = parts.pop() {
        let change = x.get(from..to).and_then(|part| pettitt(part, confidence, seed));
        if let Some(change) = change.filter(|c| c.p <= 1.0 - confidence) {
            let at = from + change.at;
            found.push((at, change.p));
            parts.extend([(from, at), (at, to)]);
        }
    }
    found.sort_unstable_by_key(|&(at, _)| at);
    let ends: Vec<usize> = found.iter().map(|&(at, _)| at).chain([x.len()]).collect();
    let mut start = 0;
    let mut changes = vec![];
    for (&(at, p), &end) in found.iter().zip(ends.iter().skip(1)) {
        changes.push(ChangePoint { at, p, shift: shift(x.get(start..at)?, x.get(at..end)?, confidence)? });
        start = at;
    }
    Some(changes)
}

/// K, the maximum of |Uₜ|.
fn largest(double_ranks: &[u64]) -> u64 {
    let n = double_ranks.len() as i64;
    let (mut sum, mut clearest) = (0i64, 0);
    for (t, &rank) in (1i64..n).zip(double_ranks) {
        sum += rank as i64;
        clearest = clearest.max((sum - t * (n + 1)).unsigned_abs());
    }
    clearest
}

/// The split (number of values before it, 1…n−1) with the least sum of distances from the medians of both parts.
fn best_cut(x: &[f64]) -> usize {
    let before = distances_from_median(x.iter());
    let after = distances_from_median(x.iter().rev());
    // before[t − 1] is for the first t values, after[n − t − 1] for the rest.
    let cuts = (1..).zip(before.iter().zip(after.iter().rev().skip(1)));
    cuts.map(|(t, (a, b))| (t, a + b)).min_by(|a, b| a.1.total_cmp(&b.1)).map_or(1, |(t, _)| t)
}

/// Σ |xᵢ − median| of the first 1, 2, 3 … values, with one heap for the smaller half and one for the larger.
fn distances_from_median<'a>(x: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let (mut low, mut high) = (BinaryHeap::new(), BinaryHeap::new());
    let (mut low_sum, mut high_sum) = (0.0, 0.0);
    x.map(|&v| {
        low.push(Sorted(v));
        low_sum += v;
        if let Some(Sorted(top)) = low.pop() {
            low_sum -= top;
            high.push(Reverse(Sorted(top)));
            high_sum += top;
        }
        if let Some(Reverse(Sorted(bottom))) = (high.len() > low.len()).then(|| high.pop()).flatten() {
            high_sum -= bottom;
            low.push(Sorted(bottom));
            low_sum += bottom;
        }
        let middle = if low.len() > high.len() { low.peek().map_or(0.0, |m| m.0) } else { 0.0 };
        high_sum - (low_sum - middle)
    })
    .collect()
}

/// A number with total order, as required by a heap.
#[derive(Clone, Copy, PartialEq)]
struct Sorted(f64);

impl Eq for Sorted {}

impl Ord for Sorted {
    fn cmp(&self, other: &Sorted) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Sorted {
    fn partial_cmp(&self, other: &Sorted) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn approximate_p(n: usize, clearest: u64) -> f64 {
    let (n, k) = (n as f64, clearest as f64);
    (2.0 * (-6.0 * k * k / (n * n * n + n * n)).exp()).min(1.0)
}

fn drawn_p(ranks: &mut [u64], clearest: u64, seed: u64) -> f64 {
    let mut random = SplitMix64::new(seed);
    let mut as_clear = 1;
    for _ in 0..ORDERS {
        random.shuffle(ranks);
        as_clear += u32::from(largest(ranks) >= clearest);
    }
    f64::from(as_clear) / f64::from(ORDERS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        for x in [&[][..], &[1.0], &[1.0, f64::NAN]] {
            assert_eq!(pettitt(x, 0.95, 1), None);
            assert_eq!(change_points(x, 0.95, 1), None);
        }
        assert_eq!(pettitt(&[1.0, 2.0], 1.0, 1), None);
        assert_eq!(change_points(&[4.0; 20], 0.95, 1), Some(vec![]));
    }

    #[test]
    fn two_shifts_are_found_where_they_are() {
        let mut random = SplitMix64::new(31);
        let level = |i: usize| [50.0, 80.0, 65.0][usize::from(i >= 12) + usize::from(i >= 30)];
        let x: Vec<f64> = (0..45).map(|i| level(i) + 4.0 * random.uniform()).collect();
        let changes = change_points(&x, 0.95, 1).unwrap();
        assert_eq!(changes.iter().map(|c| c.at).collect::<Vec<_>>(), [12, 30], "{changes:?}");
        assert!(changes[0].shift.interval.unwrap().holds(30.0) && changes[1].shift.interval.unwrap().holds(-15.0));
    }

    #[test]
    fn noise_is_seldom_called_a_change() {
        let (mut random, mut called, mut long) = (SplitMix64::new(32), 0, 0);
        for seed in 0..60 {
            let x: Vec<f64> = (0..15).map(|_| random.uniform()).collect();
            called += u32::from(pettitt(&x, 0.95, seed).unwrap().p <= 0.05);
        }
        for _ in 0..200 {
            let ranks: Vec<f64> = (0..300).map(|_| random.uniform()).collect();
            let (clearest, n) = (largest(&double_ranks(&ranks).0), ranks.len());
            long += u32::from(approximate_p(n, clearest) <= 0.05);
        }
        assert!(called <= 7 && long <= 16, "{called} {long}");
    }

    #[test]
    fn distances_as_if_sorted_each_time() {
        let mut random = SplitMix64::new(33);
        let x: Vec<f64> = (0..40).map(|_| (9.0 * random.uniform()).round()).collect();
        for (t, got) in (1..).zip(distances_from_median(x.iter())) {
            let median = crate::order::median(&x[..t]).unwrap();
            let want: f64 = x[..t].iter().map(|v| (v - median).abs()).sum();
            assert!((got - want).abs() < 1e-9, "{t} {got} {want}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn always_inside(x in proptest::collection::vec(0u8..5, 2..20)) {
            let x: Vec<f64> = x.into_iter().map(f64::from).collect();
            let change = pettitt(&x, 0.9, 7).unwrap();
            prop_assert!((1..x.len()).contains(&change.at) && change.p > 0.0 && change.p <= 1.0);
        }
    }
}
