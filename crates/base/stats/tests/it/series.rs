//! Bootstrap and time series: published vectors (scipy), and coverage in simulation.

use crate::common;

use common::{moving_maxima, near, normal_scores, read};
use punctual_stats::*;
use serde::Deserialize;

#[derive(Deserialize)]
struct Medians {
    first3_u64: Vec<String>,
    #[serde(rename = "B")]
    replicates: usize,
    percentile95_type7: (f64, f64),
    mean: f64,
    sd: f64,
    first5: Vec<f64>,
}

#[test]
fn bootstrap_ratio_of_medians() {
    let want: Medians = read("stats-vectors", "bootstrap_ratio_of_medians");
    let mut random = SplitMix64::new(42);
    assert_eq!((0..3).map(|_| random.next_u64().to_string()).collect::<Vec<_>>(), want.first3_u64);
    let (a, b) = (normal_scores(45, 20.0, 2.0), normal_scores(40, 21.5, 3.0));
    let how = Resampling { of: Figure::Quantile(0.5), blocks: (1, 1), replicates: want.replicates, seed: 42 };
    let ratios = bootstrap_ratios(&a, &b, &how).unwrap();
    assert!(ratios.iter().zip(&want.first5).all(|(got, want)| near(*got, *want, 1e-9)), "{:?}", &ratios[..5]);
    let result = bootstrap_ratio(&a, &b, &how, 0.95).unwrap();
    assert!(near(result.percentiles.0, want.percentile95_type7.0, 1e-9), "{result:?}");
    assert!(near(result.percentiles.1, want.percentile95_type7.1, 1e-9), "{result:?}");
    assert!(near(result.mean, want.mean, 1e-9) && near(result.sd, want.sd, 1e-9), "{result:?}");
}

#[derive(Deserialize)]
struct Stationarity {
    kpss_level_lag21: f64,
    kpss_trend_lag21: f64,
    #[serde(rename = "ljungbox_Q10")]
    q: f64,
    ljungbox_p: f64,
}

#[test]
fn stationarity() {
    let want: Stationarity = read("stats-vectors", "stationarity");
    let level = &moving_maxima()[..1_000];
    assert_eq!(kpss_lags(level.len()), 21);
    let eta = kpss(level, 21).unwrap();
    assert!(near(eta, want.kpss_level_lag21, 1e-9) && eta < KPSS_CRITICAL_5, "{eta}");
    let rising: Vec<f64> = level.iter().enumerate().map(|(t, y)| y + 0.001 * t as f64).collect();
    let eta = kpss(&rising, 21).unwrap();
    assert!(near(eta, want.kpss_trend_lag21, 1e-9) && eta > KPSS_CRITICAL_5, "{eta}");
    let test = ljung_box(level, 10).unwrap();
    assert!(near(test.q, want.q, 1e-9) && near(test.p, want.ljungbox_p, 1e-9), "{test:?}");
}

/// Autocorrelated log-normal run times (ρ = 0.6).
fn autoregressive(random: &mut SplitMix64, n: usize, centre: f64) -> Vec<f64> {
    let (mut x, mut values) = (0.0, vec![]);
    for i in 0..n + 30 {
        x = 0.6 * x + 0.03 * normal_quantile(random.uniform()).unwrap();
        if i >= 30 {
            values.push(centre * x.exp());
        }
    }
    values
}

/// At least 93 % for a requested 95 %; blocks of 1 (independent draws) would give about 75 %.
#[test]
fn block_bootstrap_intervals_cover_the_truth() {
    let (mut random, mut held, mut naive) = (SplitMix64::new(13), 0, 0);
    for seed in 0..400 {
        let (a, b) = (autoregressive(&mut random, 120, 20.0), autoregressive(&mut random, 120, 22.2));
        let blocks = (block_length(&a).unwrap(), block_length(&b).unwrap());
        let how = Resampling { of: Figure::Quantile(0.5), blocks, replicates: 60, seed };
        held += u32::from(bootstrap_ratio(&a, &b, &how, 0.95).unwrap().student.unwrap().holds(1.11));
        if seed < 100 {
            let how = Resampling { blocks: (1, 1), ..how };
            naive += u32::from(bootstrap_ratio(&a, &b, &how, 0.95).unwrap().student.unwrap().holds(1.11));
        }
    }
    assert!(held >= 372 && naive <= 85, "{held} {naive}");
}
