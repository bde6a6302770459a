//! Timelines of recorded traces.

use crate::common;

use common::is_below;
use punctual_explain::{Class, ExplainOptions, Explanation, Facts, Timeline, Victims, explain, timelines};
use punctual_model::{SpanKind, ThreadState};
use punctual_trace::open;
use punctual_units::Policy;
use std::io::Cursor;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(name)).unwrap()
}

fn drawn(name: &str, options: ExplainOptions) -> (Explanation, Vec<Option<Timeline>>) {
    let read = || open(Cursor::new(fixture(name)), punctual_trace::Options::default()).unwrap();
    let facts = options.facts.clone();
    let explanation = explain(read().as_mut(), options);
    let found = timelines(read().as_mut(), &explanation.victims, facts);
    assert_eq!(found.len(), explanation.victims.len());
    for (victim, timeline) in explanation.victims.iter().zip(&found) {
        assert_eq!(victim.moments.is_some(), timeline.is_some(), "{}", victim.verdict);
        if let Some(timeline) = timeline {
            common::check(timeline, victim);
        }
    }
    (explanation, found)
}

#[test]
fn every_victim_with_moments_has_one() {
    let mut seen = 0;
    for name in [
        "g612.trace.txt",
        "g612.dat",
        "g612.small.dat",
        "g612.small.v6.dat",
        "g612.dat.report.txt",
        "g61.steal.trace.txt",
        "g612.fair_server.trace.txt",
        "g612.wakeup_rt.txt",
        "g612.latency-format.txt",
        "g612.hist-onmax-snapshot.txt",
        "g612.rtla-trace.txt",
        "g612.timerlat.txt",
        "g612.osnoise.txt",
    ] {
        let options = ExplainOptions { victims: Victims::AllRealTime, most: 30, ..ExplainOptions::default() };
        seen += drawn(name, options).1.into_iter().flatten().count();
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn the_culprit_is_marked_from_due_to_running() {
    let facts = Facts { policies: [(244, Policy::Rr)].into(), ..Facts::default() };
    let (explanation, found) = drawn("g612.dat", ExplainOptions { facts, ..ExplainOptions::default() });
    let (victim, timeline) = (&explanation.victims[0], found[0].as_ref().unwrap());
    assert_eq!(timeline.lanes.iter().map(|lane| lane.cpu.0).collect::<Vec<_>>(), [1, 0]);
    let rogue: Vec<_> = timeline.lanes[0].spans.iter().filter(|s| s.tid == Some(244) && s.cause.is_some()).collect();
    assert_eq!(rogue.len(), 1, "interrupts do not cut it");
    assert_eq!((rogue[0].cause, rogue[0].end_ns), (Some(Class::HigherPriority), timeline.moments.t3_ns));
    assert_eq!((rogue[0].label.as_str(), rogue[0].scheduled.policy.as_deref()), ("multipathd", Some("RR")));
    // Interrupts on top of this task are causes of their own.
    let on_top = timeline.lanes[0]
        .spans
        .iter()
        .filter(|s| s.kind == SpanKind::Irq && s.cause.is_some() && s.start_ns >= rogue[0].start_ns);
    let on_top: u64 = on_top.map(|s| s.end_ns - s.start_ns).sum();
    assert_eq!(rogue[0].end_ns - rogue[0].start_ns - on_top, victim.causes[0].ns);
    let states: Vec<ThreadState> = timeline.states.iter().take(4).map(|s| s.state).collect();
    assert_eq!(states, [ThreadState::Sleeping, ThreadState::Due, ThreadState::Runnable, ThreadState::Running]);
}

#[test]
fn the_picture_is_the_same_from_text_and_binary() {
    let names = |timeline: &Timeline| {
        let below = timeline.lanes[0].spans.iter().filter(|span| is_below(span));
        below.map(|span| (span.tid, span.cause)).collect::<Vec<_>>()
    };
    let options = || ExplainOptions { most: 40, ..ExplainOptions::default() };
    let ((_, binary), (_, text)) = (drawn("g612.dat", options()), drawn("g612.dat.report.txt", options()));
    let near = |a: &Timeline, b: &Timeline| a.moments.t3_ns.abs_diff(b.moments.t3_ns) <= 1_000;
    let both: Vec<(&Timeline, &Timeline)> = binary
        .iter()
        .flatten()
        .filter_map(|a| Some((a, text.iter().flatten().find(|b| near(a, b))?)))
        .filter(|(a, _)| a.moments.t3_ns - a.moments.t0_ns > 1_000_000)
        .collect();
    assert!(both.len() >= 3, "{}", both.len());
    for (a, b) in both {
        assert_eq!(names(a), names(b));
    }
}

#[test]
fn what_the_trace_does_not_hold_is_said() {
    let (_, found) =
        drawn("g612.wakeup_rt.txt", ExplainOptions { victims: Victims::AllRealTime, ..ExplainOptions::default() });
    let timeline = found[0].as_ref().unwrap();
    assert!(timeline.notes.iter().any(|note| note.contains("begins shortly before")), "{:?}", timeline.notes);
    assert!(timeline.lanes[0].spans.iter().any(|s| s.kind == SpanKind::Unknown && s.cause == Some(Class::Unaccounted)));
}

#[test]
fn a_wakeup_of_another_trace_is_not_found() {
    let (explanation, _) = drawn("g612.trace.txt", ExplainOptions::default());
    let mut other = open(Cursor::new(fixture("g612.dat")), punctual_trace::Options::default()).unwrap();
    assert!(timelines(other.as_mut(), &explanation.victims, Facts::default()).iter().all(Option::is_none));
}

/// Hundreds of tasks and interrupts in one delay: the picture stays small, and says so.
#[test]
fn a_storm_is_joined() {
    let mut text = String::from("# tracer: nop\n");
    let mut line = |us: u64, body: &str| {
        text.push_str(&format!("          <idle>-0       [001] d..2.     1.{us:06}: {body}\n"));
    };
    line(100, "sched_waking: comm=victim pid=7 prio=49 target_cpu=001");
    for n in 0..4_000u64 {
        let (from, to) = (if n % 2 == 0 { 20 } else { 21 }, if n % 2 == 0 { 21 } else { 20 });
        line(
            110 + n * 3,
            &format!(
                "sched_switch: prev_comm=a prev_pid={from} prev_prio=9 prev_state=S ==> next_comm=b next_pid={to} next_prio=9"
            ),
        );
        line(111 + n * 3, "irq_handler_entry: irq=9 name=storm");
        line(112 + n * 3, "irq_handler_exit: irq=9 ret=handled");
    }
    line(
        50_000,
        "sched_switch: prev_comm=b prev_pid=20 prev_prio=9 prev_state=S ==> next_comm=victim next_pid=7 next_prio=49",
    );
    line(
        60_000,
        "sched_switch: prev_comm=victim prev_pid=7 prev_prio=49 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120",
    );
    let read = || open(Cursor::new(text.clone().into_bytes()), punctual_trace::Options::default()).unwrap();
    let explanation =
        explain(read().as_mut(), ExplainOptions { victims: Victims::Tid(7), ..ExplainOptions::default() });
    let found = timelines(read().as_mut(), &explanation.victims, Facts::default());
    let timeline = found[0].as_ref().unwrap();
    common::check(timeline, &explanation.victims[0]);
    let lane = &timeline.lanes[0];
    assert!(lane.spans.len() <= 200 && lane.joined > 7_000, "{} {}", lane.spans.len(), lane.joined);
    assert!(lane.spans.iter().any(|span| span.cause == Some(Class::HigherPriority)));
}
