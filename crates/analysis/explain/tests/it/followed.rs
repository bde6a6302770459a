//! Cycles between the calls in which a thread waits for its release. CPU 1 is the thread's; times in µs.

use crate::rules::{CYCLIC, IDLE, Trace, YES, start};
use punctual_cycles::WaitCall;
use punctual_explain::{Attribution, Class, Closed, ExplainOptions};
use punctual_trace::{Options, open};
use std::io::Cursor;

const CLOCK_NANOSLEEP: i64 = 230;
const FUTEX: i64 = 202;

impl Trace {
    fn calls(self, us: u64, number: i64, first: u64) -> Self {
        self.line(
            "cyclictest-50",
            1,
            ".....",
            us,
            &format!("sys_enter: NR {number} ({first:x}, 1, 7f0000000000, 0, 0, 0)"),
        )
    }

    fn returns(self, us: u64, number: i64, result: i64) -> Self {
        self.line("cyclictest-50", 1, ".....", us, &format!("sys_exit: NR {number} = {result}"))
    }

    /// A whole cycle: due at `due`, on the CPU 40 µs later, back in its call after `work`.
    fn cycle(self, due: u64, work: u64) -> Self {
        self.expire("swapper/1-0", due + 2)
            .switch(1, due + 40, IDLE, "R", CYCLIC)
            .returns(due + 42, CLOCK_NANOSLEEP, 0)
            .calls(due + 42 + work, CLOCK_NANOSLEEP, 1)
    }

    fn followed(&self, wait: WaitCall) -> (Vec<Closed>, u64) {
        let mut source = open(Cursor::new(self.0.as_bytes()), Options::default()).unwrap();
        let mut attribution = Attribution::new(ExplainOptions { most: 3, ..ExplainOptions::default() });
        attribution.follow(50, wait);
        while let Some(event) = source.next() {
            attribution.event(&event, source.info());
        }
        let closed = attribution.closed();
        for cycle in attribution.longest(50).0 {
            let delays: u64 = cycle.delays.iter().map(|cause| cause.ns).sum();
            let blocked: u64 = cycle.blocked.iter().map(|blocked| blocked.ns).sum();
            assert_eq!(cycle.behind_ns + cycle.ran_ns + delays + blocked, cycle.length_ns, "{cycle:?}");
        }
        for one in &closed {
            let delays: u64 = one.delays.iter().map(|(_, ns)| ns).sum();
            assert_eq!(one.behind_ns + one.ran_ns + one.blocked_ns + delays, one.end_ns - one.release_ns, "{one:?}");
        }
        (closed, attribution.longest(50).1)
    }
}

fn sleep() -> WaitCall {
    WaitCall::new(CLOCK_NANOSLEEP, &[1, 1], [u64::MAX, u64::MAX])
}

/// The first call, by which the thread becomes known.
fn waiting() -> Trace {
    start().calls(1980, CLOCK_NANOSLEEP, 1).sleep(2000, 3000, IDLE)
}

#[test]
fn a_cycle_lasts_from_the_due_time_to_the_next_call() {
    let trace = waiting().cycle(3000, 300).sleep(3360, 4000, IDLE).cycle(4000, 200).sleep(4260, 5000, IDLE);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken), (2, 0));
    let first = &closed[0];
    assert_eq!((first.release_ns, first.start_ns, first.end_ns), (3_000_000, 3_042_000, 3_342_000));
    assert!(first.is_timed && !first.is_next && closed[1].is_next);
    assert_eq!((first.behind_ns, first.blocked_ns, first.woken_by), (0, 0, None));
    assert_eq!(closed[1].end_ns - closed[1].release_ns, 242_000);
}

#[test]
fn a_call_within_the_cycle_does_not_end_it() {
    let trace = waiting()
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, CLOCK_NANOSLEEP, 0)
        .calls(3100, FUTEX, 0x1000)
        .switch(1, 3120, CYCLIC, "S", YES)
        .line("yes-60", 1, "d..2.", 3200, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .switch(1, 3210, YES, "R", CYCLIC)
        .returns(3220, FUTEX, 0)
        .calls(3300, CLOCK_NANOSLEEP, 1);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken), (1, 0));
    assert_eq!((closed[0].blocked_ns, closed[0].end_ns), (80_000, 3_300_000));
}

