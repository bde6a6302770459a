use proptest::prelude::*;
use punctual_explain::{ExplainOptions, Explanation, explain};
use punctual_formats::{Written, perfetto};
use punctual_testing::protobuf::{self, Field, decode, each, number, text};
use punctual_trace::{Event, Kind, Source, Task, TaskState, TraceInfo, Vector, open};
use std::io::Cursor;
use std::path::Path;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../analysis/trace/tests/fixtures").join(name)).unwrap()
}

fn exported(name: &str) -> (Explanation, Vec<u8>, Written) {
    let read = || open(Cursor::new(fixture(name)), punctual_trace::Options::default()).unwrap();
    let explanation = explain(read().as_mut(), ExplainOptions::default());
    let mut out = Vec::new();
    let written = perfetto(read().as_mut(), &explanation, &mut out).unwrap();
    (explanation, out, written)
}

/// Returns events in bundles by CPU, as time, event field and body.
fn ftrace(trace: &[u8]) -> Vec<(u64, u64, u32, Vec<Field>)> {
    let mut events = Vec::new();
    for packet in each(trace, 1) {
        for bundle in each(&packet, 1) {
            let bundle = decode(&bundle);
            let cpu = number(&bundle, 1).unwrap();
            for event in bundle.iter().filter(|f| f.0 == 2) {
                let event = decode(event.2.as_ref().unwrap());
                assert_eq!(event[0].0, 1, "the time comes first");
                let (field, body) = event.iter().find_map(|f| Some((f.0, f.2.clone()?))).unwrap();
                events.push((cpu, number(&event, 1).unwrap(), field, decode(&body)));
            }
        }
    }
    events
}

/// Returns slices, as time, type, track and name.
fn slices(trace: &[u8]) -> Vec<(u64, u64, u64, Option<String>)> {
    let packets = each(trace, 1).into_iter().map(|packet| decode(&packet));
    packets
        .filter_map(|packet| {
            let event = decode(packet.iter().find(|f| f.0 == 11)?.2.as_ref()?);
            assert_eq!(number(&packet, 10), Some(1));
            Some((number(&packet, 8)?, number(&event, 9)?, number(&event, 11)?, text(&event, 23)))
        })
        .collect()
}

#[test]
fn every_message_has_the_fields_and_types_that_perfetto_gives_it() {
    for name in ["g612.dat", "g612.trace.txt", "g61.steal.trace.txt", "g612.fair_server.trace.txt"] {
        let (explanation, out, written) = exported(name);
        let found = protobuf::schema::check(&out);
        let count = |message| found.get(message).copied().unwrap_or(0);
        assert!(count("sched_switch") > 0 && count("sched_waking") > 0, "{name}: {found:?}");
        assert!(count("FtraceEvent") as u64 <= written.events, "{name}");
        assert!(count("DebugAnnotation") > explanation.victims.len(), "{name}: {found:?}");
    }
}

#[test]
fn a_message_that_is_not_perfettos_is_refused() {
    let (_, mut out, _) = exported("g612.trace.txt");
    assert!(std::panic::catch_unwind(|| protobuf::schema::check(&out)).is_ok());
    // A packet of sequence 1 with field 61, which this program never writes.
    out.extend([0x0a, 5, 0x50, 1, 0xe8, 3, 1]);
    assert!(std::panic::catch_unwind(|| protobuf::schema::check(&out)).is_err());
}

#[test]
fn scheduler_events_come_out_as_they_went_in() {
    let (_, out, written) = exported("g612.dat");
    let events = ftrace(&out);
    assert!(events.len() > 2_000, "{}", events.len());
    assert_eq!(events.len() as u64 + slices(&out).iter().filter(|s| s.2 >= 1 << 41).count() as u64, written.events);
    let mut source = open(Cursor::new(fixture("g612.dat")), punctual_trace::Options::default()).unwrap();
    let switches: Vec<Event> = source.by_ref().filter(|e| matches!(e.kind, Kind::SchedSwitch { .. })).collect();
    let mut found: Vec<_> = events.iter().filter(|e| e.2 == 4).collect();
    found.sort_by_key(|e| (e.1, e.0));
    assert_eq!(found.len(), switches.len());
    let mut wanted: Vec<_> = switches.iter().collect();
    wanted.sort_by_key(|e| (e.t_ns, e.cpu));
    for (found, wanted) in found.iter().zip(wanted) {
        let Kind::SchedSwitch { prev, next, .. } = &wanted.kind else { unreachable!() };
        assert_eq!((found.0, found.1), (u64::from(wanted.cpu), wanted.t_ns));
        assert_eq!(number(&found.3, 2), Some(prev.tid as u64));
        assert_eq!(number(&found.3, 6), Some(next.tid as u64));
        assert_eq!(text(&found.3, 5), next.comm.map(|comm| comm.to_string()));
        assert_eq!(number(&found.3, 7), next.prio.map(|prio| prio as u64));
    }
}

