//! Tests tail fits against published vectors (computed with scipy).

use crate::common;

use common::{near, read};
use punctual_stats::*;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Pareto {
    name: String,
    n: u32,
    xi: f64,
    s: f64,
    x_first: f64,
    x_last: f64,
    l1: f64,
    l2: f64,
    t3: f64,
    pwm: Parameters,
    mle: Likelihood,
    #[serde(rename = "AD")]
    anderson_darling: f64,
    #[serde(rename = "CvM")]
    cramer_von_mises: f64,
    upper_endpoint: Option<f64>,
    return_levels: BTreeMap<String, f64>,
    rl1e6_profile95: (f64, f64),
}

#[derive(Deserialize)]
struct Parameters {
    xi: f64,
    sigma: f64,
}

#[derive(Deserialize)]
struct Likelihood {
    xi: f64,
    sigma: f64,
    nll: f64,
    se_xi: f64,
    se_sigma: f64,
    cov: f64,
    xi_profile95: (f64, f64),
}

/// Returns the quantiles of a generalised Pareto distribution at (i − ½)/n, for i from 1 to n.
fn pareto_scores(row: &Pareto) -> Vec<f64> {
    let gpd = Gpd { shape: row.xi, scale: row.s };
    (1..=row.n).map(|i| gpd.exceeded_with(1.0 - (f64::from(i) - 0.5) / f64::from(row.n)).unwrap()).collect()
}

#[test]
fn generalised_pareto() {
    let rows: Vec<Pareto> = read("stats-vectors", "gpd");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let x = pareto_scores(&row);
        assert!(near(x[0], row.x_first, 1e-9) && near(x[x.len() - 1], row.x_last, 1e-9), "{}", row.name);
        let moments = l_moments(&x).unwrap();
        for (got, want) in [(moments.l1, row.l1), (moments.l2, row.l2), (moments.t3, row.t3)] {
            assert!(near(got, want, 1e-9), "{} {got} {want}", row.name);
        }
        let pwm = gpd_moments(&x).unwrap();
        assert!(near(pwm.shape, row.pwm.xi, 1e-6) && near(pwm.scale, row.pwm.sigma, 1e-6), "{pwm:?}");
        likelihood(&row, &x);
    }
}

fn likelihood(row: &Pareto, x: &[f64]) {
    let data = Values::new(x).unwrap();
    let fit = data.fit().unwrap();
    let (se_xi, se_sigma, cov) = fit.standard_errors().unwrap();
    let shapes = shape_interval(&data, &fit, 1.0, 0.95).unwrap();
    let far = distances(x, fit.gpd).unwrap();
    let pairs = [
        (fit.gpd.shape, row.mle.xi),
        (fit.gpd.scale, row.mle.sigma),
        (fit.nll, row.mle.nll),
        (se_xi, row.mle.se_xi),
        (se_sigma, row.mle.se_sigma),
        (cov, row.mle.cov),
        (shapes.low, row.mle.xi_profile95.0),
        (shapes.high, row.mle.xi_profile95.1),
        (far.anderson_darling, row.anderson_darling),
        (far.cramer_von_mises, row.cramer_von_mises),
    ];
    for (i, (got, want)) in pairs.into_iter().enumerate() {
        assert!(near(got, want, 1e-4), "{} {i}: {got} {want}", row.name);
    }
    assert_eq!(fit.gpd.upper_end().is_some(), row.upper_endpoint.is_some());
    assert!(fit.gpd.upper_end().zip(row.upper_endpoint).is_none_or(|(got, want)| near(got, want, 1e-4)));
    for (m, want) in &row.return_levels {
        assert!(near(fit.gpd.return_level(m.parse().unwrap()).unwrap(), *want, 1e-4), "{} {m}", row.name);
    }
    let levels = level_interval(&data, &fit, 1e6, 1.0, 0.95).unwrap();
    let want = row.rl1e6_profile95;
    assert!(near(levels.low, want.0, 1e-3) && near(levels.high, want.1, 1e-3), "{} {levels:?} {want:?}", row.name);
}

