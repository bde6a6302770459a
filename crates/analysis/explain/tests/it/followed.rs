//! Cycles between the calls in which a thread waits for its release. The thread runs on CPU 1; times are in µs.

use crate::rules::{CYCLIC, IDLE, Trace, YES, start};
use punctual_cycles::{Awaited, Takes, WaitCall};
use punctual_explain::{Attribution, Class, Closed, Delay, ExplainOptions, Given, Released};
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

    /// At the end of the trace the thread sleeps, so that the releases of its last cycle are known.
    fn followed(self, awaited: Awaited) -> (Vec<Closed>, u64) {
        let trace = self.switch(1, 90_000, CYCLIC, "S", IDLE);
        let mut source = open(Cursor::new(trace.0.as_bytes()), Options::default()).unwrap();
        let mut attribution = Attribution::new(ExplainOptions { most: 3, ..ExplainOptions::default() });
        attribution.follow(50, awaited);
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
            let delays: u64 = one.delays.iter().map(|delay| delay.ns).sum();
            assert_eq!(one.behind_ns + one.ran_ns + one.blocked_ns + delays, one.end_ns - one.release_ns, "{one:?}");
        }
        (closed, attribution.longest(50).1)
    }
}

fn sleep() -> Awaited {
    Awaited::only(WaitCall::new(CLOCK_NANOSLEEP, &[1, 1], [u64::MAX, u64::MAX]))
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
    assert_eq!((first.behind_ns, first.blocked_ns, first.releases[0].by), (0, 0, Some(0)));
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
    let by_hog =
        |delay: &&Delay| (delay.by.class, delay.ns, delay.sure_ns) == (Class::HigherPriority, 300_000, 300_000);
    assert!(closed[0].delays.iter().any(|delay| by_hog(&delay)), "{closed:?}");
}

/// Some switches are not recorded, for example switches from threads of the first process in a guest with Linux 6.18:
/// the next event of the thread shows that it runs.
#[test]
fn a_preempted_thread_runs_again_by_its_next_event() {
    let hog = ("hog", 90, 9);
    let trace = waiting()
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, CLOCK_NANOSLEEP, 0)
        .switch(1, 3100, CYCLIC, "R", hog)
        .line("hog-90", 1, "d.h..", 3390, "local_timer_entry: vector=236")
        .line("hog-90", 1, "d.h..", 3395, "local_timer_exit: vector=236")
        .calls(3500, CLOCK_NANOSLEEP, 1);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken, closed[0].end_ns, closed[0].ran_ns), (1, 0, 3_500_000, 60_000));
}

