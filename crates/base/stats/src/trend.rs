//! Whether a figure rises or falls over time, and how fast.

use crate::estimate::{Interval, possible_confidence};
use crate::mann_whitney::Method;
use crate::normal::{normal_quantile, normal_two_sided};
use crate::order::double_ranks;

/// Limit on the points, since all pairs are examined: 2 million slopes, 16 MB.
const MOST_POINTS: usize = 2_000;
/// Up to this many points Kendall's distribution is exact.
const EXACT: usize = 60;

/// Result of the Mann–Kendall test of "no trend".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Number of pairs that rise minus pairs that fall.
    pub s: i64,
    /// Kendall's τ_a = S / (n(n−1)/2), −1 to 1.
    pub tau: f64,
    pub p: f64,
    /// Exact for up to 60 values without ties, normal otherwise.
    pub method: Method,
}

/// The Mann–Kendall test of values ordered by time. They must be independent (one per run or boot), because it takes
/// autocorrelated noise for a trend.
///
/// `None` for fewer than 2 or more than 2000 values, or if one is not finite.
///
/// Source: H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945); M. G. Kendall, Rank Correlation
/// Methods, for the variance with ties.
pub fn mann_kendall(x: &[f64]) -> Option<MannKendall> {
    if x.len() < 2 || x.len() > MOST_POINTS || x.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut s = 0i64;
    for (i, earlier) in x.iter().enumerate() {
        for later in x.iter().skip(i + 1) {
            s += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    let n = x.len() as f64;
    let pairs = 0.5 * n * (n - 1.0);
    let tied = double_ranks(x).1 > 0.0;
    let (p, method) = match !tied && x.len() <= EXACT {
        true => (exact_p(x.len(), pairs as u64, s), Method::Exact),
        false => (normal_p(s, variance(x)), Method::Normal),
    };
    Some(MannKendall { s, tau: s as f64 / pairs, p, method })
}

fn normal_p(s: i64, variance: f64) -> f64 {
    let off = (s.unsigned_abs() as f64 - 1.0).max(0.0);
    if variance > 0.0 { normal_two_sided(off / variance.sqrt()) } else { 1.0 }
}

/// Var S = [n(n−1)(2n+5) − Σ t(t−1)(2t+5)] / 18.
fn variance(x: &[f64]) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let term = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| term(group.len() as f64)).sum();
    (term(x.len() as f64) - ties) / 18.0
}

/// By counting permutations of n values by inversions (Kendall 1938): 2·P(inversions ≤ (pairs − |S|)/2).
fn exact_p(n: usize, pairs: u64, s: i64) -> f64 {
    let mut orders = vec![0.0; pairs as usize + 1];
    if let Some(first) = orders.first_mut() {
        *first = 1.0;
    }
    for k in 2..=n {
        // The k-th value adds 0…k−1 inversions with equal probability: a sliding mean over k cells.
        let before = orders.clone();
        let mut sum = 0.0f64;
        for (at, cell) in orders.iter_mut().enumerate() {
            sum += before.get(at).copied().unwrap_or(0.0);
            sum -= at.checked_sub(k).and_then(|gone| before.get(gone)).copied().unwrap_or(0.0);
            *cell = sum.max(0.0) / k as f64;
        }
    }
    let fewest = pairs.saturating_sub(s.unsigned_abs()) / 2;
    (2.0 * orders.iter().take(fewest as usize + 1).sum::<f64>()).min(1.0)
}

/// A robust line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TheilSen {
    /// Median of the slopes of all pairs of points, in y per x.
    pub slope: f64,
    /// Median of y − slope·x.
    pub intercept: f64,
    /// Sen's interval of the slope; `None` if there are too few points.
    pub interval: Option<Interval>,
}

