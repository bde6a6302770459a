//! Injected shifts are detected, and without a shift none is reported.

use crate::common;

use common::{days, run, spread_days};
use punctual_history::{analyse, least_runs};
use punctual_model::history::{Figure, HistorySeries, RunSummary};
use punctual_stats::SplitMix64;

const SEEDS: u64 = 100;

fn only(runs: Vec<RunSummary>) -> HistorySeries {
    let history = analyse(runs, None, &[Figure::P999], 1.0);
    assert_eq!((history.groups.len(), history.groups[0].series.len()), (1, 1));
    history.groups[0].series[0].clone()
}

/// Returns the number of shifts by a factor of 66/41 that were detected within ten runs: at the correct run, one run
/// beside it, elsewhere, and not at all.
fn injected(spread: f64) -> [u64; 4] {
    let mut came = [0; 4];
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let at = 25 + random.below(40);
        let levels = (0..at + 10).map(|day| if day < at { 41_000.0 } else { 66_000.0 });
        let mut runs = spread_days(&mut random, levels, spread);
        runs.iter_mut().skip(at).for_each(|r| r.kernel.release = Some("6.12.10-rt".into()));
        let series = only(runs);
        let exact = series.shifts.iter().find(|s| s.at == at);
        came[match exact {
            Some(_) => 0,
            None if series.shifts.iter().any(|s| s.at.abs_diff(at) == 1) => 1,
            None if series.shifts.iter().any(|s| s.at + s.runs_to_see > at) => 2,
            None => 3,
        }] += 1;
        if let Some(shift) = exact {
            assert_eq!(shift.kernel_before.as_deref(), Some("6.12.9-rt"));
            assert_eq!(shift.kernel.as_deref(), Some("6.12.10-rt"));
            assert!((1.3..2.0).contains(&shift.ratio) && shift.runs_to_see <= 10, "{shift:?}");
            assert!(shift.interval.is_none_or(|(low, high)| low < shift.ratio && high > shift.ratio));
        }
    }
    came
}

/// The wider the spread, the more often the run at the step is closer to the level of the other side. No method can
/// then assign it correctly.
#[test]
fn an_injected_shift_is_found_at_its_run() {
    assert!(injected(0.05)[0] * 100 >= SEEDS * 95, "{:?}", injected(0.05));
    let [at, beside, elsewhere, _] = injected(0.1);
    assert!(at * 100 >= SEEDS * 85 && (at + beside + elsewhere) * 100 >= SEEDS * 95, "{:?}", injected(0.1));
}

/// Eight loads and two figures share the alarms, so sixteen series of 95 nights raise about a quarter of an alarm.
#[test]
fn many_loads_share_the_alarms() {
    let loads = ["idle", "cpu", "memory", "io", "loopback", "scheduler", "timers", "all"];
    let mut alarms = 0;
    for seed in 0..40 {
        let mut random = SplitMix64::new(3_000 + seed);
        let mut runs = days(&mut random, std::iter::repeat_n(41_000.0, 95));
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
        let history = analyse(runs, None, &[Figure::P999, Figure::Max], 1.0);
        assert_eq!(history.watched, 16);
        alarms += history.groups[0].series.iter().map(|s| s.shifts.len()).sum::<usize>();
    }
    assert!(alarms <= 18, "{alarms} in 40 histories");
}

#[test]
fn few_runs_say_how_many_it_takes_and_many_what_would_be_seen() {
    assert_eq!(least_runs(), 17);
    let few = analyse(vec![run(0, "idle", 10), run(1, "idle", 99)], None, &[Figure::Max], 1.0);
    let series = &few.groups[0].series[0];
    assert!(few.watched == 0 && series.level.is_none() && series.bounds.is_none() && series.least_runs == 17);
    let many = only(days(&mut SplitMix64::new(1), std::iter::repeat_n(41_000.0, 130)));
    let level = many.level.unwrap();
    assert!((1.07..1.3).contains(&level.least_shift.unwrap()) && level.next_ns.unwrap() > 41_000.0, "{level:?}");
    let bounds = many.bounds.unwrap();
    assert!(bounds.of == 110 && (95..=110).contains(&bounds.inside), "{bounds:?}");
}

/// The alarm rate is the requested one: the more false alarms are accepted, the sooner a shift is detected.
#[test]
fn the_rate_is_that_asked_for() {
    let runs = |seed| days(&mut SplitMix64::new(seed), (0..70).map(|d| if d < 60 { 41_000.0 } else { 46_000.0 }));
    let seen = |rate: f64| {
        (0..60)
            .filter(|seed| !analyse(runs(*seed), None, &[Figure::P999], rate).groups[0].series[0].shifts.is_empty())
            .count()
    };
    let (often, rarely) = (seen(12.0), seen(0.1));
    assert!(often > rarely + 5, "{often} {rarely}");
}

#[test]
fn virtual_time_other_settings_and_other_lengths_are_apart() {
    let mut runs: Vec<RunSummary> = (0..4).map(|day| run(day, "idle", 40_000)).collect();
    runs[1].virtual_time = Some("virtual (QEMU)".into());
    runs[2].settings.period_ns = None;
    runs[3].settings.duration_ns = Some(1);
    let history = analyse(runs, None, &[Figure::Max, Figure::P999], 1.0);
    assert_eq!(history.groups.len(), 3);
    // The same settings except for the measuring time, which affects only the maximum.
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
    analyse(runs, None, &[Figure::P999], 1.0).groups.remove(0).series.remove(0)
}
