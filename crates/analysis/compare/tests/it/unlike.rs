use crate::common;

use common::{booted, recording};
use punctual_compare::{Refused, Side, compare, is_worse};
use punctual_model::{
    Against, Comparison, Conclusion, ContextSample, Covariate, Event, Outcome, Problem, ProblemKind, Ratio, Reading,
    Recording, UnlikeKind, VirtualTime,
};
use punctual_units::{CpuId, Nanos};

fn one(seconds: usize) -> Recording {
    recording(&[("idle".into(), vec![20_000; seconds])])
}

fn side<'a>(name: &str, runs: &[&'a Recording]) -> Side<'a> {
    Side { name: name.into(), runs: runs.iter().map(|r| (name.to_owned(), *r)).collect(), ..Side::default() }
}

fn beside(a: &Recording, b: &Recording) -> Comparison {
    compare(&[side("a", &[a]), side("b", &[b])]).unwrap()
}

fn kinds(change: impl FnOnce(&mut Recording)) -> Vec<UnlikeKind> {
    let (a, mut b) = (one(30), one(30));
    change(&mut b);
    beside(&a, &b).unlike.into_iter().map(|u| u.what).collect()
}

fn context(milli: i64, throttled: i64) -> Event {
    let reading = |name: &str, value| Reading { name: name.into(), value };
    Event::Context(ContextSample {
        temperatures: vec![reading("cpu", milli)],
        throttling: vec![reading("under-voltage", throttled)],
        ..ContextSample::default()
    })
}

#[test]
fn alike_is_alike() {
    assert_eq!(kinds(|_| {}), []);
    // A value that one of the runs lacks is not a difference.
    assert_eq!(kinds(|r| r.run.settings.period_ns = Some(Nanos(1_000_000))), []);
}

#[test]
fn runs_of_one_boot_are_recognised() {
    let loads = [("idle".into(), vec![20_000; 30])];
    let (a, b, later) = (booted(&loads, 1), booted(&loads, 1), booted(&loads, 2));
    assert!(beside(&a, &b).one_boot);
    assert!(!beside(&a, &later).one_boot && !beside(&one(30), &one(30)).one_boot);
    let mut elsewhere = booted(&loads, 1);
    elsewhere.run.host = Some("other".into());
    assert!(!beside(&a, &elsewhere).one_boot);
}

#[test]
fn runs_with_problems_are_named() {
    let problem = |kind| Problem { kind, text: "PID 88 also measured".into() };
    let (a, mut b) = (one(30), one(30));
    b.run.problems = vec![problem(ProblemKind::MachineChanged), problem(ProblemKind::EndedEarly)];
    b.run.settings.claims = vec!["max < 50ms".parse().unwrap()];
    let comparison = beside(&a, &b);
    let [doubtful] = comparison.doubtful.as_slice() else { panic!("{:?}", comparison.doubtful) };
    assert_eq!((doubtful.run.as_str(), doubtful.outcome), ("b", Outcome::Inconclusive));
    assert_eq!(doubtful.problems, [problem(ProblemKind::MachineChanged)]);
    assert!(comparison.problems.is_empty());
}

#[test]
fn each_difference_is_reported() {
    let (mut a, mut b) = (one(30), one(30));
    for (r, n) in [(&mut a, 1), (&mut b, 2)] {
        r.run.settings.period_ns = Some(Nanos(n * 1_000_000));
        r.run.machine.board = Some(format!("board {n}"));
        r.run.machine.cmdline = Some(format!("root=/dev/sd{n} quiet isolcpus={n}"));
        r.events.push(context(50_000 + 10_000 * n as i64, n as i64 - 1));
        r.events.push(Event::Frequency { mono_ns: 0, khz: vec![(CpuId(0), n * 1_000_000)] });
    }
    let comparison = beside(&a, &b);
    let reported: Vec<UnlikeKind> = comparison.unlike.iter().map(|u| u.what).collect();
    use UnlikeKind::*;
    assert_eq!(reported, [Machine, Period, Parameters, Frequency, Temperature, Throttling]);
    let parameters = &comparison.unlike[2].values;
    assert_eq!(parameters, &[Some("isolcpus=1 quiet".into()), Some("isolcpus=2 quiet".into())]);
    assert_eq!(comparison.unlike[4].values, [Some("60.0 °C".into()), Some("70.0 °C".into())]);
}

#[test]
fn a_longer_run_had_more_chances() {
    let comparison = beside(&one(30), &one(60));
    assert_eq!(comparison.unlike.iter().map(|u| u.what).collect::<Vec<_>>(), [UnlikeKind::Length]);
}