/// The Theil–Sen line through points (x, y), which is robust against outliers.
///
/// The interval is given by the slopes of rank (N ± z·√Var S)/2 of N, with Var S that of Kendall's S without ties.
///
/// `None` for fewer than 2 or more than 2000 points, if all x are equal, a value is not finite, or the confidence is
/// not strictly between 0 and 1.
///
/// Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", J. Am. Stat. Assoc. 63 (1968).
pub fn theil_sen(points: &[(f64, f64)], confidence: f64) -> Option<TheilSen> {
    let finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
    if !finite || points.len() > MOST_POINTS || !possible_confidence(confidence) {
        return None;
    }
    let mut slopes = vec![];
    for (i, (x0, y0)) in points.iter().enumerate() {
        slopes.extend(points.iter().skip(i + 1).filter(|(x, _)| x != x0).map(|(x, y)| (y - y0) / (x - x0)));
    }
    let slopes = crate::order::sorted(&slopes)?;
    let slope = crate::order::quantile_of_sorted(&slopes, 0.5)?;
    let rests: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let (n, count) = (points.len() as f64, slopes.len() as f64);
    let half = normal_quantile(0.5 + 0.5 * confidence)? * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let (low, high) = (((count - half) / 2.0).floor(), ((count + half) / 2.0).ceil());
    let interval = (low >= 1.0 && high < count).then(|| {
        let at = |rank: f64| slopes.get(rank as usize).copied();
        Some(Interval { low: at(low - 1.0)?, high: at(high)?, confidence })
    });
    Some(TheilSen { slope, intercept: crate::order::median(&rests)?, interval: interval.flatten() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    #[test]
    fn impossible_input_is_none() {
        assert_eq!(mann_kendall(&[]), None);
        assert_eq!(mann_kendall(&[1.0]), None);
        assert_eq!(mann_kendall(&[1.0, f64::NAN]), None);
        assert_eq!(mann_kendall(&[1.0; 2_001]), None);
        assert_eq!(theil_sen(&[], 0.95), None);
        assert_eq!(theil_sen(&[(1.0, 2.0), (1.0, 3.0)], 0.95), None);
        assert_eq!(theil_sen(&[(1.0, 2.0), (f64::NAN, 3.0)], 0.95), None);
        assert_eq!(theil_sen(&[(1.0, 2.0), (2.0, 3.0)], 1.0), None);
    }

    #[test]
    fn a_rising_series() {
        let rising: Vec<f64> = (0..5).map(f64::from).collect();
        let test = mann_kendall(&rising).unwrap();
        assert_eq!((test.s, test.tau, test.method), (10, 1.0, Method::Exact));
        // Of 5! = 120 orders, 2 are this extreme.
        assert!((test.p - 2.0 / 120.0).abs() < 1e-15);
        assert_eq!(mann_kendall(&[3.0; 9]).unwrap().p, 1.0);
    }

    #[test]
    fn exact_meets_normal() {
        for s in [100, 200, 301] {
            let (exact, normal) = (exact_p(40, 780, s), normal_p(s, 40.0 * 39.0 * 85.0 / 18.0));
            assert!((exact - normal).abs() < 0.003, "{exact} {normal}");
        }
    }

    #[test]
    fn a_line_with_outliers() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), 3.0 + 0.5 * f64::from(i))).collect();
        points[7].1 = 1e6;
        let line = theil_sen(&points, 0.95).unwrap();
        assert!((line.slope - 0.5).abs() < 1e-12 && (line.intercept - 3.0).abs() < 1e-12);
        assert!(line.interval.unwrap().holds(0.5));
        assert_eq!(theil_sen(&points[..2], 0.95).unwrap().interval, None);
    }

    #[test]
    fn slope_intervals_cover_the_truth() {
        let (mut random, mut held, mut called) = (SplitMix64::new(21), 0, 0);
        for _ in 0..600 {
            let noise: Vec<f64> = (0..15).map(|_| random.uniform()).collect();
            let points: Vec<(f64, f64)> = (0..15).map(f64::from).zip(&noise).map(|(x, e)| (x, 0.1 * x + e)).collect();
            held += u32::from(theil_sen(&points, 0.95).unwrap().interval.unwrap().holds(0.1));
            called += u32::from(mann_kendall(&noise).unwrap().p <= 0.05);
        }
        assert!(held >= 558 && called <= 42, "{held} {called}");
    }

    proptest! {
        #[test]
        fn turning_time_round_turns_the_trend(mut x in proptest::collection::vec(-9.0f64..9.0, 2..30)) {
            let there = mann_kendall(&x).unwrap();
            x.reverse();
            let back = mann_kendall(&x).unwrap();
            prop_assert_eq!(there.s, -back.s);
            prop_assert!((there.p - back.p).abs() < 1e-12 && there.p > 0.0 && there.p <= 1.0);
        }
    }
}
