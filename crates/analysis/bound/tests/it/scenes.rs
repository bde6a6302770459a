//! Short recordings whose sections are known.

use crate::events::{State, event, irq_off, irq_on, preempt_off, preempt_on, source, switch, task, timer};
use punctual_bound::{Bounds, bound};
use punctual_model::{CpuBound, LatencyBound, Outcome, PartKind};
use punctual_trace::{Event, Kind, TraceInfo};
use punctual_units::Nanos;

const ON: State = State { irqs_off: false, depth: 0, hard: false, nmi: false, resched: false, tid: 10 };
const OFF: State = State { irqs_off: true, ..ON };
const LOCKED: State = State { depth: 1, ..ON };
const BOTH: State = State { irqs_off: true, depth: 1, ..ON };
const HARD: State = State { irqs_off: true, hard: true, ..ON };

/// A timer that wakes thread 99, which preempts thread 10 on the return from the interrupt.
fn wakeup(t: u64) -> Vec<Event> {
    let woken = State { resched: true, ..HARD };
    let high = State { tid: 99, ..BOTH };
    vec![
        event(t, OFF, irq_off("irqentry_enter")),
        event(t + 100, HARD, preempt_off("irq_enter_rcu")),
        event(t + 200, HARD, timer()),
        event(t + 1200, woken, Kind::SchedWaking { task: task(99), target_cpu: Some(0) }),
        event(t + 1300, woken, preempt_on("irq_exit_rcu")),
        event(t + 1400, State { resched: true, ..BOTH }, preempt_off("preempt_schedule_irq")),
        event(t + 1500, State { resched: true, ..BOTH }, irq_on("preempt_schedule_irq")),
        event(t + 1600, State { resched: true, ..BOTH }, irq_off("__schedule")),
        event(t + 2000, BOTH, switch(10, 99)),
        event(t + 2500, high, irq_on("finish_task_switch")),
        event(t + 2600, State { tid: 99, ..LOCKED }, preempt_on("schedule")),
        // It sleeps, and thread 10 goes on.
        event(t + 3000, State { tid: 99, ..LOCKED }, preempt_off("schedule")),
        event(t + 3050, high, irq_off("__schedule")),
        event(t + 3100, high, switch(99, 10)),
        event(t + 3200, BOTH, irq_on("finish_task_switch")),
        event(t + 3300, BOTH, irq_off("preempt_schedule_irq")),
        event(t + 3400, BOTH, preempt_on("preempt_schedule_irq")),
        event(t + 3500, OFF, irq_on("irqentry_exit")),
    ]
}

fn section(t: u64, ns: u64, function: &str) -> Vec<Event> {
    vec![event(t, OFF, irq_off(function)), event(t + ns, OFF, irq_on(function))]
}

/// A section at whose end a reschedule is pending, until a call of the scheduler 700 ns later.
fn late_preemption(t: u64) -> Vec<Event> {
    let pending = State { resched: true, ..LOCKED };
    vec![
        event(t, LOCKED, preempt_off("lock")),
        event(t + 900, pending, preempt_on("lock")),
        event(t + 1600, pending, preempt_off("preempt_schedule")),
        event(t + 1700, State { resched: true, ..BOTH }, irq_off("__schedule")),
        event(t + 1800, BOTH, switch(10, 11)),
        event(t + 1900, State { tid: 11, ..BOTH }, irq_on("finish_task_switch")),
        event(t + 2000, State { tid: 11, ..LOCKED }, preempt_on("preempt_schedule")),
    ]
}

fn part(of_cpu: &CpuBound, kind: PartKind) -> u64 {
    of_cpu.parts.iter().find(|part| part.part == kind).map(|part| part.longest_ns.0).unwrap()
}

fn all(parts: &[Vec<Event>]) -> LatencyBound {
    bound(&mut source(&parts.concat()), None)
}