#[test]
fn each_verdict_is_a_slice_from_t0_to_t3() {
    for name in ["g612.dat", "g612.trace.txt", "g61.steal.trace.txt", "g612.fair_server.trace.txt"] {
        let (explanation, out, written) = exported(name);
        assert_eq!(written.verdicts, explanation.victims.len() as u64, "{name}");
        let slices = slices(&out);
        for victim in &explanation.victims {
            let begins = slices.iter().position(|s| s.3.as_ref() == Some(&victim.verdict)).unwrap();
            let moments = victim.moments.unwrap();
            let (from, kind, track, _) = &slices[begins];
            assert_eq!((*from, *kind), (moments.t0_ns, 1));
            assert_eq!(*track, (1 << 40) + victim.tid.unwrap() as u64);
            let mut depth = 0;
            let end = slices[begins..].iter().find(|s| {
                depth += if s.1 == 1 { 1 } else { -1 };
                depth == 0
            });
            assert_eq!(end.map(|s| (s.0, s.1, s.2)), Some((moments.t3_ns, 2, *track)), "{name}: {}", victim.verdict);
        }
    }
}

/// Two verdicts on one thread, the second of which was due before the end of the first. They must not overlap.
#[test]
fn verdicts_of_one_thread_do_not_overlap() {
    let (mut explanation, _, _) = exported("g612.dat");
    explanation.victims.sort_by_key(|victim| victim.moments.unwrap().t3_ns);
    let first = explanation.victims[0].moments.unwrap();
    explanation.victims[0].moments.as_mut().unwrap().t4_ns = Some(first.t3_ns + 500);
    explanation.victims[1].moments.as_mut().unwrap().t0_ns = first.t3_ns;
    let mut source = open(Cursor::new(fixture("g612.dat")), punctual_trace::Options::default()).unwrap();
    let mut out = Vec::new();
    perfetto(source.as_mut(), &explanation, &mut out).unwrap();
    let slices: Vec<_> = slices(&out).into_iter().filter(|s| s.2 >= 1 << 40 && s.2 < 1 << 41).collect();
    assert!(slices.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let begins = |n: usize| slices.iter().find(|s| s.3.as_ref() == Some(&explanation.victims[n].verdict)).unwrap().0;
    assert_eq!((begins(0), begins(1)), (first.t0_ns, first.t3_ns + 500));
}

#[test]
fn tracks_are_described_before_they_are_used() {
    let (explanation, out, _) = exported("g612.dat");
    let mut known = Vec::new();
    let mut names = Vec::new();
    for (n, packet) in
        each(&out, 1).iter().map(|packet| decode(packet)).filter(|p| number(p, 10) == Some(1)).enumerate()
    {
        assert_eq!(number(&packet, 13), (n == 0).then_some(1), "the first clears the state");
        if let Some(descriptor) = packet.iter().find(|f| f.0 == 60).map(|f| decode(f.2.as_ref().unwrap())) {
            known.push(number(&descriptor, 1).unwrap());
            names.push(text(&descriptor, 2).unwrap());
        }
        if let Some(event) = packet.iter().find(|f| f.0 == 11).map(|f| decode(f.2.as_ref().unwrap())) {
            assert!(known.contains(&number(&event, 11).unwrap()));
        }
    }
    let victim = &explanation.victims[0];
    assert!(names.contains(&"Late wakeups (punctual)".to_owned()), "{names:?}");
    assert!(names.contains(&format!("cyclictest ({})", victim.tid.unwrap())), "{names:?}");
    let causes = String::from_utf8_lossy(&out).into_owned();
    assert!(
        causes.contains("multipathd (244), higher_priority: 29.6 ms, ")
            && causes.contains("%, high: it was current, with this priority")
    );
}

struct Made(std::vec::IntoIter<Event>, TraceInfo);

impl Iterator for Made {
    type Item = Event;
    fn next(&mut self) -> Option<Event> {
        self.0.next()
    }
}

impl Source for Made {
    fn info(&self) -> &TraceInfo {
        &self.1
    }
}

fn made(events: Vec<Event>) -> (Vec<u8>, Written) {
    let mut out = Vec::new();
    let written =
        perfetto(&mut Made(events.into_iter(), TraceInfo::default()), &Explanation::default(), &mut out).unwrap();
    (out, written)
}

fn kind() -> impl Strategy<Value = Kind> {
    let task = |tid, prio| Task { tid, comm: None, prio };
    prop_oneof![
        (any::<i32>(), any::<i32>(), any::<u8>()).prop_map(move |(a, b, letter)| Kind::SchedSwitch {
            prev: task(a, Some(b)),
            prev_state: TaskState { letter, preempted: letter > 128 },
            next: task(b, None)
        }),
        (any::<i32>(), any::<Option<u32>>())
            .prop_map(move |(tid, target_cpu)| Kind::SchedWaking { task: task(tid, None), target_cpu }),
        any::<u32>().prop_map(|irq| Kind::IrqEntry { irq, name: None }),
        Just(Kind::VectorEntry { vector: Vector::Reschedule, number: None }),
        Just(Kind::VectorExit { vector: Vector::Reschedule, number: None }),
        any::<i64>().prop_map(|delta_ns| Kind::NmiHandler { handler: None, delta_ns, handled: None }),
        Just(Kind::LostEvents { count: None }),
        Just(Kind::Restart),
        Just(Kind::ContentionEnd { lock: 1 }),
    ]
}

proptest! {
    #[test]
    fn any_events_decode_and_slices_close(
        events in prop::collection::vec((prop_oneof![0u64..1_000_000, any::<u64>()], prop_oneof![0u32..3, any::<u32>()], kind()), 0..200)
    ) {
        let shown = events.iter().filter(|e| !matches!(e.2, Kind::Restart | Kind::LostEvents { .. })).count() as u64;
        let lost = events.iter().filter(|e| matches!(e.2, Kind::LostEvents { .. }) && e.1 >= 1024).count() as u64;
        let event = |(t_ns, cpu, kind)| Event { t_ns, cpu, tid: Some(7), comm: None, flags: None, kind };
        let (out, written) = made(events.into_iter().map(event).collect());
        prop_assert_eq!(written.events + written.left_out, shown + lost);
        prop_assert!(ftrace(&out).iter().all(|e| e.0 < 1024 && e.1 <= i64::MAX as u64));
        let mut last = std::collections::HashMap::new();
        for (cpu, t, ..) in ftrace(&out) {
            prop_assert!(last.insert(cpu, t).is_none_or(|before| before <= t));
        }
        let mut open = std::collections::HashMap::<u64, i64>::new();
        for (_, kind, track, _) in slices(&out) {
            *open.entry(track).or_default() += if kind == 1 { 1 } else { -1 };
        }
        prop_assert!(open.values().all(|n| *n == 0));
    }
}

#[test]
fn a_second_trace_is_put_behind_the_first() {
    let event = |t_ns, kind| Event { t_ns, cpu: 0, tid: None, comm: None, flags: None, kind };
    let raise = || Kind::SoftirqRaise { vec: 1 };
    let (out, written) = made(vec![
        event(5_000, raise()),
        event(6_000, raise()),
        event(0, Kind::Restart),
        event(9_000, raise()),
        event(2_000, raise()),
    ]);
    let times: Vec<u64> = ftrace(&out).iter().map(|e| e.1).collect();
    assert_eq!(times, [5_000, 6_000, 1_006_000, 2_006_000]);
    assert_eq!(written, Written { events: 4, left_out: 0, verdicts: 0 });
}
