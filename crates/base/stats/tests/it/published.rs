//! Tests with published Raspberry Pi 4B measurements (lemariva/rPI-Tests on GitHub, Apache-2.0) and known results.

use crate::common;

use common::{near, read};
use punctual_stats::*;
use serde::Deserialize;

const STD: &str = include_str!("../fixtures/raspberry-pi-4b-2019/std_kernel_4B_multithread_output.csv");
const RT: &str = include_str!("../fixtures/raspberry-pi-4b-2019/rt_kernel_4B_multithread_output.csv");

const STD_HISTOGRAM: &str = include_str!("../fixtures/raspberry-pi-4b-2019/histogram_stdkernel_4.19.57-v7l+.csv");
const RT_HISTOGRAM: &str = include_str!("../fixtures/raspberry-pi-4b-2019/histogram_rtkernel_4.19.59-rt23-v7l+.csv");

/// Returns the cyclictest histogram of each core, in bins of 1 µs.
fn histograms(csv: &str) -> [Vec<Bin>; 4] {
    let mut cores = [const { vec![] }; 4];
    for line in csv.lines().skip(1).filter(|l| !l.trim().is_empty()) {
        let cells: Vec<u64> = line.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        let low = cells[0] as f64;
        let bin = |&count: &u64| Bin { low, high: low + 1.0, count };
        cores.iter_mut().zip(&cells[1..]).for_each(|(core, count)| core.push(bin(count)));
    }
    cores
}

#[derive(Deserialize)]
struct Cyclictest {
    n: u64,
    max: [f64; 4],
}

#[test]
fn cyclictest_on_every_core() {
    let want: std::collections::BTreeMap<String, Cyclictest> = read("stats-vectors", "real_cyclictest_pi4");
    for (name, csv) in [("rt", RT_HISTOGRAM), ("std", STD_HISTOGRAM)] {
        let cores = histograms(csv);
        assert_eq!(cores.iter().flatten().map(|b| b.count).sum::<u64>(), want[name].n, "{name}");
        let max = cores.each_ref().map(|bins| bins.iter().rfind(|b| b.count > 0).unwrap().low);
        assert_eq!(max, want[name].max, "{name}");
    }
}

/// The tails are mixtures. No level is extrapolated even if all properties that a histogram does not show are assumed
/// to be ideal.
#[test]
fn no_extrapolation_from_a_mixture() {
    for core in histograms(RT_HISTOGRAM).iter().chain(&histograms(STD_HISTOGRAM)) {
        let evidence = Evidence { bins: core, kpss: Some(0.1), theta: Some(1.0) };
        let refusals = extrapolate(&evidence, 1e-9, 0.95, 1).unwrap_err();
        assert!(matches!(refusals[..], [Refusal::ShapeUnstable { .. }, Refusal::PoorFit(_)]), "{refusals:?}");
    }
}

/// Returns the run times in seconds with the CPU temperatures, from the columns seconds, microseconds and cpu_temp.
fn times(csv: &str) -> Vec<Point> {
    let point = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.trim().parse().unwrap()).collect();
        Point { value: cells[4] + cells[5] / 1e6, covariate: cells[6] }
    };
    csv.lines().skip(1).filter(|l| !l.trim().is_empty()).map(point).collect()
}

fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|p| p.value).collect()
}

fn mean(points: &[Point]) -> f64 {
    values(points).iter().sum::<f64>() / points.len() as f64
}

#[derive(Deserialize)]
struct Blog {
    n: usize,
    std_mean: f64,
    rt_mean: f64,
    naive_ratio: f64,
    lag1: f64,
    ess_std: f64,
    ess_rt: f64,
    hl_ratio_iid: [f64; 3],
    #[serde(rename = "below78C_hl_ratio")]
    below: [f64; 3],
    n_below78: (usize, usize),
}

/// Returns true if the estimate and its interval equal `want` up to the rounding of the published values.
fn shows(estimate: &Estimate, want: [f64; 3]) -> bool {
    let interval = estimate.interval.unwrap();
    let got = [estimate.value, interval.low, interval.high];
    got.iter().zip(want).all(|(got, want)| (got - want).abs() <= 0.000_051)
}

#[test]
fn slower_by_heat() {
    let want: Blog = read("stats-vectors", "blog_pi4_mt");
    let (std, rt) = (times(STD), times(RT));
    assert_eq!((std.len(), rt.len()), (want.n, want.n));
    assert!(near(mean(&std), want.std_mean, 1e-4) && near(mean(&rt), want.rt_mean, 1e-4));
    assert!(near(mean(&rt) / mean(&std), want.naive_ratio, 1e-4));
    for (points, ess) in [(&std, want.ess_std), (&rt, want.ess_rt)] {
        let (lag, effective) = (lag_one(&values(points)).unwrap(), effective_n(&values(points)).unwrap());
        assert!((lag - want.lag1).abs() < 0.005 && (effective - ess).abs() < 0.05, "{lag} {effective}");
    }
    let split = split_ratio(&std, &rt, 78.0, 0.95).unwrap();
    assert!(shows(&split.all, want.hl_ratio_iid), "{split:?}");
    assert_eq!(split.n_below, want.n_below78);
    assert!(shows(&split.below, want.below), "{split:?}");
    assert!(split.mostly_covariate());
}

/// If the temperature limit is not given, it is detected, and the result is the same.
#[test]
fn the_limit_is_found() {
    let (std, rt) = (times(STD), times(RT));
    let found = threshold(&std, &rt, 1).unwrap();
    assert!((78.0..79.0).contains(&found.at) && found.p <= 0.01 && found.step > 1.2, "{found:?}");
    let split = split_ratio(&std, &rt, found.at.floor(), 0.95).unwrap();
    assert!(split.mostly_covariate() && split.below.interval.unwrap().holds(1.016), "{split:?}");
}
