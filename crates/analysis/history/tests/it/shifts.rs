//! Injected shifts and drifts are found, and nothing is found where nothing was injected.

use crate::common;

use common::{days, run, spread_days};
use punctual_history::{analyse, least_runs};
use punctual_model::history::{Figure, HistorySeries, RunSummary};
use punctual_stats::SplitMix64;

const SEEDS: u64 = 200;

fn only(runs: Vec<RunSummary>) -> HistorySeries {
    let history = analyse(runs, None, &[Figure::P999]);
    assert_eq!((history.groups.len(), history.groups[0].series.len(), history.tests), (1, 1, 2));
    history.groups[0].series[0].clone()
}

/// How often a shift by 66/41 was found: at its very run, within one run of it, as a trend, not at all.
fn planted(spread: f64) -> [u64; 4] {
    let mut came = [0; 4];
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let at = 8 + random.below(25);
        let levels = (0..40).map(|day| if day < at { 41_000.0 } else { 66_000.0 });
        let mut runs = spread_days(&mut random, levels, spread);
        runs.iter_mut().skip(at).for_each(|r| r.kernel.release = Some("6.12.10-rt".into()));
        let series = only(runs);
        let exact = series.shifts.iter().find(|s| s.at == at);
        came[match exact {
            Some(_) => 0,
            None if series.shifts.iter().any(|s| s.at.abs_diff(at) == 1) => 1,
            None if series.trend.is_some_and(|t| t.claimed) => 2,
            None => 3,
        }] += 1;
        if let Some(shift) = exact {
            assert_eq!(shift.kernel_before.as_deref(), Some("6.12.9-rt"));
            assert_eq!(shift.kernel.as_deref(), Some("6.12.10-rt"));
            assert!((1.4..1.9).contains(&shift.ratio), "{shift:?}");
        }
    }
    println!("spread {spread}: at the run, beside it, as a trend, not: {came:?} of {SEEDS}");
    came
}

/// The wider the spread, the more often the run at the step lies nearer to the other side of it: then no method can
/// decide which of the two it was.
#[test]
fn a_planted_shift_is_found_at_its_run() {
    assert!(planted(0.05)[0] * 100 >= SEEDS * 99);
    assert!(planted(0.08)[0] * 100 >= SEEDS * 95);
    for spread in [0.1, 0.12] {
        let [at, beside, ..] = planted(spread);
        assert!(at * 100 >= SEEDS * 90 && (at + beside) * 100 >= SEEDS * 98, "{at} {beside}");
    }
}

#[test]
fn nothing_is_claimed_where_nothing_changed() {
    let mut silent = 0;
    for seed in 0..SEEDS {
        let series = only(days(&mut SplitMix64::new(1_000 + seed), std::iter::repeat_n(41_000.0, 40)));
        silent += u64::from(series.shifts.is_empty() && !series.trend.unwrap().claimed);
    }
    println!("silent {silent} of {SEEDS}");
    assert!(silent * 100 >= SEEDS * 93, "{silent} of {SEEDS}");
}

#[test]
fn a_drift_is_a_trend_and_no_shift() {
    let mut told = 0;
    for seed in 0..50 {
        let series =
            only(days(&mut SplitMix64::new(2_000 + seed), (0..40).map(|d| 41_000.0 * (0.02 * f64::from(d)).exp())));
        let trend = series.trend.unwrap();
        let interval = trend.interval.unwrap();
        let right = interval.0 < 0.6f64.exp() && 0.6f64.exp() < interval.1;
        told += u32::from(series.shifts.is_empty() && trend.claimed && right);
    }
    assert!(told >= 45, "{told} of 50");
}

/// Eight loads and two figures: thirty-two tests, and still none claims anything.
#[test]
fn many_loads_are_corrected_for() {
    let loads = ["idle", "cpu", "memory", "io", "loopback", "scheduler", "timers", "all"];
    let mut silent = 0;
    for seed in 0..60 {
        let mut random = SplitMix64::new(3_000 + seed);
        let mut runs = days(&mut random, std::iter::repeat_n(41_000.0, 15));
        for run in &mut runs {
            let mine = run.cells.clone();
            run.settings.loads = loads.map(String::from).to_vec();
            run.cells.clear();
            for load in loads {
                let factor = (0.1 * common::normal(&mut random)).exp();
                run.cells.extend(mine.iter().cloned().map(|mut c| {
                    c.load = load.into();
                    c.p999_ns = c.p999_ns.map(|ns| (ns as f64 * factor) as u64);
                    c.max_ns = c.max_ns.map(|ns| (ns as f64 / factor) as u64);
                    c
                }));
            }
        }
        let history = analyse(runs, None, &[Figure::P999, Figure::Max]);
        assert_eq!(history.tests, 32);
        let claims = |s: &HistorySeries| !s.shifts.is_empty() || s.trend.unwrap().claimed;
        silent += u32::from(!history.groups[0].series.iter().any(claims));
    }
    assert!(silent >= 54, "{silent} of 60");
}

#[test]
fn few_runs_say_how_many_it_takes() {
    assert_eq!([1, 2, 32].map(least_runs), [8, 9, 13]);
    let series = only(days(&mut SplitMix64::new(1), [10_000.0, 10_000.0, 99_000.0].into_iter().cycle().take(8)));
    assert_eq!(series.least_runs, 9);
    let few = analyse(vec![run(0, "idle", 10), run(1, "idle", 99)], None, &[Figure::Max]);
    let series = &few.groups[0].series[0];
    assert!(few.tests == 0 && series.trend.is_none() && series.shift_p.is_none() && series.least_runs == 9);
}

#[test]
fn virtual_time_other_settings_and_other_lengths_are_apart() {
    let mut runs: Vec<RunSummary> = (0..4).map(|day| run(day, "idle", 40_000)).collect();
    runs[1].virtual_time = Some("virtual (QEMU)".into());
    runs[2].settings.period_ns = None;
    runs[3].settings.duration_ns = Some(1);
    let history = analyse(runs, None, &[Figure::Max, Figure::P999]);
    assert_eq!(history.groups.len(), 3);
    // The same settings except for the time measured, which matters to the maximum only.
    let both = history.groups.iter().find(|g| g.runs.len() == 2).unwrap();
    let lengths: Vec<_> = both.series.iter().map(|s| (s.figure, s.points.len())).collect();
    assert_eq!(lengths, [(Figure::Max, 1), (Figure::Max, 1), (Figure::P999, 2)]);
}

#[test]
fn what_is_not_known_is_left_out_and_counted() {
    let mut runs: Vec<RunSummary> = (0..6).map(|day| run(day, "idle", 40_000)).collect();
    runs[0].started_ns = None;
    runs[1].complete = false;
    runs[2].cells[0].doubt = Some("the load did not run".into());
    runs[3].cells[0].p999_ns = None;
    let series = only_untested(runs);
    let out = series.left_out;
    assert_eq!((out.undated, out.incomplete, out.doubtful, out.unknown, series.points.len()), (1, 1, 1, 1, 2));
}

fn only_untested(runs: Vec<RunSummary>) -> HistorySeries {
    analyse(runs, None, &[Figure::P999]).groups.remove(0).series.remove(0)
}
