use proptest::prelude::*;
use punctual_model::Doing;
use punctual_sched::account::{Accounts, Class, Watched, account};
use punctual_sched::joined::coarse;
use punctual_trace::{Comm, Event, Kind, Task, TaskState};

const MS: u64 = 1_000_000;

/// Thread 99 is another real-time task, and 98 another ordinary one.
fn task(tid: i32) -> Task {
    let prio = Some(if tid == 99 { 0 } else { 120 });
    Task { tid, comm: Some(Comm::new(format!("t{tid}").as_bytes())), prio }
}

fn event(ms: u64, cpu: u32, kind: Kind) -> Event {
    Event { t_ns: ms * MS, cpu, tid: None, comm: None, flags: None, kind }
}

fn switch(ms: u64, prev: i32, state: u8, next: i32) -> Event {
    let prev_state = TaskState { letter: state, preempted: false };
    event(ms, 1, Kind::SchedSwitch { prev: task(prev), prev_state, next: task(next) })
}

fn wake(ms: u64, tid: i32) -> Event {
    event(ms, 0, Kind::SchedWaking { task: task(tid), target_cpu: Some(1) })
}

fn watched(tid: i32, from: u64, to: u64, is_real_time: bool) -> Watched {
    let class = if is_real_time { Class::RealTime } else { Class::Ordinary };
    Watched { tid, from: from * MS, to: to * MS, class }
}

/// FIFO thread 10 and ordinary thread 20 run on CPU 1. Thread 10 is prevented from running for 50 ms, and another task
/// runs for 5 ms.
fn held() -> Accounts {
    let events = [
        wake(100, 10),
        switch(101, 0, b'R', 10),
        wake(104, 20),
        switch(1051, 10, b'R', 20),
        switch(1101, 20, b'R', 10),
        switch(1200, 10, b'R', 99),
        switch(1205, 99, b'S', 10),
        switch(1300, 10, b'S', 20),
        switch(1500, 20, b'S', 0),
    ];
    account(events.into_iter(), &[watched(10, 100, 1300, true), watched(20, 104, 1500, false)], None, 100 * MS)
}

#[test]
fn run_wait_and_sleep_add_up_to_the_elapsed_time() {
    let accounts = held();
    let [a, b] = &accounts.spent[..] else { panic!() };
    assert_eq!((a.on_cpu / MS, a.waited / MS, a.slept, a.others / MS), (1144, 56, 0, 5));
    assert_eq!((b.on_cpu / MS, b.waited / MS, b.slept, b.others / MS), (250, 1146, 0, 5));
    assert_eq!((b.behind[0] / MS, b.behind[1] / MS), (1141, 250));
    assert_eq!(accounts.switches, 5);
}

#[test]
fn what_held_a_real_time_thread_and_who_else_ran_is_named() {
    let accounts = held();
    assert_eq!(accounts.held.len(), 1, "{:?}", accounts.held);
    assert_eq!((accounts.held[0].from_ns.0 / MS, accounts.held[0].lasted_ns.0 / MS), (951, 50));
    assert_eq!(
        (accounts.others[0].comm.as_str(), accounts.others[0].took_ns.0 / MS),
        ("t99", 10),
        "of both that waited"
    );
}

#[test]
fn ordinary_tasks_of_others_count_only_where_nobody_was_to_run() {
    let events =
        || [wake(0, 10), switch(0, 0, b'R', 10), switch(950, 10, b'R', 98), switch(1000, 98, b'R', 10)].into_iter();
    let alone = account(events(), &[watched(10, 0, 1100, true)], None, 0);
    assert_eq!((alone.spent[0].others / MS, alone.held.len()), (50, 1), "no ordinary thread of ours wants the CPU");
    let waits = [wake(0, 20)].into_iter().chain(events());
    let beside = account(waits, &[watched(10, 0, 1100, true), watched(20, 0, 1100, false)], None, 0);
    assert_eq!(beside.spent[0].others, 0, "the prediction has it stand aside");
    assert_eq!(beside.spent[1].others / MS, 50, "and the ordinary one run");
    let throttled = Watched { class: Class::Throttled, ..watched(10, 0, 1100, true) };
    let throttled = account(events(), &[throttled], None, 0);
    assert_eq!((throttled.spent[0].others, throttled.held.len()), (0, 1), "throttled whoever wants the CPU");
    let server = Watched { class: Class::Deadline, ..watched(10, 0, 1100, true) };
    let budget = account(events(), &[server], None, 0);
    assert_eq!((budget.spent[0].others, budget.held.len()), (0, 0), "its budget was used up");
}