#[test]
fn the_parts_are_those_of_the_paper() {
    // Which thread the first wakeup interrupts is unknown, and so is its priority.
    let found = all(&[section(0, 5000, "work"), wakeup(100_000), wakeup(150_000), late_preemption(200_000)]);
    assert_eq!((found.outcome, &found.problems), (Outcome::Pass, &Vec::new()));
    let of_cpu = &found.cpus[0];
    let parts = [PartKind::Poid, PartKind::Dst, PartKind::Paie, PartKind::Psd].map(|kind| part(of_cpu, kind));
    // The interrupt takes 1300 ns off the section from 100000 to 102600. dst: from 101600 to 102600.
    assert_eq!(parts, [5000, 1000, 700, 1300]);
    assert_eq!(of_cpu.without_interrupts_ns, Some(Nanos(7000)));
    // The interrupt counts until preemption is disabled to schedule.
    assert_eq!((of_cpu.bound_ns, of_cpu.interrupts_ns), (Some(Nanos(8400)), Some(Nanos(1400))));
    let without = of_cpu.without.as_ref().unwrap();
    assert_eq!((without.what.as_str(), without.bound_ns), ("the section in work", Nanos(4400)));
    let seen = of_cpu.seen.as_ref().unwrap();
    assert_eq!((seen.tid, seen.latency_ns), (99, Nanos(1400)));
}

#[test]
fn a_section_that_no_wakeup_met_is_in_the_bound() {
    let quiet = all(&[section(0, 2000, "work"), wakeup(100_000)]);
    let found = all(&[section(0, 2000, "work"), wakeup(100_000), section(150_000, 80_000, "hold_irqs")]);
    let (quiet, found) = (quiet.bound_ns.unwrap(), found.bound_ns.unwrap());
    assert_eq!(found.0 - quiet.0, 78_000);
}

#[test]
fn a_section_that_the_flags_alone_show_reaches_to_the_neighbouring_events() {
    let mut events = wakeup(100_000);
    events.push(event(110_000, ON, Kind::SchedWaking { task: task(12), target_cpu: Some(0) }));
    events.push(event(117_000, OFF, Kind::SchedWaking { task: task(12), target_cpu: Some(0) }));
    events.push(event(119_000, ON, Kind::SchedWaking { task: task(12), target_cpu: Some(0) }));
    let found = bound(&mut source(&events), None);
    assert_eq!((part(&found.cpus[0], PartKind::Poid), found.cpus[0].uncertain), (9000, 2));
}

#[test]
fn waiting_in_idle_is_no_section() {
    let idle = State { tid: 0, ..BOTH };
    let mut events = wakeup(0);
    events.extend([
        event(10_000, LOCKED, preempt_off("schedule")),
        event(10_100, BOTH, irq_off("__schedule")),
        event(10_200, BOTH, switch(10, 0)),
        event(10_300, idle, irq_on("finish_task_switch")),
        event(10_400, idle, irq_off("do_idle")),
        event(10_500, idle, Kind::CpuIdle { state: Some(1), cpu: 0 }),
        event(10_600, idle, irq_on("ct_cpuidle_enter")),
        event(900_000, idle, irq_off("irqentry_enter")),
        event(900_100, State { hard: true, ..idle }, timer()),
        event(
            900_200,
            State { hard: true, resched: true, ..idle },
            Kind::SchedWaking { task: task(99), target_cpu: Some(0) },
        ),
        event(900_300, State { resched: true, ..idle }, irq_on("irqentry_exit")),
        event(900_400, State { resched: true, ..idle }, Kind::CpuIdle { state: None, cpu: 0 }),
        event(900_900, State { resched: true, ..idle }, irq_off("__schedule")),
        event(901_000, idle, switch(0, 99)),
        event(901_100, State { tid: 99, ..BOTH }, irq_on("finish_task_switch")),
        event(901_200, State { tid: 99, ..LOCKED }, preempt_on("schedule")),
    ]);
    let found = bound(&mut source(&events), None);
    let of_cpu = &found.cpus[0];
    assert!(found.problems.is_empty() && found.bound_ns.unwrap() < Nanos(10_000), "{found:#?}");
    // The wakeup from idle, without its interrupt.
    assert_eq!(part(of_cpu, PartKind::Psd), 1300);
    assert_eq!(of_cpu.seen.as_ref().map(|seen| seen.latency_ns), Some(Nanos(1000)));
    events.retain(|event| !matches!(event.kind, Kind::CpuIdle { .. }));
    let found = bound(&mut source(&events), None);
    assert!(found.bound_ns.is_none() && found.problems[0].contains("power:cpu_idle"), "{:?}", found.problems);
}

