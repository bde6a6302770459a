//! Tests synthetic gaps and their origins.

use proptest::prelude::*;
use punctual_explain::{Activity, Confidence, GapEvidence, GapSorter, Surroundings};
use punctual_model::{ExplainedGap, Gap, GapClass, GapFinding, Scheduled, Span, SpanKind};
use punctual_trace::{Event, Kind, Task, TaskState, Vector};
use punctual_units::CpuId;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const READER: i32 = 500;
const ZERO: CpuId = CpuId(0);

fn gap(cpu: u32, start: u64, length: u64) -> Gap {
    Gap { cpu: CpuId(cpu), start_ns: start, length_ns: length }
}

fn span(kind: SpanKind, label: &str, tid: Option<i32>, from: u64, to: u64) -> Span {
    let scheduled = Scheduled::default();
    Span { start_ns: from, end_ns: to, kind, label: label.into(), tid, scheduled, cause: None }
}

fn reader(from: u64, to: u64) -> Span {
    span(SpanKind::Task, "gaps/0", Some(READER), from, to)
}

fn evidence(spans: Vec<Span>) -> GapEvidence {
    GapEvidence { spans, tid: READER, ..GapEvidence::default() }
}

fn sorted(gaps: &[(Gap, GapEvidence)], around: &Surroundings) -> (Vec<GapFinding>, Vec<ExplainedGap>) {
    let mut sorter = GapSorter::new(10 * US);
    gaps.iter().for_each(|(gap, evidence)| sorter.gap(*gap, evidence));
    sorter.finish(around)
}

fn only(gaps: &[(Gap, GapEvidence)], around: &Surroundings) -> GapFinding {
    let (mut findings, _) = sorted(gaps, around);
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings.remove(0)
}

fn guest(steal_ns: u64) -> Surroundings {
    let virtualisation = Some("kvm".into());
    Surroundings { virtualisation, steal_ns: [(ZERO, steal_ns)].into(), ..Surroundings::default() }
}

fn metal(smi: Option<u64>) -> Surroundings {
    let smi = smi.into_iter().flat_map(|n| [(ZERO, n), (CpuId(1), n)]).collect();
    Surroundings { virtualisation: Some("none".into()), smi, ..Surroundings::default() }
}

fn nothing_ran(length: u64) -> (Gap, GapEvidence) {
    (gap(0, 1_000, length), evidence(vec![reader(1_000, 1_000 + length)]))
}

#[test]
fn what_the_trace_shows_is_linux() {
    let spans = vec![
        reader(0, 2 * US),
        span(SpanKind::Irq, "local_timer", None, 2 * US, 14 * US),
        span(SpanKind::Softirq, "NET_RX", None, 14 * US, 30 * US),
        reader(30 * US, 33 * US),
    ];
    let finding = only(&[(gap(0, 0, 33 * US), evidence(spans))], &metal(Some(0)));
    assert_eq!((finding.class, finding.confidence), (GapClass::Linux, Confidence::High));
    assert_eq!(finding.worst_ns, 33 * US);
    assert!(finding.verdict.starts_with("Linux: 1 gap, worst 33.0 µs on CPU 0 (NET_RX, up to 16.0 µs)"), "{finding:?}");
    assert_eq!(finding.parts.iter().map(|p| p.what.as_str()).collect::<Vec<_>>(), ["NET_RX", "local_timer"]);
}

#[test]
fn a_thread_that_took_the_cpu_is_named() {
    let hog = span(SpanKind::Task, "hog", Some(99), 5 * US, 3 * MS);
    let spans = vec![reader(0, 5 * US), hog, reader(3 * MS, 3 * MS + US)];
    let finding = only(&[(gap(0, 0, 3 * MS + US), evidence(spans))], &guest(0));
    assert!(finding.verdict.contains("hog (pid 99)"), "{}", finding.verdict);
    assert!(finding.advice.unwrap().contains("taskset -cp OTHER_CPUS 99"));
}

#[test]
fn steal_is_the_hypervisors() {
    let (gap, plain) = nothing_ran(3_400 * US);
    for stolen in [
        GapEvidence { steal_rose: Some(true), ..plain.clone() },
        GapEvidence { uncharged_ns: Some(3 * MS), ..plain.clone() },
    ] {
        let finding = only(&[(gap, stolen)], &guest(40 * MS));
        assert_eq!((finding.class, finding.confidence), (GapClass::Hypervisor, Confidence::High));
        assert!(
            finding.verdict.contains("worst 3.40 ms")
                && finding.verdict.contains("steal time increased by 40.0 ms (high)")
        );
    }
    // One tick of steal with a short gap proves little, and no tick proves nothing.
    let (gap, plain) = nothing_ran(20 * US);
    let ticked = GapEvidence { steal_rose: Some(true), ..plain.clone() };
    assert_eq!(only(&[(gap, ticked)], &guest(0)).confidence, Confidence::Medium);
    let finding = only(&[(gap, GapEvidence { steal_rose: Some(false), ..plain })], &guest(0));
    assert_eq!(finding.class, GapClass::BeyondLinux);
}