#[test]
fn a_sleep_in_the_middle_is_a_sleep() {
    let events = [wake(0, 10), switch(0, 0, b'R', 10), switch(5, 10, b'D', 0), wake(8, 10), switch(9, 0, b'R', 10)];
    let spent = account(events.into_iter(), &[watched(10, 0, 20, true)], None, 0).spent.remove(0);
    assert_eq!((spent.on_cpu / MS, spent.waited / MS, spent.slept / MS), (16, 1, 3));
}

#[test]
fn a_switch_that_is_missing_is_counted() {
    let idle = account([wake(1, 10), switch(5, 10, b'S', 0)].into_iter(), &[watched(10, 0, 9, true)], None, 0);
    assert_eq!(
        (idle.missing, idle.spent[0].on_cpu / MS, idle.spent[0].waited),
        (0, 4, 0),
        "an idle CPU runs it at once"
    );
    let events = [switch(0, 0, b'R', 10), switch(5, 10, b'S', 0), switch(7, 10, b'S', 0)];
    assert_eq!(account(events.into_iter(), &[watched(10, 0, 9, true)], None, 0).missing, 1, "nothing woke it");
    let both = [wake(0, 20), wake(0, 10), switch(1, 0, b'R', 20), switch(5, 10, b'S', 0)];
    let accounts = account(both.into_iter(), &[watched(10, 0, 9, true), watched(20, 0, 9, true)], None, 0);
    assert_eq!(accounts.missing, 1, "the other one left unseen");
    assert_eq!(held().missing, 0);
}

/// On a kernel that does not record switches from the idle task of CPU 1, only the time at which the CPU becomes idle
/// is known.
#[test]
fn threads_that_come_to_an_idle_cpu_run_at_once_though_the_switch_is_missing() {
    let moved = event(20, 0, Kind::SchedMigrate { task: task(10), from_cpu: 0, to_cpu: 1 });
    let events = [switch(0, 99, b'S', 98), wake(2, 10), switch(10, 98, b'S', 0), moved, switch(50, 10, b'S', 0)];
    let accounts = account(events.into_iter(), &[watched(10, 0, 60, false)], None, 0);
    let spent = &accounts.spent[0];
    assert_eq!((accounts.missing, spent.waited / MS, spent.on_cpu / MS, spent.slept / MS), (0, 18, 30, 12));
    assert_eq!(spent.on_cpu + spent.waited + spent.slept, 60 * MS);
}

#[test]
fn a_task_of_others_that_ran_unseen_from_idle_was_waited_for() {
    let events = [switch(0, 98, b'S', 0), wake(5, 10), switch(25, 99, b'S', 10), switch(30, 10, b'S', 0)];
    let accounts = account(events.into_iter(), &[watched(10, 5, 30, false)], None, 0);
    assert_eq!((accounts.missing, accounts.spent[0].waited / MS, accounts.spent[0].others / MS), (0, 20, 20));
    assert_eq!((accounts.others[0].comm.as_str(), accounts.others[0].took_ns.0 / MS), ("t99", 20));
}

/// The switch from thread 99 back to thread 10 is missing. It may have occurred at any time from 10 to 50 ms.
#[test]
fn a_wait_behind_a_task_that_left_unseen_is_as_the_kernel_counted_it() {
    let events =
        || [switch(0, 0, b'R', 10), switch(10, 10, b'R', 99), switch(50, 10, b'R', 98), switch(52, 98, b'S', 10)];
    let spent = || account(events().into_iter(), &[watched(10, 0, 60, false)], None, 0).spent.remove(0);
    assert_eq!((spent().waited / MS, spent().on_cpu / MS, spent().unclear / MS), (2, 58, 40));
    for (counted, waited) in [(0, 2), (2, 2), (5, 5), (42, 42), (60, 42)] {
        let mut spent = spent();
        assert!(spent.settle(0, Some(counted * MS)));
        assert_eq!((spent.waited / MS, spent.on_cpu / MS), (waited, 60 - waited), "counted {counted}");
        assert_eq!(spent.others / MS, waited);
    }
    assert!(!spent().settle(0, None), "without what the kernel counted it is not known");
    assert!(
        account([switch(0, 0, b'R', 10)].into_iter(), &[watched(10, 0, 60, false)], None, 0).spent[0].settle(0, None)
    );
}

fn expiry(timer: u64, ms: u64) -> Event {
    event(ms, 0, Kind::HrtimerExpireEntry { timer, function: None, now_ns: None })
}

