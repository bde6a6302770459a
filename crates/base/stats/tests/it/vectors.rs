//! Tests against published vectors (computed with scipy) and vectors computed at high precision (mpmath). Each file
//! documents its origin.

use crate::common;

use common::{near, read};
use punctual_stats::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Interval {
    n: f64,
    exceed: f64,
    upper95: f64,
    two_sided95: (f64, f64),
}

#[test]
fn clopper_pearson() {
    let rows: Vec<Interval> = read("stats-vectors", "clopper_pearson");
    assert_eq!(rows.len(), 8);
    for r in rows {
        let upper = exceedance_upper(r.exceed, r.n, 0.95);
        assert!(near(upper, r.upper95, 1e-9), "{} of {}: {upper} {}", r.exceed, r.n, r.upper95);
        let (low, high) = exceedance_interval(r.exceed, r.n, 0.95);
        assert!(near(low, r.two_sided95.0, 1e-9) && near(high, r.two_sided95.1, 1e-9), "{low} {high}");
    }
}

#[derive(Deserialize)]
struct Bound {
    k: f64,
    n: f64,
    c: String,
    upper: f64,
    lower: f64,
}

#[test]
fn clopper_pearson_up_to_1e12_samples() {
    let rows: Vec<Bound> = read("beta-mpmath", "clopper_pearson");
    assert_eq!(rows.len(), 100);
    for r in rows {
        let c = r.c.parse().unwrap();
        let (lower, upper) = (exceedance_lower(r.k, r.n, c), exceedance_upper(r.k, r.n, c));
        assert!(near(upper, r.upper, 1e-11), "{} of {} at {}: {upper} {}", r.k, r.n, r.c, r.upper);
        assert!(near(lower, r.lower, 1e-11), "{} of {} at {}: {lower} {}", r.k, r.n, r.c, r.lower);
    }
}

#[derive(Deserialize)]
struct TailRow {
    a: f64,
    b: f64,
    x: String,
    ln_lower: f64,
    ln_upper: f64,
}

/// The difference between two logarithms is the relative error of the tail.
#[test]
fn tails_of_the_beta_distribution() {
    let rows: Vec<TailRow> = read("beta-mpmath", "tails");
    assert!(rows.len() > 300, "{}", rows.len());
    for r in rows {
        let x: f64 = r.x.parse().unwrap();
        let tails = ln_beta_tails(r.a, r.b, x, 1.0 - x);
        for (got, want) in [(tails.ln_lower, r.ln_lower), (tails.ln_upper, r.ln_upper)] {
            let off = (got - want).abs();
            assert!(off <= 1e-12 * (10.0 + want.abs()), "{} {} {x}: {got} {want}, {off:e}", r.a, r.b);
        }
    }
}

#[test]
fn samples_required_with_none_beyond() {
    let rows: std::collections::BTreeMap<String, f64> = read("stats-vectors", "n_required_zero_exceed");
    assert_eq!(rows.len(), 8);
    for (key, want) in rows {
        let (p, confidence) = key.strip_prefix("p=").unwrap().split_once(",conf=").unwrap();
        assert_eq!(samples_required(p.parse().unwrap(), confidence.parse().unwrap()), Some(want), "{key}");
    }
}

#[derive(Deserialize)]
struct Ranks {
    n: u64,
    q: f64,
    conf: f64,
    lower_rank: Option<u64>,
    upper_rank: Option<u64>,
    one_sided_upper_rank: Option<u64>,
}

#[test]
fn quantile_ranks() {
    let rows: Vec<Ranks> = read("stats-vectors", "quantile_ci_ranks");
    assert_eq!(rows.len(), 10);
    for r in rows {
        let want = RankBounds { lower: r.lower_rank, upper: r.upper_rank };
        assert_eq!(quantile_rank_bounds(r.n, r.q, r.conf), want, "{} {}", r.n, r.q);
        assert_eq!(quantile_rank_upper(r.n, r.q, r.conf), r.one_sided_upper_rank, "{} {}", r.n, r.q);
    }
}

/// With up to a trillion samples, the ranks match the normal approximation.
#[test]
fn quantile_ranks_of_a_trillion_samples() {
    for (n, q) in [(1e10, 0.5), (1e12, 0.5), (1e12, 0.9999), (1e12, 0.999_999)] {
        let bounds = quantile_rank_bounds(n as u64, q, 0.95);
        let (middle, half) = (n * q, 1.959_963_984_540_054 * f64::sqrt(n * q * (1.0 - q)));
        let (lower, upper) = (bounds.lower.unwrap() as f64, bounds.upper.unwrap() as f64);
        assert!((lower - (middle - half)).abs() < 4.0, "{n} {q}: {lower} {}", middle - half);
        assert!((upper - (middle + half)).abs() < 4.0, "{n} {q}: {upper} {}", middle + half);
    }
}

#[derive(Deserialize)]
struct Clustering {
    u: f64,
    #[serde(rename = "N_exceed")]
    n_exceed: usize,
    ferro_segers: f64,
    runs_r10: f64,
    declustered_peaks: f64,
}

#[test]
fn extremal_index() {
    let want: Clustering = read("stats-vectors", "extremal_index");
    let y = common::moving_maxima();
    let mut sorted = y.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    assert!(near(quantile_of_sorted(&sorted, 0.98).unwrap(), want.u, 1e-12));
    let late: Vec<u64> = (0u64..).zip(&y).filter(|(_, y)| **y > want.u).map(|(t, _)| t).collect();
    assert_eq!(late.len(), want.n_exceed);
    let theta = intervals_estimator(gaps(&late)).unwrap();
    assert!(near(theta, want.ferro_segers, 1e-9), "{theta}");
    let runs = runs_estimator(gaps(&late), 10);
    assert!(near(runs, want.runs_r10, 1e-9), "{runs}");
    assert_eq!((runs * late.len() as f64).round(), want.declustered_peaks);
}