#[test]
fn a_guest_whose_other_cpus_go_on_was_not_stopped_by_firmware() {
    let (gap, plain) = nothing_ran(50 * US);
    let alone = GapEvidence { at_once: Some(false), ..plain.clone() };
    let finding = only(&[(gap, alone.clone())], &guest(0));
    assert_eq!((finding.class, finding.confidence), (GapClass::Hypervisor, Confidence::Medium));
    let together = GapEvidence { at_once: Some(true), ..plain.clone() };
    assert_eq!(only(&[(gap, together)], &guest(0)).class, GapClass::BeyondLinux);
    // Gaps that cannot be compared are likely similar to those that can.
    let mut many = vec![(gap, alone); 20];
    many.push((gap, plain));
    assert_eq!(only(&many, &guest(0)).gaps, 21);
}

#[test]
fn an_smi_stops_all_cpus_and_is_counted() {
    let stall = |start: u64| {
        let both = GapEvidence { at_once: Some(true), ..GapEvidence::default() };
        let of = |cpu: u32, at: u64| {
            let spans = vec![reader(at, at + 210 * US)];
            (gap(cpu, at, 210 * US), GapEvidence { spans, tid: READER, ..both.clone() })
        };
        [of(0, start), of(1, start + US)]
    };
    let gaps: Vec<_> = [1, 2, 3].into_iter().flat_map(|s| stall(s * 1_000 * MS)).collect();
    let finding = only(&gaps, &metal(Some(3)));
    assert_eq!((finding.class, finding.confidence), (GapClass::Firmware, Confidence::High));
    assert_eq!((finding.gaps, finding.at_once), (6, 3));
    assert!(
        finding.verdict.contains("3 times on all reading CPUs at once; SMI counter +3 (high)"),
        "{}",
        finding.verdict
    );
    // There are more stalls than SMIs, so some stalls had another cause.
    assert_eq!(only(&gaps, &metal(Some(2))).confidence, Confidence::Medium);
    assert_eq!(only(&gaps, &metal(Some(0))).class, GapClass::Hardware);
    let uncounted = only(&gaps, &metal(None));
    assert_eq!((uncounted.class, uncounted.confidence), (GapClass::Firmware, Confidence::Suspected));
}

#[test]
fn on_metal_a_cpu_alone_is_no_smi() {
    let (gap, plain) = nothing_ran(100 * US);
    let alone = GapEvidence { at_once: Some(false), steal_rose: Some(true), uncharged_ns: Some(MS), ..plain };
    assert_eq!(only(&[(gap, alone)], &metal(Some(5))).class, GapClass::Hardware);
}

#[test]
fn without_a_trace_nothing_is_told_apart() {
    let stolen = GapEvidence { steal_rose: Some(true), ..evidence(Vec::new()) };
    let finding = only(&[(gap(0, 5, 3 * MS), stolen)], &guest(40 * MS));
    assert_eq!((finding.class, finding.confidence), (GapClass::Unknown, Confidence::Suspected));
    assert!(finding.verdict.contains("cannot be distinguished"));
    let (gap, plain) = nothing_ran(MS);
    let finding = only(&[(gap, plain)], &Surroundings::default());
    assert_eq!(finding.class, GapClass::BeyondLinux);
}

#[test]
fn a_timer_interrupt_of_milliseconds_was_held_up_by_who_stole() {
    let spans = vec![span(SpanKind::Irq, "local_timer", None, 0, 4 * MS)];
    let plain = (gap(0, 0, 4 * MS), evidence(spans));
    assert_eq!(only(std::slice::from_ref(&plain), &guest(0)).confidence, Confidence::Medium);
    let stolen = GapEvidence { steal_rose: Some(true), ..plain.1 };
    let finding = only(&[(plain.0, stolen)], &guest(10 * MS));
    assert_eq!((finding.class, finding.worst_ns), (GapClass::Hypervisor, 4 * MS));
}

/// Interruptions of two threads are not attributed to each other.
#[test]
fn long_stays_are_taken_each_from_its_own_thread() {
    let on = |tid, from, to| span(SpanKind::Irq, "local_timer", Some(tid), from, to);
    let spans = vec![on(1, 0, 600 * US), on(2, 600 * US, 1_300 * US), on(1, 1_300 * US, 1_310 * US)];
    let stolen = GapEvidence { steal_rose: Some(true), ..evidence(spans) };
    let (_, worst) = sorted(&[(gap(0, 0, 1_310 * US), stolen)], &guest(10 * MS));
    assert_eq!((worst[0].linux_ns, worst[0].beyond_ns), (10 * US, 1_300 * US));
    assert_eq!(worst[0].did, [("local_timer".to_owned(), 10 * US)]);
}

