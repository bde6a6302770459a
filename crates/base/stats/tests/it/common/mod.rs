//! Helpers for the tests against reference vectors.

#![allow(dead_code, reason = "each test file uses its part")]

use punctual_stats::SplitMix64;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the group with the given key of a fixture file.
pub fn read<T: DeserializeOwned>(file: &str, group: &str) -> T {
    let text = match file {
        "stats-vectors" => include_str!("../../fixtures/stats-vectors.json"),
        _ => include_str!("../../fixtures/beta-mpmath.json"),
    };
    let mut all: Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(all[group].take()).unwrap()
}

pub fn near(got: f64, want: f64, relative: f64) -> bool {
    got == want || (got - want).abs() <= relative * want.abs()
}

/// Returns the series used by the vectors for clustering and stationarity: y_t = max(e_t, e_t+1), where e is
/// exponentially distributed and drawn from SplitMix64 with seed 7.
pub fn moving_maxima() -> Vec<f64> {
    let mut random = SplitMix64::new(7);
    let e: Vec<f64> = (0..20_001).map(|_| -(((random.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53)).ln()).collect();
    e.windows(2).map(|w| w[0].max(w[1])).collect()
}

/// Returns the values centre + scale·Φ⁻¹((i − ½)/n) for i from 1 to n.
pub fn normal_scores(n: u32, centre: f64, scale: f64) -> Vec<f64> {
    let score = |i: u32| punctual_stats::normal_quantile((f64::from(i) - 0.5) / f64::from(n)).unwrap();
    (1..=n).map(|i| centre + scale * score(i)).collect()
}