#[test]
fn loads_that_not_all_have_are_left_out() {
    let both = recording(&[("idle".into(), vec![20_000; 30]), ("io".into(), vec![90_000; 30])]);
    let comparison = beside(&one(30), &both);
    assert_eq!(comparison.left_out, ["io"]);
    // The worst wakeup under io is not compared.
    assert_eq!(comparison.rows[0].groups[1].values, [20_000.0]);
}

#[test]
fn other_clocks_and_nothing_in_common_are_refused() {
    let (a, mut b) = (one(30), one(30));
    assert_eq!(compare(&[side("a", &[&a])]), Err(Refused::TooFewGroups));
    assert_eq!(compare(&[side("a", &[&a]), side("b", &[])]), Err(Refused::TooFewGroups));
    let other = recording(&[("io".into(), vec![90_000; 30])]);
    assert_eq!(compare(&[side("a", &[&a]), side("b", &[&other])]), Err(Refused::NothingInCommon));
    b.run.virtual_time = Some(VirtualTime {
        emulator: "QEMU".into(),
        machine: "pc".into(),
        kernel: "rt".into(),
        instruction_ns: 2,
        cpus: 1,
        seed: 1,
    });
    assert_eq!(compare(&[side("a", &[&a]), side("b", &[&b])]), Err(Refused::Clocks("a".into(), "b".into())));
}

#[test]
fn several_groups_stand_against_the_first() {
    let runs: Vec<Recording> = (1..=3u64).map(|n| recording(&[("idle".into(), vec![n * 10_000; 30])])).collect();
    let sides: Vec<Side> = runs.iter().enumerate().map(|(n, r)| side(&n.to_string(), &[r])).collect();
    let comparison = compare(&sides).unwrap();
    let worst = &comparison.rows[0];
    let ratios: Vec<f64> = worst.against.iter().map(|a| (a.ratio.unwrap().value * 1e6).round() / 1e6).collect();
    assert_eq!((worst.groups.len(), ratios), (3, vec![2.0, 3.0]));
}

/// Six boots of each group, booted alternately, each with its temperature from the first second on.
#[test]
fn boots_in_turns_that_begin_alike_are_told_and_compared_at_equal_temperature() {
    let boot = |n: u64, ns: u64, start: i64, during: i64| {
        let mut one = booted(&[("idle".into(), vec![ns + n * 10; 30])], n);
        one.events.extend([context(start, 0), context(during, 0), context(during, 0)]);
        one
    };
    let compared = |of_b: (i64, i64), turns: bool| {
        let at = |n: u64, second: bool| if turns { 2 * n + u64::from(second) } else { n + 6 * u64::from(second) };
        let wobble = |n: u64| (n as i64 % 3) * 500;
        let a: Vec<Recording> =
            (0..6).map(|n| boot(at(n, false), 20_000 + 200 * (n % 3), 45_000, 60_000 + wobble(n))).collect();
        let b: Vec<Recording> =
            (0..6).map(|n| boot(at(n, true), 25_000 + 200 * (n % 3), of_b.0, of_b.1 + wobble(n))).collect();
        compare(&[side("a", &a.iter().collect::<Vec<_>>()), side("b", &b.iter().collect::<Vec<_>>())]).unwrap()
    };
    let alike = compared((45_500, 61_000), true);
    assert_eq!(alike.began_alike, [true]);
    let worst = &alike.rows[0].against[0];
    assert!(worst.paired && worst.equal_temperature.is_some_and(|r| r.value > 1.0), "{worst:?}");
    assert_eq!(compared((55_000, 61_000), true).began_alike, [false], "warmer from the start");
    let after = compared((45_500, 61_000), false);
    assert!(after.began_alike == [false] && !after.rows[0].against[0].paired);
}

#[test]
fn heat_excuses_only_boots_in_turns_that_begin_alike() {
    let ratio = |value| Ratio { value, interval: Some((value * 0.99, value * 1.01)), confidence: 0.95, least_n: 4 };
    let heat = Covariate {
        at: 78.0,
        step: 1.3,
        p: 0.002,
        all: ratio(1.12),
        below: ratio(1.01),
        n_below: (9, 9),
        share: Some(0.9),
        is_most: true,
    };
    let warm =
        Against { ratio: Some(ratio(1.12)), conclusion: Conclusion::More, covariate: Some(heat), ..Against::default() };
    let mut comparison = beside(&one(30), &one(30));
    comparison.rows[0].against = vec![warm];
    assert!(is_worse(&comparison), "one after the other");
    comparison.began_alike = vec![true];
    assert!(!is_worse(&comparison));
    comparison.rows[0].against[0].covariate = None;
    assert!(is_worse(&comparison), "no heat explains it");
}
