//! Any stream of events: labels add up, nothing panics.

use crate::common;

use proptest::prelude::*;
use punctual_explain::{Attribution, ExplainOptions, Explanation, Facts, Measured, Timelines, Victims};
use punctual_trace::{Comm, Context, CpuMask, Event, Flags, Kind, Task, TaskState, TraceInfo, Vector};

fn task() -> impl Strategy<Value = Task> {
    (0..7i32, prop::sample::select(vec![-1, 0, 19, 19, 49, 98, 120, 139])).prop_map(|(tid, prio)| Task {
        tid,
        comm: Some(Comm::new(
            ["swapper", "cyclictest", "rogue", "yes", "ktimers/1", "irq/9-x", "cyclictest"][tid as usize].as_bytes(),
        )),
        prio: (prio != 139).then_some(prio),
    })
}

fn sched() -> impl Strategy<Value = Kind> {
    let state = prop::sample::select(b"RSDXZ?".to_vec()).prop_map(|letter| TaskState { letter, preempted: false });
    let target = || prop::option::of(0..4u32);
    prop_oneof![
        4 => (task(), state, task()).prop_map(|(prev, prev_state, next)| Kind::SchedSwitch { prev, prev_state, next }),
        3 => (task(), target()).prop_map(|(task, target_cpu)| Kind::SchedWaking { task, target_cpu }),
        2 => (task(), target()).prop_map(|(task, target_cpu)| Kind::SchedWakeup { task, target_cpu, by: None }),
        1 => (task(), 0..4u32, 0..4u32).prop_map(|(task, from_cpu, to_cpu)| Kind::SchedMigrate { task, from_cpu, to_cpu }),
        1 => (task(), -1..140i32).prop_map(|(task, new_prio)| Kind::PiSetprio { task, new_prio }),
        1 => (0..3u64, prop::option::of(0..70u32)).prop_map(|(lock, flags)| Kind::ContentionBegin { lock, flags }),
        1 => (0..3u64).prop_map(|lock| Kind::ContentionEnd { lock }),
        1 => (0..7i32, any::<u64>()).prop_map(|(tid, runtime_ns)| Kind::StatRuntime { tid, comm: None, runtime_ns }),
    ]
}

fn irq() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (0..3u32).prop_map(|irq| Kind::IrqEntry { irq, name: None }),
        (0..3u32).prop_map(|irq| Kind::IrqExit { irq, handled: None }),
        Just(Kind::VectorEntry { vector: Vector::LocalTimer, number: None }),
        Just(Kind::VectorExit { vector: Vector::LocalTimer, number: None }),
        Just(Kind::VectorEntry { vector: Vector::Reschedule, number: None }),
        Just(Kind::VectorExit { vector: Vector::Reschedule, number: None }),
        (0..3u32).prop_map(|vec| Kind::SoftirqEntry { vec }),
        (0..3u32).prop_map(|vec| Kind::SoftirqExit { vec }),
        any::<i64>().prop_map(|delta_ns| Kind::NmiHandler { handler: None, delta_ns, handled: None }),
        any::<u64>().prop_map(|mask| Kind::IpiSend { target: Some(CpuMask::Low64(mask)), what: None }),
        Just(Kind::IrqDisable { caller: None, parent: None }),
        Just(Kind::IrqEnable { caller: None, parent: None }),
        Just(Kind::PreemptDisable { caller: None, parent: None }),
        Just(Kind::PreemptEnable { caller: None, parent: None }),
        Just(Kind::LostEvents { count: None }),
        Just(Kind::Restart),
    ]
}

fn timer() -> impl Strategy<Value = Kind> {
    let time = || prop_oneof![0..40_000_000i64, any::<i64>()];
    prop_oneof![
        (0..3u64, time()).prop_map(|(timer, expires_ns)| Kind::HrtimerStart {
            timer,
            function: None,
            expires_ns,
            softexpires_ns: None
        }),
        (0..3u64, prop::option::of(time())).prop_map(|(timer, now_ns)| Kind::HrtimerExpireEntry {
            timer,
            function: None,
            now_ns
        }),
        (0..3u64).prop_map(|timer| Kind::HrtimerExpireExit { timer }),
        (0..3u64).prop_map(|timer| Kind::HrtimerCancel { timer }),
    ]
}

fn event() -> impl Strategy<Value = (u64, u32, Option<i32>, Option<bool>, Kind)> {
    let step = prop_oneof![6 => 0..200_000u64, 1 => 0..9_000_000u64, 1 => Just(0)];
    let kind = prop_oneof![5 => sched(), 3 => irq(), 3 => timer()];
    (step, prop_oneof![9 => 0..3u32, 1 => any::<u32>()], prop::option::of(0..7i32), any::<Option<bool>>(), kind)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn labels_add_up(stream in prop::collection::vec(event(), 0..300), which in 0..3u8, back in any::<bool>()) {
        let victims = match which {
            0 => Victims::Measuring,
            1 => Victims::AllRealTime,
            _ => Victims::Tid(1),
        };
        let info = TraceInfo::default();
        let mut attribution = Attribution::new(ExplainOptions { victims, most: 50, cycles: true, ..ExplainOptions::default() });
        let (mut t_ns, mut events) = (1_000_000u64, Vec::new());
        for (step, cpu, tid, resched, kind) in stream {
            t_ns = if back && step == 0 { t_ns / 2 } else { t_ns + step };
            let context = context(step);
            let flags = resched.map(|_| Flags { need_resched: resched, context, ..Flags::default() });
            let event = Event { t_ns, cpu, tid, comm: None, flags, kind };
            attribution.event(&event, &info);
            events.push(event);
        }
        check(&attribution.finish(&info), &events)?;
    }

    /// A realistic sequence of events of a thread, with any events in between, so that the stream contains cycles.
    #[test]
    fn labels_add_up_in_lives(steps in prop::collection::vec((0..8u8, event()), 20..300)) {
        let info = TraceInfo::default();
        let options = ExplainOptions { victims: Victims::Tid(1), most: 50, cycles: true, ..ExplainOptions::default() };
        let mut attribution = Attribution::new(options);
        let (mut t_ns, mut events) = (1_000_000u64, Vec::new());
        for (step, (later, cpu, _, resched, any)) in steps {
            let flags = resched.map(|_| Flags { need_resched: resched, ..Flags::default() });
            for kind in life(step, t_ns, any) {
                t_ns += later / 8;
                let cpu = if step == 7 { cpu } else { 1 };
                let event = Event { t_ns, cpu, tid: None, comm: None, flags, kind };
                attribution.event(&event, &info);
                events.push(event);
            }
        }
        let found = attribution.finish(&info);
        check(&found, &events)?;
        measured(&found, &events)?;
    }
}

