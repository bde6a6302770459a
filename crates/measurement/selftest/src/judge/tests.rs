use super::*;
use punctual_model::Problem;
use punctual_units::{CpuId, Priority, Scheduling};

const PERIOD: Nanos = Nanos::from_millis(1);

fn injected() -> Injected {
    let ms = Nanos::from_millis;
    Injected { kind: Kind::Spinner, cpu: CpuId(1), wanted: ms(5), from: Nanos(10_200_000), to: Nanos(15_200_000) }
}

fn outcome() -> Outcome {
    let worst = Worst {
        phase: "spinner".into(),
        cpu: CpuId(1),
        release_mono_ns: 11_000_000,
        latency_ns: 4_220_000,
        cycle: 11,
        skipped: 4,
        trace_offset: None,
        suspicions: Vec::new(),
    };
    let cpu = CpuResult {
        cpu: CpuId(1),
        tid: Some(1),
        got: Some(Scheduling::Fifo { priority: Priority::try_from(80).unwrap() }),
        released: Some(100),
        ran: 96,
        skipped: Some(4),
        min_ns: Some(1),
        max_ns: Some(4_220_000),
        mean_ns: Some(2.0),
        page_faults: Some(0),
        involuntary_switches: Some(0),
        run_delay_ns: Some(0),
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    };
    Outcome {
        start: Nanos(0),
        end: Nanos(100_000_000),
        cpus: vec![cpu],
        distributions: Vec::new(),
        senders: Vec::new(),
        worst: vec![worst],
        problems: Vec::new(),
        cpu_ns: 0,
        notes: Vec::new(),
    }
}

fn passes(delay: Injected, outcome: &Outcome) -> bool {
    judge(&[delay], outcome, PERIOD).iter().all(|check| check.passed)
}

#[test]
fn injected_delays_are_found() {
    assert!(passes(injected(), &outcome()));
}

#[test]
fn what_lies_within_a_longer_delay_is_found_there() {
    let (mut stalled, delay) = (outcome(), injected());
    stalled.worst[0].release_mono_ns = delay.from.0 - 7_000_000;
    stalled.worst[0].latency_ns = delay.to.0 - stalled.worst[0].release_mono_ns + 10_000;
    assert!(passes(delay, &stalled));
    stalled.worst[0].latency_ns = 8_000_000;
    assert!(!passes(delay, &stalled), "it ended before the injected delay did");
}

#[test]
fn every_way_to_miss_it_is_reported() {
    type Change = fn(&mut Outcome);
    let changes: [(&str, Change); 8] = [
        ("no sample", |o| o.worst.clear()),
        ("another CPU", |o| o.worst[0].cpu = CpuId(0)),
        ("another time", |o| o.worst[0].release_mono_ns = 40_000_000),
        ("too short", |o| o.worst[0].latency_ns = 4_000_000),
        ("too long", |o| o.worst[0].latency_ns = 40_000_000),
        ("periods not counted", |o| o.worst[0].skipped = 0),
        ("one period lost", |o| o.cpus[0].ran -= 1),
        ("nothing ran", |o| (o.cpus[0].released, o.cpus[0].ran, o.cpus[0].skipped) = (Some(0), 0, Some(0))),
    ];
    for (name, change) in changes {
        let mut changed = outcome();
        change(&mut changed);
        assert!(!passes(injected(), &changed), "{name}");
    }
}

#[test]
fn a_late_start_is_that_of_the_first_period() {
    let delay = Injected { kind: Kind::LateStart, ..injected() };
    assert!(!passes(delay, &outcome()));
    let mut first = outcome();
    first.worst[0].cycle = 0;
    assert!(passes(delay, &first));
}

#[test]
fn page_faults_are_counted_and_reported() {
    let delay = Injected { kind: Kind::PageFault, ..injected() };
    assert!(!passes(delay, &outcome()));
    let mut counted = outcome();
    counted.cpus[0].page_faults = Some(3);
    assert!(!passes(delay, &counted));
    counted.problems.push(Problem { kind: ProblemKind::PageFaults, text: "3".into() });
    assert!(passes(delay, &counted));
    counted.cpus[0].page_faults = None;
    assert!(!passes(delay, &counted));
}
