use crate::common;

use common::recording;
use punctual_compare::{Refused, Side, compare};
use punctual_model::{Comparison, ContextSample, Event, Reading, Recording, UnlikeKind, VirtualTime};
use punctual_units::{CpuId, Nanos};

fn one(seconds: usize) -> Recording {
    recording(&[("idle".into(), vec![20_000; seconds])])
}

fn side<'a>(name: &str, runs: &[&'a Recording]) -> Side<'a> {
    Side { name: name.into(), folder: None, runs: runs.iter().map(|r| (name.to_owned(), *r)).collect() }
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
    // A missing value is no difference.
    assert_eq!(kinds(|r| r.run.settings.period_ns = Some(Nanos(1_000_000))), []);
}

#[test]
fn each_difference_is_told() {
    let (mut a, mut b) = (one(30), one(30));
    for (r, n) in [(&mut a, 1), (&mut b, 2)] {
        r.run.settings.period_ns = Some(Nanos(n * 1_000_000));
        r.run.machine.board = Some(format!("board {n}"));
        r.run.machine.cmdline = Some(format!("root=/dev/sd{n} quiet isolcpus={n}"));
        r.events.push(context(50_000 + 10_000 * n as i64, n as i64 - 1));
        r.events.push(Event::Frequency { mono_ns: 0, khz: vec![(CpuId(0), n * 1_000_000)] });
    }
    let comparison = beside(&a, &b);
    let told: Vec<UnlikeKind> = comparison.unlike.iter().map(|u| u.what).collect();
    use UnlikeKind::*;
    assert_eq!(told, [Machine, Period, Parameters, Frequency, Temperature, Throttling]);
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