/// Context of an event, selected by an arbitrary number.
fn context(any: u64) -> Option<Context> {
    [None, Some(Context::Task), Some(Context::Softirq), Some(Context::Hardirq)][(any % 4) as usize]
}

/// The same wakeups, each with a clock reading some time after its switch: labels add up to that time.
fn measured(found: &Explanation, events: &[Event]) -> Result<(), TestCaseError> {
    let info = TraceInfo::default();
    for (n, victim) in found.victims.iter().take(8).enumerate() {
        let moments = victim.moments.unwrap();
        let one = Measured { tid: 1, due_ns: moments.t0_ns, woke_ns: moments.t3_ns + 40_000 * n as u64 };
        let mut attribution = Attribution::new(ExplainOptions { measured: vec![one], ..ExplainOptions::default() });
        events.iter().for_each(|event| attribution.event(event, &info));
        let again = attribution.finish(&info);
        // Another trace may begin before the clock reading; a wakeup that took no time was not late.
        prop_assert!(again.victims.len() == 1 || n > 0 || victim.latency_ns == 0);
        let Some(with) = again.victims.first() else { continue };
        prop_assert_eq!(with.latency_ns, one.woke_ns - one.due_ns);
        prop_assert_eq!(with.causes.iter().map(|c| c.ns).sum::<u64>(), with.latency_ns);
        let mut timelines = Timelines::new(&again.victims, Facts::default());
        events.iter().for_each(|event| timelines.event(event, &info));
        common::check(&timelines.finish().remove(0).expect("drawn"), with);
    }
    Ok(())
}

/// One step of thread 1 on CPU 1, as a sequence of events.
fn life(step: u8, t_ns: u64, any: Kind) -> Vec<Kind> {
    let task = |tid: i32, prio| Task { tid, comm: None, prio: Some(prio) };
    let (own, low, high) = (task(1, 19), task(3, 120), task(2, 9));
    let (timer, due) = (9, t_ns as i64 + 100_000);
    let state = |letter| TaskState { letter, preempted: false };
    let switch = |prev, letter, next| Kind::SchedSwitch { prev, prev_state: state(letter), next };
    let woken = Kind::SchedWaking { task: own, target_cpu: Some(1) };
    let start = Kind::HrtimerStart { timer, function: None, expires_ns: due, softexpires_ns: None };
    let expire = Kind::HrtimerExpireEntry { timer, function: None, now_ns: Some(due) };
    let entry = Kind::VectorEntry { vector: Vector::LocalTimer, number: None };
    let exit = Kind::VectorExit { vector: Vector::LocalTimer, number: None };
    match step {
        0..3 => vec![start, switch(own, b'S', low), entry, expire, woken, exit, switch(low, b'R', own)],
        3 => vec![start, switch(own, b'S', high), entry, expire, woken, exit, switch(high, b'S', own)],
        4 => vec![switch(own, b'R', high), switch(high, b'S', own)],
        5 => vec![switch(own, b'D', low), woken, switch(low, b'R', own)],
        6 => vec![entry, exit],
        _ => vec![any],
    }
}

fn check(found: &Explanation, events: &[Event]) -> Result<(), TestCaseError> {
    prop_assert!(found.victims.len() <= 50);
    for cycle in &found.cycles {
        let delays: u64 = cycle.delays.iter().map(|c| c.ns).sum();
        let blocked: u64 = cycle.blocked.iter().map(|b| b.ns).sum();
        prop_assert_eq!(cycle.ran_ns + delays + blocked, cycle.length_ns);
    }
    for victim in &found.victims {
        let sum: u64 = victim.causes.iter().map(|c| c.ns).sum();
        prop_assert_eq!(sum, victim.latency_ns);
        let moments = victim.moments.unwrap();
        prop_assert_eq!(moments.t3_ns - moments.t0_ns, victim.latency_ns);
        prop_assert!(moments.t0_ns <= moments.t2_ns && moments.t2_ns <= moments.t3_ns);
        prop_assert!((0.0..=1.0).contains(&victim.coverage));
        for link in &victim.chain {
            prop_assert!(link.ns >= 20_000 && link.from_ns + link.ns <= moments.t3_ns, "{link:?}");
        }
    }
    let mut again = Timelines::new(&found.victims, Facts::default());
    events.iter().for_each(|event| again.event(event, &TraceInfo::default()));
    for (victim, timeline) in found.victims.iter().zip(again.finish()) {
        common::check(&timeline.expect("the second pass finds what the first did"), victim);
    }
    Ok(())
}
