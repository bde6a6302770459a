use crate::common;

use common::{booted, recording};
use punctual_compare::{Side, compare, differs, is_inconclusive, is_worse};
use punctual_model::{Comparison, Conclusion, Recording};
use punctual_stats::{SplitMix64, normal_quantile};

const COMPARISONS: u64 = 100;
const AT_MOST: usize = 9;

/// Returns a boot whose latencies under three loads are `factor` times as long as in other boots, in addition to a
/// random effect.
fn boot(random: &mut SplitMix64, effect: f64, factor: f64, nth: u64) -> Recording {
    let normal = |random: &mut SplitMix64| normal_quantile(random.uniform()).unwrap();
    let late = factor * f64::exp(effect * normal(random));
    let mut load = |name: &str| {
        let values = (0..50).map(|_| (50_000.0 * late * f64::exp(0.2 * normal(random))) as u64);
        (name.to_owned(), values.collect::<Vec<u64>>())
    };
    booted(&[load("idle"), load("cpu"), load("io")], nth)
}

fn side<'a>(name: &str, runs: impl Iterator<Item = &'a Recording>) -> Side<'a> {
    let runs = runs.enumerate().map(|(n, run)| (format!("boot {n}"), run)).collect();
    Side { name: name.into(), runs, ..Side::default() }
}

fn beside(a: &[Recording], b: &[Recording]) -> Comparison {
    compare(&[side("a", a.iter()), side("b", b.iter())]).unwrap()
}

/// Boots of one kernel are divided into two groups, one after the other or alternately. At most 5 % of such pairs of
/// groups are reported as different, for any number of rows.
#[test]
fn boots_of_one_kernel_do_not_differ() {
    let mut random = SplitMix64::new(9);
    for in_turns in [false, true] {
        let mut called = 0;
        for _ in 0..COMPARISONS {
            let boots: Vec<Recording> = (0..12).map(|n| boot(&mut random, 0.4, 1.0, n)).collect();
            let second = |n: usize| if in_turns { n % 2 == 1 } else { n >= 6 };
            let group = |of: bool| side("k", (0..12).filter(|n| second(*n) == of).map(|n| &boots[n]));
            let comparison = compare(&[group(false), group(true)]).unwrap();
            assert!(comparison.rows.iter().flat_map(|r| &r.against).all(|a| a.paired == in_turns));
            called += usize::from(differs(&comparison));
        }
        assert!(called <= AT_MOST, "{called} of {COMPARISONS} called different, in turns: {in_turns}");
    }
}

/// A difference that `recipes` predicts to be detected in four of five cases is detected.
#[test]
fn a_difference_is_found_with_the_boots_that_are_said_to_show_it() {
    let mut random = SplitMix64::new(10);
    let mut found = 0;
    let mut said = Vec::new();
    for _ in 0..60 {
        let mut boots = |factor, from: u64| -> Vec<Recording> {
            (from..from + 8).map(|n| boot(&mut random, 0.03, factor, n)).collect()
        };
        let (a, b) = (boots(1.0, 0), boots(1.2, 8));
        let comparison = beside(&a, &b);
        found += usize::from(is_worse(&comparison));
        let recipe = &comparison.recipes[0];
        assert!(recipe.is_seen && recipe.needed.windows(2).all(|w| w[0].boots >= w[1].boots), "{recipe:?}");
        said.push(recipe.needed[2].boots);
    }
    assert!(found >= 48, "{found} of 60");
    said.sort_unstable();
    assert!((4..60).contains(&said[30]), "{said:?}");
}

#[test]
fn below_four_boots_nothing_is_judged() {
    let mut random = SplitMix64::new(11);
    let mut boots = |factor, from: u64| -> Vec<Recording> {
        (from..from + 4).map(|n| boot(&mut random, 0.01, factor, n)).collect()
    };
    let (a, b) = (boots(1.0, 0), boots(9.0, 4));
    let four = beside(&a, &b);
    assert!(is_worse(&four) && !is_inconclusive(&four), "{:?} {:?}", four.problems, four.rows);
    let three = beside(&a, &b[..3]);
    assert!(!differs(&three) && is_inconclusive(&three));
    let reported: Vec<Conclusion> = three.rows.iter().flat_map(|r| &r.against).map(|a| a.conclusion).collect();
    assert!(reported.iter().all(|t| *t == Conclusion::TooFew), "{reported:?}");
    assert!(three.rows[0].against[0].ratio.is_some_and(|r| r.value > 5.0 && r.interval.is_none()));
    assert!(!three.recipes[0].needed.is_empty());
}

/// Runs of one boot are one sample, and runs with an unknown boot are not counted.
#[test]
fn runs_of_one_boot_count_once() {
    let mut random = SplitMix64::new(12);
    let mut runs = |factor: f64, at: &dyn Fn(u64) -> u64| -> Vec<Recording> {
        (0..12).map(|n| boot(&mut random, 0.01, factor, at(n))).collect()
    };
    let (a, one_boot) = (runs(1.0, &|n| n), runs(9.0, &|_| 50));
    let comparison = beside(&a, &one_boot);
    assert_eq!((comparison.groups[1].boots.len(), comparison.groups[1].runs), (1, 12));
    assert!(is_inconclusive(&comparison) && comparison.unknown_boots.is_empty());
    assert_eq!(comparison.rows[0].groups[1].values.len(), 1);

    let reported = |runs: &[Recording]| -> Vec<Recording> {
        runs.iter()
            .map(|r| {
                let mut run = r.clone();
                run.run.started = None;
                run
            })
            .collect()
    };
    let (a, b) = (reported(&a), reported(&one_boot));
    let unknown = beside(&a, &b);
    assert!(is_inconclusive(&unknown) && unknown.unknown_boots.len() == 24);
    let sides = [side("a", a.iter()), side("b", b.iter())].map(|side| Side { own_boots: true, ..side });
    let own = compare(&sides).unwrap();
    assert!(is_worse(&own) && own.unknown_boots.is_empty());
}

#[test]
fn pairs_see_what_drift_hides() {
    let mut random = SplitMix64::new(13);
    let mut seen = [0; 2];
    for _ in 0..40 {
        // Latencies increase from boot to boot by more than the kernels differ.
        let boots: Vec<Recording> = (0..16)
            .map(|n| {
                boot(&mut random, 0.01, f64::exp(0.1 * n as f64) * if n % 4 == 1 || n % 4 == 2 { 1.3 } else { 1.0 }, n)
            })
            .collect();
        let is_b = |n: usize| n % 4 == 1 || n % 4 == 2;
        let group = |of: bool| (0..16).filter(|n| is_b(*n) == of).map(|n| boots[n].clone()).collect::<Vec<Recording>>();
        let (mut a, b) = (group(false), group(true));
        seen[0] += usize::from(is_worse(&beside(&a, &b)));
        // The same boots, but without their order.
        a.iter_mut().for_each(|r| r.run.started.as_mut().unwrap().real_ns -= 1_000_000_000_000_000);
        seen[1] += usize::from(is_worse(&beside(&a, &b)));
    }
    assert!(seen[0] >= 32 && seen[1] <= 4, "{seen:?}");
}

#[test]
fn a_recording_without_values_is_no_sample() {
    let empty = recording(&[("idle".into(), Vec::new())]);
    let full = recording(&[("idle".into(), vec![50_000])]);
    let result = compare(&[side("a", [&empty].into_iter()), side("b", [&full].into_iter())]);
    assert!(result.is_err() || is_inconclusive(&result.unwrap()));
}