#[test]
fn a_preemption_is_charged_to_who_ran() {
    let hog = ("hog", 90, 9);
    let trace = waiting()
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, CLOCK_NANOSLEEP, 0)
        .switch(1, 3100, CYCLIC, "R", hog)
        .switch(1, 3400, hog, "S", CYCLIC)
        .calls(3500, CLOCK_NANOSLEEP, 1);
    let (closed, _) = trace.followed(sleep());
    assert!(closed[0].delays.contains(&(Class::HigherPriority, 300_000)), "{closed:?}");
}

/// The previous cycle lasted beyond the release: the timer expires at once, and the thread does not sleep.
#[test]
fn a_release_that_has_passed_counts_from_when_it_was_due() {
    let start_timer = "hrtimer_start: hrtimer=00000000000000aa function=hrtimer_wakeup expires=4000000 softexpires=4000000 \
                       mode=ABS|HARD was_armed=0";
    let trace = waiting()
        .cycle(3000, 1_458)
        .line("cyclictest-50", 1, "d..1.", 4505, start_timer)
        .line("cyclictest-50", 1, "d.h..", 4506, "local_timer_entry: vector=236")
        .line(
            "cyclictest-50",
            1,
            "d.h..",
            4507,
            "hrtimer_expire_entry: hrtimer=00000000000000aa function=hrtimer_wakeup now=4507000",
        )
        .line("cyclictest-50", 1, "d.h2.", 4508, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .line("cyclictest-50", 1, "d.h..", 4509, "hrtimer_expire_exit: hrtimer=00000000000000aa")
        .line("cyclictest-50", 1, "d.h..", 4510, "local_timer_exit: vector=236")
        .returns(4515, CLOCK_NANOSLEEP, 0)
        .calls(4700, CLOCK_NANOSLEEP, 1);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken), (2, 0));
    let late = &closed[1];
    assert_eq!((late.release_ns, late.behind_ns, late.end_ns), (4_000_000, 500_000, 4_700_000));
    assert!(late.is_timed);
}

#[test]
fn a_thread_may_be_released_by_another() {
    let driver = ("driver", 70, 9);
    let waits = |trace: Trace, us: u64| trace.calls(us, FUTEX, 0x1004).switch(1, us + 10, CYCLIC, "S", driver);
    let released = |trace: Trace, us: u64| {
        trace
            .line("driver-70", 1, "d..2.", us, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
            .switch(1, us + 20, driver, "S", CYCLIC)
            .returns(us + 25, FUTEX, 0)
    };
    let trace = waits(released(waits(start(), 2000), 3000), 3100);
    let (closed, _) = trace.followed(WaitCall::new(FUTEX, &[0x1000], [!7, 0]));
    assert_eq!(closed.len(), 1);
    assert_eq!((closed[0].woken_by, closed[0].is_timed, closed[0].release_ns), (Some(70), false, 3_000_000));
}

#[test]
fn between_lost_events_nothing_is_known() {
    let trace = waiting().cycle(3000, 300).sleep(3360, 4000, IDLE);
    let lost = Trace(trace.0 + "CPU:1 [LOST 12345 EVENTS]\n");
    let trace = lost.calls(8_000, CLOCK_NANOSLEEP, 1).sleep(8_020, 9_000, IDLE).cycle(9_000, 200);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken), (2, 1));
    assert!(!closed[1].is_next, "{closed:?}");
}

#[test]
fn a_signal_that_stops_the_sleep_for_a_while_is_no_release() {
    let trace = waiting()
        .line("yes-60", 0, "d..2.", 2500, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .switch(1, 2510, IDLE, "R", CYCLIC)
        .returns(2515, CLOCK_NANOSLEEP, -516)
        .switch(1, 2520, CYCLIC, "S", IDLE)
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, 219, 0)
        .calls(3300, CLOCK_NANOSLEEP, 1);
    let (closed, _) = trace.followed(sleep());
    assert_eq!(closed.iter().map(|one| one.release_ns).collect::<Vec<_>>(), [3_000_000]);
}