#[test]
fn the_first_period_of_throttling_since_the_start_counts() {
    let period = |expiries: &[u64]| account(expiries.iter().map(|ms| expiry(1, *ms)), &[], None, 5_000 * MS).period;
    assert_eq!(period(&[]), None);
    assert_eq!(period(&[3_100, 4_100]), Some(-900_000_000), "the last one before it");
    assert_eq!(period(&[4_100, 5_200, 6_200]), Some(200_000_000));
    let groups = account([expiry(1, 5_200), expiry(2, 5_700)].into_iter(), &[], None, 5_000 * MS);
    assert_eq!(groups.period, None, "which of them throttles the threads is not known");
}

#[test]
fn an_interval_that_ends_with_a_period_of_throttling_is_marked() {
    let ends = |ms| {
        let events = [switch(0, 0, b'R', 10), switch(950, 10, b'R', 98), expiry(1, ms), switch(1000, 98, b'R', 10)];
        account(events.into_iter(), &[watched(10, 0, 1100, true)], None, 0).held[0].ends_at_period
    };
    assert!(ends(1000));
    assert!(!ends(980), "the thread was still held after the timer");
}

/// The switch from ordinary thread 98 back to thread 10 is missing: thread 98 may have left at once.
#[test]
fn a_thread_that_ran_unseen_was_not_held_for_that_time() {
    let events = [switch(0, 0, b'R', 10), switch(10, 10, b'R', 98), switch(50, 10, b'R', 98), switch(52, 98, b'S', 10)];
    let held = account(events.into_iter(), &[watched(10, 0, 60, true)], None, 0).held;
    assert_eq!(held.iter().map(|held| (held.from_ns.0 / MS, held.lasted_ns.0 / MS)).collect::<Vec<_>>(), [(50, 2)]);
}

/// The thread is throttled and no other task is runnable. Only the kernel's counter shows when it continued.
#[test]
fn a_thread_that_was_set_aside_for_an_idle_cpu_waited_as_long_as_the_kernel_counted() {
    let events = [wake(0, 10), switch(0, 0, b'R', 10), switch(5, 10, b'R', 0), switch(50, 10, b'S', 0)];
    let mut spent = account(events.into_iter(), &[watched(10, 0, 60, true)], None, 0).spent.remove(0);
    assert_eq!((spent.waited, spent.unclear / MS), (0, 45));
    assert!(spent.settle(0, Some(30 * MS)));
    assert_eq!((spent.waited / MS, spent.on_cpu / MS, spent.slept / MS, spent.others), (30, 20, 10, 0));
}

#[test]
fn a_trace_without_the_threads_has_no_switches() {
    assert_eq!(account([switch(1, 7, b'S', 8)].into_iter(), &[watched(10, 0, 9, true)], None, 0).switches, 0);
}

#[test]
fn short_turns_are_drawn_as_one() {
    let mut events = vec![wake(0, 10), wake(0, 20), switch(0, 0, b'R', 10)];
    for n in 1..500 {
        let (prev, next) = if n % 2 == 1 { (10, 20) } else { (20, 10) };
        events.push(switch(n, prev, b'R', next));
    }
    let accounts = account(events.into_iter(), &[watched(10, 0, 500, false), watched(20, 0, 900, false)], None, 0);
    assert!(accounts.spans.len() > 990);
    let drawn = coarse(&accounts.spans, 100);
    assert!(drawn.len() <= 4, "{drawn:?}");
    assert!(drawn.iter().any(|span| span.thread == 0 && span.doing == Doing::Shares));
    let whole = |spans: &[punctual_model::GanttSpan]| spans.iter().map(|s| s.to_ns.0 - s.from_ns.0).sum::<u64>();
    assert_eq!(whole(&drawn), whole(&accounts.spans), "nothing is lost or doubled");
}

proptest! {
    #[test]
    fn no_trace_makes_more_or_less_time_than_there_was(steps in proptest::collection::vec((0u64..50, 0u8..4, any::<bool>()), 0..200)) {
        let (mut t, mut events, mut current) = (0, Vec::new(), 0);
        for (wait, who, asleep) in steps {
            t += wait;
            let next = [0, 10, 20, 99][usize::from(who)];
            events.push(wake(t, next));
            events.push(switch(t, current, if asleep { b'S' } else { b'R' }, next));
            current = next;
        }
        let threads = [watched(10, 20, 700, true), watched(20, 0, 900, false)];
        let accounts = account(events.into_iter(), &threads, None, 0);
        for (spent, watched) in accounts.spent.iter().zip(&threads) {
            prop_assert_eq!(spent.on_cpu + spent.waited + spent.slept, watched.to - watched.from);
            prop_assert!(spent.others <= spent.waited);
        }
        for (n, watched) in threads.iter().enumerate() {
            let drawn: u64 = accounts.spans.iter().filter(|s| s.thread == n).map(|s| s.to_ns.0 - s.from_ns.0).sum();
            prop_assert_eq!(drawn, watched.to - watched.from);
        }
    }
}