fn event(t_us: u64, kind: Kind) -> Event {
    let switched = matches!(kind, Kind::SchedSwitch { .. });
    Event { t_ns: t_us * US, cpu: 0, tid: (!switched).then_some(READER), comm: None, flags: None, kind }
}

#[test]
fn activity_names_what_a_cpu_did_without_holes() {
    let task = |tid| Task { tid, comm: None, prio: Some(9) };
    let runnable = TaskState { letter: b'R', preempted: false };
    let mut activity = Activity::new();
    let switch = |prev, next| Kind::SchedSwitch { prev: task(prev), prev_state: runnable, next: task(next) };
    for e in [
        event(10, switch(0, READER)),
        event(100, Kind::VectorEntry { vector: Vector::LocalTimer, number: None }),
        event(104, Kind::VectorExit { vector: Vector::LocalTimer, number: None }),
        event(104, Kind::SoftirqEntry { vec: 3 }),
        event(110, Kind::SoftirqExit { vec: 3 }),
        event(111, switch(READER, 7)),
        event(130, switch(7, READER)),
    ] {
        activity.event(&e);
    }
    let spans = activity.between(ZERO, 0, 140 * US);
    let seen: Vec<_> = spans.iter().map(|s| (s.kind, s.label.as_str(), s.tid, (s.end_ns - s.start_ns) / US)).collect();
    use SpanKind::{Irq, Softirq, Task as T, Unknown};
    let expected = [
        (Unknown, "", None, 10),
        (T, "", Some(READER), 90),
        (Irq, "local_timer", None, 4),
        (Softirq, "NET_RX", None, 6),
        (T, "", Some(READER), 1),
        (T, "", Some(7), 19),
        (T, "", Some(READER), 10),
    ];
    assert_eq!(seen, expected);
    assert!(activity.turned(ZERO, 50 * US, 101 * US) && !activity.turned(ZERO, 20 * US, 90 * US));
    assert!(activity.between(CpuId(9), 0, 5).iter().all(|s| s.kind == SpanKind::Unknown));
}

fn any_evidence() -> impl Strategy<Value = GapEvidence> {
    let kind = prop_oneof![
        Just(SpanKind::Unknown),
        Just(SpanKind::Idle),
        Just(SpanKind::Task),
        Just(SpanKind::Softirq),
        Just(SpanKind::Irq),
        Just(SpanKind::Nmi)
    ];
    let label = prop_oneof![Just("local_timer"), Just("eth0"), Just("")];
    let one = (kind, label, 498i32..503, 0u64..3_000_000, 0u64..3_000_000)
        .prop_map(|(kind, label, tid, from, to)| span(kind, label, Some(tid), from, to));
    let spans = proptest::collection::vec(one, 0..6);
    let more = (any::<Option<bool>>(), proptest::option::of(0u64..4_000_000), any::<Option<bool>>());
    (spans, more).prop_map(|(spans, (at_once, uncharged_ns, steal_rose))| GapEvidence {
        spans,
        tid: READER,
        at_once,
        uncharged_ns,
        steal_rose,
    })
}

proptest! {
    /// For any input: the sums equal the length, no gap is omitted, and Linux's time is never attributed to a
    /// hypervisor that does not exist.
    #[test]
    fn every_gap_is_accounted_for(
        gaps in proptest::collection::vec((0u32..4, 0u64..2_000_000, 10_000u64..2_000_000, any_evidence()), 1..30),
        virtualisation in prop_oneof![Just(None), Just(Some("none".to_owned())), Just(Some("kvm".to_owned()))],
        smi in proptest::option::of(0u64..5),
    ) {
        let smi = smi.into_iter().map(|n| (ZERO, n)).collect();
        let around = Surroundings { virtualisation, smi, steal_ns: [(ZERO, 10 * MS)].into(), throttled: false };
        let gaps: Vec<_> = gaps.into_iter().map(|(cpu, start, length, e)| (gap(cpu, start, length), e)).collect();
        let (findings, worst) = sorted(&gaps, &around);
        for one in &worst {
            let sum = one.linux_ns + one.beyond_ns + one.edge_ns + one.unknown_ns;
            prop_assert_eq!(sum, one.gap.length_ns);
            prop_assert_eq!(one.did.iter().map(|(_, ns)| ns).sum::<u64>(), one.linux_ns);
        }
        prop_assert!(findings.iter().map(|f| f.gaps).sum::<u64>() >= gaps.len() as u64);
        let longest = gaps.iter().map(|(g, _)| g.length_ns).max();
        prop_assert_eq!(worst.first().map(|w| w.gap.length_ns), longest);
        for finding in &findings {
            prop_assert!(Some(finding.worst_ns) <= longest && finding.worst_ns <= finding.total_ns);
            prop_assert!(finding.class != GapClass::Hypervisor || around.guest() == Some(true));
            prop_assert!(finding.class != GapClass::Firmware || around.guest() == Some(false));
            prop_assert!(!finding.verdict.is_empty());
        }
    }
}