#[test]
fn without_its_events_there_is_no_bound() {
    for (without, named) in [
        (0, "preemptirq:irq_disable:"),
        (1, "preemptirq:irq_enable:"),
        (2, "preemptirq:preempt_disable:"),
        (3, "preemptirq:preempt_enable:"),
        (4, "sched:sched_switch:"),
    ] {
        let mut events = [section(0, 5000, "work"), wakeup(100_000)].concat();
        let n = |event: &Event| match event.kind {
            Kind::IrqDisable { .. } => 0,
            Kind::IrqEnable { .. } => 1,
            Kind::PreemptDisable { .. } => 2,
            Kind::PreemptEnable { .. } => 3,
            Kind::SchedSwitch { .. } => 4,
            _ => 5,
        };
        events.retain(|event| n(event) != without);
        let found = bound(&mut source(&events), None);
        assert_eq!((found.outcome, found.bound_ns, found.cpus.len()), (Outcome::Inconclusive, None, 0));
        assert!(
            found.problems[0].contains(named) && found.problems[0].contains("trace-cmd record"),
            "{:?}",
            found.problems
        );
    }
}

#[test]
fn lost_events_unnamed_interrupts_and_missing_flags_leave_no_bound() {
    let whole = [section(0, 5000, "work"), wakeup(100_000)].concat();
    let found = |events: &[Event]| bound(&mut source(events), None);
    let refused = |events: &[Event], why: &str| {
        let found = found(events);
        assert_eq!((found.outcome, found.bound_ns), (Outcome::Inconclusive, None));
        assert!(found.problems.iter().any(|problem| problem.contains(why)), "{why}: {:?}", found.problems);
    };
    let lost = Event { kind: Kind::LostEvents { count: Some(3) }, ..whole[4].clone() };
    let mut events = whole.clone();
    events.insert(4, lost.clone());
    refused(&events, "CPU 0 lost events");
    // Events that were overwritten before the first one are not part of the recording.
    events = whole.clone();
    events.insert(0, lost);
    assert_eq!(found(&events).bound_ns, found(&whole).bound_ns);
    events = whole.clone();
    events.retain(|event| !matches!(event.kind, Kind::VectorEntry { .. }));
    refused(&events, "no interrupt has an event that names it");
    events = whole.clone();
    events[3].flags = None;
    refused(&events, "1 events have no flags");
    refused(&section(0, 5000, "work"), "sched:sched_switch");
}

#[test]
fn a_deadline_is_judged() {
    let events = [section(0, 5000, "work"), wakeup(100_000)].concat();
    let outcome = |deadline: u64| bound(&mut source(&events), Some(Nanos(deadline))).outcome;
    let limit = bound(&mut source(&events), None).bound_ns.unwrap().0;
    assert_eq!([limit + 1, limit, 1].map(outcome), [Outcome::Pass, Outcome::Fail, Outcome::Fail]);
}

#[test]
fn coarse_times_lengthen_every_part() {
    let events = [section(0, 5000, "work"), wakeup(100_000), late_preemption(200_000)].concat();
    let mut coarse = source(&events);
    coarse.info.resolution_ns = Some(1000);
    let (coarse, fine) = (bound(&mut coarse, None), bound(&mut source(&events), None));
    // Three parts and the interrupt, each up to 1 µs longer, and the interrupt takes up to 1 µs less off its section.
    let longer = coarse.bound_ns.unwrap().0 - fine.bound_ns.unwrap().0;
    assert!((4 * 999..=5 * 999).contains(&longer), "{longer}");
}

/// Composes a recording that has a bound, with what is said about it.
fn said(info: TraceInfo, step: u64, wanted: &[u32]) -> LatencyBound {
    let mut bounds = Bounds::new(1);
    bounds.want(wanted.iter().copied());
    for event in [section(0, 5000, "work"), wakeup(100_000)].concat() {
        bounds.event(&Event { t_ns: event.t_ns / step * step, ..event });
    }
    bounds.finish(&info, None)
}

#[test]
fn coarse_times_unseen_cpus_and_dropped_notes_permit_no_bound() {
    let problem = |found: LatencyBound| {
        assert_eq!((found.outcome, found.bound_ns), (Outcome::Inconclusive, None));
        found.problems.concat()
    };
    assert_eq!(said(TraceInfo::default(), 1, &[0]).outcome, Outcome::Pass);
    assert!(problem(said(TraceInfo::default(), 1000, &[])).contains("the times step by 1.00 µs"));
    assert!(problem(said(TraceInfo::default(), 1, &[0, 3])).contains("CPU 3: no event was recorded"));
    let dropped = TraceInfo { notes_dropped: 2, ..TraceInfo::default() };
    assert!(problem(said(dropped, 1, &[])).contains("2 notes about damage"));
}
