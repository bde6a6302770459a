use crate::common;

use common::recording;
use punctual_compare::{Side, compare, differs};
use punctual_model::{Comparison, Conclusion, Recording, SampleUnit};
use punctual_stats::{SplitMix64, effective_n, normal_quantile};

const SPLITS: u64 = 100;
const AT_MOST: usize = 9;
/// Seconds that stay together: tearing neighbours apart would hide autocorrelation.
const TOGETHER: usize = 20;

/// Worst wakeup of each second by load, from a real run.
fn seconds() -> Vec<(String, Vec<u64>)> {
    let line = |line: &str| {
        let (load, values) = line.split_once(": ").unwrap();
        (load.to_owned(), values.split(' ').map(|v| v.parse().unwrap()).collect())
    };
    include_str!("../fixtures/seconds.txt").lines().filter(|l| !l.starts_with('#')).map(line).collect()
}

fn beside(a: &Recording, b: &Recording) -> Comparison {
    let side = |name: &str, r| Side { name: name.into(), folder: None, runs: vec![(name.into(), r)] };
    compare(&[side("a", a), side("b", b)]).unwrap()
}

/// Deals blocks of seconds at random into two halves.
fn split(loads: &[(String, Vec<u64>)], seed: u64) -> [Recording; 2] {
    let mut random = SplitMix64::new(seed);
    let mut halves = [Vec::new(), Vec::new()];
    for (load, values) in loads {
        let mut order: Vec<usize> = (0..values.len().div_ceil(TOGETHER)).collect();
        random.shuffle(&mut order);
        for (half, chosen) in halves.iter_mut().zip([&order[..order.len() / 2], &order[order.len() / 2..]]) {
            let mut chosen = chosen.to_vec();
            chosen.sort_unstable();
            let blocks = chosen.iter().flat_map(|n| values.chunks(TOGETHER).nth(*n).unwrap());
            half.push((load.clone(), blocks.copied().collect()));
        }
    }
    halves.map(|half| recording(&half))
}

fn called_different(loads: &[(String, Vec<u64>)]) -> usize {
    (0..SPLITS)
        .filter(|seed| {
            let [a, b] = split(loads, *seed);
            differs(&beside(&a, &b))
        })
        .count()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let loads = seconds();
    let [a, b] = split(&loads, 1);
    let told = beside(&a, &b).rows.into_iter().filter(|r| r.sample == SampleUnit::Second);
    assert!(told.flat_map(|r| r.against).all(|a| a.told != Conclusion::TooFew), "there is something to tell");
    let called = called_different(&loads);
    assert!(called <= AT_MOST, "{called} of {SPLITS} splits called different");
}

/// Seconds that resemble their neighbours: if taken as independent, a third of the splits would differ.
#[test]
fn nor_where_neighbours_are_alike() {
    let mut random = SplitMix64::new(5);
    let mut noise = 0.0;
    let mut value = |_| {
        noise = 0.8 * noise + normal_quantile(random.uniform()).unwrap();
        (50_000.0 * f64::exp(0.2 * noise)) as u64
    };
    let values: Vec<u64> = (0..2400).map(&mut value).collect();
    let as_f64: Vec<f64> = values.iter().map(|v| *v as f64).collect();
    assert!(effective_n(&as_f64).unwrap() < 500.0);
    let called = called_different(&[("idle".into(), values)]);
    assert!(called <= AT_MOST, "{called} of {SPLITS} splits called different");
}

#[test]
fn a_difference_is_seen() {
    let loads = seconds();
    let slower: Vec<(String, Vec<u64>)> =
        loads.iter().map(|(load, values)| (load.clone(), values.iter().map(|v| v * 2).collect())).collect();
    let comparison = beside(&recording(&loads), &recording(&slower));
    let seconds = comparison.rows.iter().filter(|r| r.sample == SampleUnit::Second);
    assert!(seconds.flat_map(|r| &r.against).all(|a| a.told == Conclusion::More));
}

/// Boots of one kernel dealt into two groups: at most 5 % differ, whatever the number of rows.
#[test]
fn boots_of_one_kernel_do_not_differ() {
    let mut random = SplitMix64::new(9);
    let mut boot = || {
        let late = f64::exp(0.4 * normal_quantile(random.uniform()).unwrap());
        let mut load = |name: &str| {
            let values =
                (0..50).map(|_| (50_000.0 * late * f64::exp(0.2 * normal_quantile(random.uniform()).unwrap())) as u64);
            (name.to_owned(), values.collect::<Vec<u64>>())
        };
        recording(&[load("idle"), load("cpu"), load("io")])
    };
    let called = (0..SPLITS)
        .filter(|_| {
            let boots: Vec<Recording> = (0..12).map(|_| boot()).collect();
            let group = |range: std::ops::Range<usize>| Side {
                name: format!("{range:?}"),
                folder: None,
                runs: boots[range].iter().map(|r| ("boot".into(), r)).collect(),
            };
            differs(&compare(&[group(0..6), group(6..12)]).unwrap())
        })
        .count();
    assert!(called <= AT_MOST, "{called} of {SPLITS} called different");
}