/// A timerfd on PREEMPT_RT expires in a thread that runs only when the measured thread waits again: the release is when
/// the timer was due all the same.
#[test]
fn a_timer_that_expires_after_the_call_was_due_before_it() {
    let timer = "hrtimer=00000000000000bb function=timerfd_tmrproc";
    let softirqs = ("ktimers/1", 20, 98);
    let trace = waiting()
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, CLOCK_NANOSLEEP, 0)
        .line(
            "cyclictest-50",
            1,
            "d..1.",
            3050,
            &format!("hrtimer_start: {timer} expires=4000000 softexpires=4000000 mode=ABS|SOFT was_armed=0"),
        )
        .calls(4500, CLOCK_NANOSLEEP, 1)
        .switch(1, 4510, CYCLIC, "S", softirqs)
        .line("ktimers/1-20", 1, "..s1.", 4514, &format!("hrtimer_expire_entry: {timer} now=4513000"))
        .line("ktimers/1-20", 1, "d.s2.", 4516, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .line("ktimers/1-20", 1, "..s1.", 4517, "hrtimer_expire_exit: hrtimer=00000000000000bb")
        .switch(1, 4520, softirqs, "S", CYCLIC)
        .returns(4525, CLOCK_NANOSLEEP, 0)
        .calls(4700, CLOCK_NANOSLEEP, 1);
    let (closed, broken) = trace.followed(sleep());
    assert_eq!((closed.len(), broken), (2, 0));
    let late = &closed[1];
    assert_eq!((late.release_ns, late.behind_ns, late.end_ns), (4_000_000, 500_000, 4_700_000));
    assert!(late.is_timed && late.is_known, "{late:?}");
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

/// The sentence accounts for the time before the thread began, and names what had delayed the cycle before.
#[test]
fn a_cycle_that_began_late_says_so_and_why() {
    let start_timer = |us: u64| {
        format!(
            "hrtimer_start: hrtimer=00000000000000aa function=hrtimer_wakeup expires={0} softexpires={0} \
             mode=ABS|HARD was_armed=0",
            us * 1000
        )
    };
    let again = |trace: Trace, due: u64, now: u64, end: u64| {
        trace.line("cyclictest-50", 1, "d..1.", now, &start_timer(due)).returns(now + 5, CLOCK_NANOSLEEP, 0).calls(
            end,
            CLOCK_NANOSLEEP,
            1,
        )
    };
    let trace = waiting()
        .expire("swapper/1-0", 3002)
        .switch(1, 3040, IDLE, "R", CYCLIC)
        .returns(3042, CLOCK_NANOSLEEP, 0)
        .calls(3100, FUTEX, 0x1000)
        .switch(1, 3120, CYCLIC, "S", YES)
        .line("yes-60", 1, "d..2.", 5200, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .switch(1, 5210, YES, "R", CYCLIC)
        .returns(5220, FUTEX, 0)
        .calls(5300, CLOCK_NANOSLEEP, 1);
    let trace = again(again(trace, 4000, 5305, 5500), 5000, 5505, 5700).switch(1, 90_000, CYCLIC, "S", IDLE);
    let mut source = open(Cursor::new(trace.0.as_bytes()), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions { most: 3, ..ExplainOptions::default() });
    attribution.follow(50, sleep());
    attribution.remember(16);
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    let cause = "the backlog began with a cycle of 2.30 ms: ran ";
    for (release, late) in [(4_000_000, "began 1.30 ms late (87 %)"), (5_000_000, "began 500 µs late (71 %)")] {
        let cycle = attribution.cycle_of(50, release).unwrap();
        let verdict = &cycle.verdict;
        assert!(verdict.contains(&format!("{late}, because the previous cycle had not ended; ran ")), "{verdict}");
        assert!(verdict.contains(cause) && verdict.contains("until yes (pid 60) woke it"), "{verdict}");
        let longest = attribution.longest(50).0.iter().find(|cycle| cycle.release_ns == release).unwrap();
        assert_eq!(longest.verdict, cycle.verdict);
    }
    let first = attribution.cycle_of(50, 3_000_000).unwrap();
    assert!(!first.verdict.contains("backlog") && !first.verdict.contains("late"), "{}", first.verdict);
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
    let (closed, _) = trace.followed(Awaited::only(WaitCall::new(FUTEX, &[0x1000], [!7, 0])));
    assert_eq!(closed.len(), 1);
    assert_eq!((closed[0].releases[0].by, closed[0].is_timed, closed[0].release_ns), (Some(70), false, 3_000_000));
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

const READ: i64 = 0;
const WRITE: i64 = 1;

/// The thread waits in a call on descriptor 3, to which `driver` writes on CPU 0.
fn written(takes: Takes) -> Awaited {
    let of = |number| WaitCall::new(number, &[3], [u64::MAX, 0]);
    Awaited { call: of(READ), takes, by: vec![(70, of(WRITE))] }
}

impl Trace {
    fn driver(self, us: u64, body: &str) -> Self {
        self.line("driver-70", 0, ".....", us, body)
    }

    /// A write of `driver`, which takes 10 µs.
    fn write(self, us: u64) -> Self {
        self.driver(us, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)").driver(us + 10, "sys_exit: NR 1 = 8")
    }

    /// A write of `driver` that wakes the thread, at `us` + 2; the thread runs 20 µs later.
    fn wakes(self, us: u64) -> Self {
        self.driver(us, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)")
            .line("driver-70", 0, "d..2.", us + 2, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
            .driver(us + 10, "sys_exit: NR 1 = 8")
            .switch(1, us + 22, IDLE, "R", CYCLIC)
            .returns(us + 25, READ, 8)
    }

    fn waits(self, us: u64) -> Self {
        self.calls(us, READ, 3).switch(1, us + 10, CYCLIC, "S", IDLE)
    }

    fn waits_in_vain(self, us: u64) -> Self {
        self.calls(us, READ, 3).returns(us + 5, READ, 8)
    }
}

fn driven() -> Trace {
    start().line(
        "idle-0",
        0,
        ".....",
        1500,
        "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
                                              next_comm=driver next_pid=70 next_prio=9",
    )
}

fn released(us: u64) -> Released {
    Released { at_ns: us * 1000, by: Some(70) }
}

/// Data was written while the thread worked: the release is the write, and the cycle is behind by the time until the
/// thread's call.
#[test]
fn a_release_while_the_thread_works_is_the_call_that_made_it() {
    for takes in [Takes::All, Takes::One, Takes::Bytes, Takes::Unknown] {
        let trace = driven().waits(2000).wakes(3000).write(3100).waits_in_vain(3300).waits(3600);
        let (closed, broken) = trace.followed(written(takes));
        assert_eq!((closed.len(), broken), (2, 0), "{takes:?}");
        assert_eq!(closed[0].releases, [released(3002)]);
        let second = &closed[1];
        assert_eq!((second.release_ns, second.behind_ns, second.end_ns), (3_100_000, 200_000, 3_600_000));
        assert!(second.is_known && second.releases == [released(3100)], "{takes:?} {second:?}");
    }
}

#[test]
fn a_counter_gives_all_that_was_added_and_a_queue_one_at_a_time() {
    let trace = || driven().waits(2000).wakes(3000).write(3100).write(3200).waits_in_vain(3300);
    let (closed, _) = trace().waits(3600).followed(written(Takes::All));
    assert_eq!(closed[1].releases, [released(3100), released(3200)]);
    for takes in [Takes::One, Takes::Bytes] {
        let (closed, _) = trace().waits_in_vain(3600).waits(3900).followed(written(takes));
        let taken: Vec<_> = closed.iter().map(|one| (one.is_known, one.releases.clone())).collect();
        assert_eq!(taken, [3002, 3100, 3200].map(|us| (true, vec![released(us)])), "{takes:?}");
    }
    // If there are two events, it is unknown which of them the program takes after poll(2).
    let (closed, _) = trace().waits(3600).followed(written(Takes::Unknown));
    assert!(!closed[1].is_known && closed[1].release_ns == 3_100_000);
}

/// The thread that was woken has not run yet when the counter is added to again.
#[test]
fn releases_before_it_runs_are_of_one_cycle() {
    let trace = driven()
        .waits(2000)
        .driver(3000, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)")
        .line("driver-70", 0, "d..2.", 3002, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .driver(3010, "sys_exit: NR 1 = 8")
        .write(5000)
        .switch(1, 6000, IDLE, "R", CYCLIC)
        .returns(6005, READ, 8)
        .waits(6100);
    let (closed, _) = trace.followed(written(Takes::All));
    assert_eq!((closed.len(), closed[0].release_ns), (1, 3_002_000));
    assert_eq!(closed[0].releases, [released(3002), released(5000)]);
}

/// Whether a write came before the counter was read or after is shown by the next wait.
#[test]
fn a_release_while_the_wait_returns_is_of_this_cycle_or_the_next() {
    let trace = || {
        driven()
            .waits(2000)
            .driver(3000, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)")
            .line("driver-70", 0, "d..2.", 3002, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
            .driver(3010, "sys_exit: NR 1 = 8")
            .driver(3020, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)")
            .switch(1, 3022, IDLE, "R", CYCLIC)
            .driver(3024, "sys_exit: NR 1 = 8")
            .returns(3025, READ, 8)
    };
    let (closed, _) = trace().waits(3300).followed(written(Takes::All));
    assert_eq!(closed[0].releases, [released(3002), released(3020)]);
    let (closed, _) = trace().waits_in_vain(3300).waits(3600).followed(written(Takes::All));
    assert_eq!(closed[0].releases, [released(3002)]);
    assert!(closed[1].is_known && closed[1].releases == [released(3020)], "{closed:?}");
}

/// A futex word is checked before the wait: releases during a cycle belong to that cycle, and if the kernel refuses the
/// wait, the release came after the check.
#[test]
fn a_word_that_has_changed_is_the_next_release() {
    let of = |op: u64| WaitCall::new(FUTEX, &[0x1000, op], [!7, 0x7f]);
    let awaited = Awaited { call: of(0), takes: Takes::Seen, by: vec![(70, of(1))] };
    let wake = |trace: Trace, us: u64| {
        trace.driver(us, "sys_enter: NR 202 (1000, 81, 1, 0, 0, 0)").driver(us + 5, "sys_exit: NR 202 = 0")
    };
    let wait = |trace: Trace, us: u64, result: i64| {
        let called = trace.line("cyclictest-50", 1, ".....", us, "sys_enter: NR 202 (1000, 80, 7, 0, 0, 0)");
        match result {
            0 => called.switch(1, us + 10, CYCLIC, "S", IDLE),
            _ => called.returns(us + 5, FUTEX, result),
        }
    };
    let first = driven()
        .line("cyclictest-50", 1, ".....", 1990, "sys_enter: NR 202 (1000, 80, 7, 0, 0, 0)")
        .switch(1, 2000, CYCLIC, "S", IDLE)
        .driver(3000, "sys_enter: NR 202 (1000, 81, 1, 0, 0, 0)")
        .line("driver-70", 0, "d..2.", 3002, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .driver(3010, "sys_exit: NR 202 = 1")
        .switch(1, 3022, IDLE, "R", CYCLIC)
        .returns(3025, FUTEX, 0);
    let (again, early) = (Trace(first.0.clone()), Trace(first.0.clone()));
    let (closed, _) = wait(wake(first, 3100), 3300, 0).followed(awaited.clone());
    assert_eq!(closed[0].releases, [released(3002), released(3100)]);
    // The thread is woken on its way to sleep.
    let early = wake(early, 3100)
        .line("cyclictest-50", 1, ".....", 3300, "sys_enter: NR 202 (1000, 80, 7, 0, 0, 0)")
        .driver(3301, "sys_enter: NR 202 (1000, 81, 1, 0, 0, 0)")
        .line("driver-70", 0, "d..2.", 3302, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .driver(3303, "sys_exit: NR 202 = 1")
        .returns(3305, FUTEX, 0);
    let (closed, _) = wait(early, 3500, 0).followed(awaited.clone());
    assert_eq!(closed[0].releases, [released(3002), released(3100)]);
    assert!(closed[1].is_known && closed[1].releases == [released(3302)], "{closed:?}");
    let (closed, _) = wait(wait(wake(wake(again, 3100), 3290), 3300, -11), 3500, 0).followed(awaited);
    assert_eq!(closed[0].releases, [released(3002), released(3100)]);
    assert!(closed[1].is_known && closed[1].releases == [released(3290)], "{closed:?}");
}

#[test]
fn what_else_may_have_released_it_makes_a_release_unknown() {
    let device = |trace: Trace, us: u64| {
        trace
            .line("driver-70", 0, "d.h2.", us, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
            .switch(1, us + 20, IDLE, "R", CYCLIC)
            .returns(us + 25, READ, 8)
    };
    let trace = device(driven().waits(2000), 3000).write(3100).waits_in_vain(3300).waits(3600);
    let (closed, _) = trace.followed(written(Takes::One));
    assert!(closed[0].is_known && closed[0].releases[0].by == Some(0));
    assert!(!closed[1].is_known, "{closed:?}");
    let (closed, _) = driven().waits(2000).wakes(3000).waits_in_vain(3300).waits(3600).followed(written(Takes::One));
    assert!(!closed[1].is_known && closed[1].releases[0].by.is_none());
}

/// try_to_wake_up() records the wakeup, then waits until the thread has left its CPU.
#[test]
fn a_thread_woken_on_its_way_to_sleep_was_released_then() {
    let trace = driven()
        .calls(2000, READ, 3)
        .driver(2003, "sys_enter: NR 1 (3, 1000, 8, 0, 0, 0)")
        .line("driver-70", 0, "d..2.", 2005, "sched_waking: comm=cyclictest pid=50 prio=19 target_cpu=001")
        .switch(1, 2006, CYCLIC, "S", YES)
        .driver(2009, "sys_exit: NR 1 = 8")
        .switch(1, 2306, YES, "R", CYCLIC)
        .returns(2310, READ, 8)
        .waits(2400);
    let (closed, broken) = trace.followed(written(Takes::All));
    assert_eq!((closed.len(), broken, closed[0].release_ns), (1, 0, 2_005_000));
    assert!(closed[0].is_known && closed[0].releases == [released(2005)]);
    let waited: u64 = closed[0].delays.iter().map(|delay| delay.ns).sum();
    assert_eq!(waited, 300_000, "{closed:?}");
}

#[test]
fn whom_a_thread_releases_in_its_cycle_is_known() {
    let wait = || WaitCall::new(READ, &[5], [u64::MAX, 0]);
    let by = vec![(50, WaitCall::new(WRITE, &[4], [u64::MAX, 0]))];
    let trace = driven()
        .waits(2000)
        .wakes(3000)
        .line("cyclictest-50", 1, ".....", 3100, "sys_enter: NR 1 (4, 1000, 8, 0, 0, 0)")
        .line("cyclictest-50", 1, ".....", 3110, "sys_exit: NR 1 = 8")
        .waits(3200);
    let mut source = open(Cursor::new(trace.0.as_bytes()), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    attribution.follow(50, written(Takes::All));
    attribution.follow(60, Awaited { call: wait(), takes: Takes::One, by });
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    assert_eq!(attribution.closed()[0].given, [Given { at_ns: 3_100_000, to: 60 }]);
}
