//! Tests two-sample comparisons against published vectors (computed with scipy), and the coverage of the intervals by
//! simulation.

use crate::common;

use common::{near, normal_scores, read};
use punctual_stats::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct TwoSample {
    #[serde(rename = "mw_U_b")]
    u_b: f64,
    mw_p_asymptotic_cc: f64,
    #[serde(rename = "P_b_gt_a")]
    probability_greater: f64,
    cliffs_delta: f64,
    #[serde(rename = "ks_D")]
    ks_distance: f64,
    ks_p_exact: f64,
    ks_p_asymp: f64,
    hl_shift: f64,
    hl_ci95: (f64, f64),
    hl_log_ratio: f64,
    hl_log_ratio_ci95: (f64, f64),
    welch_t: (f64, f64),
    ratio_of_medians: f64,
}

fn samples() -> (Vec<f64>, Vec<f64>) {
    (normal_scores(45, 20.0, 2.0), normal_scores(40, 21.5, 3.0))
}

#[test]
fn two_sample() {
    let want: TwoSample = read("stats-vectors", "two_sample");
    let (a, b) = samples();
    let test = mann_whitney_normal(&a, &b).unwrap();
    assert_eq!(test.u, want.u_b);
    assert!(near(test.p, want.mw_p_asymptotic_cc, 1e-9), "{}", test.p);
    assert!(near(test.probability_greater(), want.probability_greater, 1e-12));
    assert!(near(test.cliffs_delta(), want.cliffs_delta, 1e-12));
    let exact = mann_whitney(&a, &b).unwrap();
    assert_eq!(exact.method, Method::Exact);
    assert!(near(exact.p, want.mw_p_asymptotic_cc, 0.05), "{}", exact.p);

    let shift = shift(&a, &b, 0.95).unwrap();
    let interval = shift.interval.unwrap();
    assert!(near(shift.value, want.hl_shift, 1e-9), "{shift:?}");
    assert!(near(interval.low, want.hl_ci95.0, 1e-9) && near(interval.high, want.hl_ci95.1, 1e-9), "{interval:?}");
    let ratio = ratio(&a, &b, 0.95).unwrap();
    let (interval, hl) = (ratio.interval.unwrap(), want.hl_log_ratio_ci95);
    assert!(near(ratio.value, want.hl_log_ratio, 1e-9), "{ratio:?}");
    assert!(near(interval.low, hl.0, 1e-9) && near(interval.high, hl.1, 1e-9), "{interval:?}");
    assert!(near(median(&b).unwrap() / median(&a).unwrap(), want.ratio_of_medians, 1e-9));

    let means = welch(&a, &b).unwrap();
    assert!(near(means.t, want.welch_t.0, 1e-9) && near(means.p, want.welch_t.1, 1e-9), "{means:?}");

    let ks = kolmogorov_smirnov(&a, &b).unwrap();
    assert!(near(ks.distance, want.ks_distance, 1e-12) && near(ks.p, want.ks_p_exact, 1e-9), "{ks:?}");
    // scipy calls the one-sample distribution at n = 21 asymptotic; ours is Kolmogorov's limit with Stephens' terms.
    assert!(near(kolmogorov_p(ks.distance, 45, 40), want.ks_p_asymp, 0.05));
}

#[test]
fn wilcoxon_signed_rank_least_p() {
    let want: BTreeMap<u64, f64> = read("stats-vectors", "wilcoxon_signed_rank_min_p");
    assert_eq!(want.len(), 5);
    for (n, p) in want {
        let clear: Vec<f64> = (1..=n).map(|i| i as f64).collect();
        assert_eq!(signed_rank(&clear).unwrap().p, p);
        assert_eq!(signed_rank_least_p(n), p);
    }
}

/// Returns exp(0.05·z) with a standard normal z, which is distributed like run times.
fn lognormal(random: &mut SplitMix64) -> f64 {
    (0.05 * normal_quantile(random.uniform()).unwrap()).exp()
}

/// At least 93 % of 1000 intervals must contain the true value if 95 % is requested: three binomial standard deviations
/// below 95 %.
#[test]
fn rank_intervals_cover_the_truth() {
    let (mut random, mut held, mut held_paired) = (SplitMix64::new(11), 0, 0);
    for _ in 0..1_000 {
        let a: Vec<f64> = (0..8).map(|_| lognormal(&mut random)).collect();
        let b: Vec<f64> = (0..10).map(|_| 1.11 * lognormal(&mut random)).collect();
        held += u32::from(ratio(&a, &b, 0.95).unwrap().interval.unwrap().holds(1.11));
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b).collect();
        held_paired += u32::from(paired_ratio(&pairs, 0.95).unwrap().interval.unwrap().holds(1.11));
    }
    assert!(held >= 930 && held_paired >= 930, "{held} {held_paired}");
}

#[test]
fn equal_samples_are_seldom_called_different() {
    let (mut random, mut called) = (SplitMix64::new(12), [0; 3]);
    for _ in 0..1_000 {
        let a: Vec<f64> = (0..8).map(|_| lognormal(&mut random)).collect();
        let b: Vec<f64> = (0..8).map(|_| lognormal(&mut random)).collect();
        let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
        let p = [
            mann_whitney(&a, &b).unwrap().p,
            kolmogorov_smirnov(&a, &b).unwrap().p,
            signed_rank(&differences).unwrap().p,
        ];
        called.iter_mut().zip(p).for_each(|(n, p)| *n += u32::from(p <= 0.05));
    }
    assert!(called.iter().all(|&n| n <= 70), "{called:?}");
}