#[derive(Deserialize)]
struct Extreme {
    n: u32,
    mu: f64,
    s: f64,
    xi: f64,
    l1: f64,
    l2: f64,
    t3: f64,
    lmom: ExtremeFit,
    mle: ExtremeFit,
}

#[derive(Deserialize)]
struct ExtremeFit {
    mu: f64,
    sigma: f64,
    xi: f64,
    nll: Option<f64>,
}

#[test]
fn generalised_extreme_value() {
    let rows: Vec<Extreme> = read("stats-vectors", "gev");
    assert_eq!(rows.len(), 1);
    for row in rows {
        let gev = Gev { location: row.mu, scale: row.s, shape: row.xi };
        let level = |i: u32| gev.return_level(1.0 / (1.0 - (f64::from(i) - 0.5) / f64::from(row.n))).unwrap();
        let x: Vec<f64> = (1..=row.n).map(level).collect();
        let moments = l_moments(&x).unwrap();
        assert!(near(moments.l1, row.l1, 1e-9) && near(moments.l2, row.l2, 1e-9) && near(moments.t3, row.t3, 1e-9));
        let (likely, nll) = gev_fit(&x).unwrap();
        assert!(near(nll, row.mle.nll.unwrap(), 1e-6), "{nll}");
        for (got, want, tolerance) in [(gev_moments(&x).unwrap(), row.lmom, 1e-6), (likely, row.mle, 1e-4)] {
            assert!(near(got.location, want.mu, tolerance) && near(got.scale, want.sigma, tolerance), "{got:?}");
            assert!(near(got.shape, want.xi, 10.0 * tolerance), "{got:?} {}", want.xi);
        }
    }
}

#[derive(Deserialize)]
struct BinnedRow {
    #[serde(rename = "N")]
    n: f64,
    interval_censored_mle: Parameters,
    naive_midpoint_mle: Parameters,
    naive_left_edge_mle: Option<Parameters>,
}

/// Returns the expected counts in 400 bins of 1 µs.
fn expected_bins(gpd: Gpd, n: f64) -> Vec<Bin> {
    let bin = |k: u32| {
        let (low, high) = (f64::from(k), f64::from(k) + 1.0);
        Bin { low, high, count: (n * (gpd.survival(low) - gpd.survival(high))).round_ties_even() as u64 }
    };
    (0..400).map(bin).collect()
}

fn binned(group: &str, gpd: Gpd, n: f64) {
    let want: BinnedRow = read("stats-vectors", group);
    let data = Binned::above(&expected_bins(gpd, n), 0.0).unwrap();
    assert_eq!(data.count(), want.n);
    let fit = data.fit().unwrap();
    let censored = want.interval_censored_mle;
    assert!((fit.gpd.shape - censored.xi).abs() < 1e-4 && near(fit.gpd.scale, censored.sigma, 1e-4), "{fit:?}");
    let naive = |part: f64| {
        let values = data.bins().iter().map(|b| (b.low + part, b.count as f64)).collect();
        Values::weighted(values).unwrap().fit().unwrap().gpd
    };
    let midpoint = (naive(0.5), want.naive_midpoint_mle);
    for (got, want) in [Some(midpoint), want.naive_left_edge_mle.map(|w| (naive(0.0), w))].into_iter().flatten() {
        assert!((got.shape - want.xi).abs() < 2e-4 && near(got.scale, want.sigma, 2e-4), "{got:?} {}", want.xi);
    }
}

#[test]
fn binned_pareto() {
    binned("gpd_binned", Gpd { shape: 0.1, scale: 6.0 }, 1e5);
}

#[test]
fn binned_pareto_as_narrow_as_its_bins() {
    binned("gpd_binned_narrow", Gpd { shape: -0.1, scale: 1.2 }, 1e4);
}
