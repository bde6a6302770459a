//! Tests of time series against published vectors (computed with scipy).

use crate::common;

use common::{moving_maxima, near, read};
use punctual_stats::*;
use serde::Deserialize;

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
