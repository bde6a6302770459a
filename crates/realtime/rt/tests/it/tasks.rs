//! Tests tasks on the machine that runs the tests: however busy it is, every release is accounted for.

use punctual_rt::{Check, Cycle, End, Eventfd, Interrupt, Miss, Next, Rt, Timer, monotonic};
use punctual_units::{Nanos, Scheduling};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const ORDINARY: Scheduling = Scheduling::Other { nice: 0 };

fn rt() -> Rt {
    Rt::builder().start().unwrap()
}

fn busy_until(at: Nanos) {
    while monotonic() < at {
        std::hint::spin_loop();
    }
}

/// Runs a task in which every 100th body takes 5.5 periods. Returns the cycles that its body received.
fn stalling(miss: Miss, cycles: u64) -> (Vec<Cycle>, punctual_rt::Finished) {
    let (rt, period) = (rt(), Nanos::from_micros(100));
    let seen = Arc::new(Mutex::new(Vec::with_capacity(cycles as usize)));
    let theirs = seen.clone();
    let task = rt.periodic("stalling", ORDINARY, period).on_miss(miss).cycles(cycles).spawn(move |cycle| {
        theirs.lock().unwrap().push(*cycle);
        if cycle.index % 100 == 50 {
            busy_until(cycle.scheduled + Nanos(550_000));
        }
        Next::Continue
    });
    let finished = task.unwrap().join();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, finished)
}

/// The default stack of a thread has 128 KiB with musl.
#[test]
fn a_thread_with_a_small_stack_may_start_and_stop_tasks() {
    let work = || {
        let rt = rt();
        let task = rt.periodic("a", ORDINARY, Nanos::from_millis(1)).spawn(|_| Next::Continue).unwrap();
        let before = task.stats().counted.released;
        task.stop().stats.counted.released >= before
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(work);
    assert!(thread.unwrap().join().unwrap());
}

/// The sum of such event counts would overflow.
#[test]
fn too_many_events_at_once_are_refused() {
    let counter = Eventfd::new().unwrap();
    assert!(counter.raise(punctual_rt::MOST_EVENTS + 1).is_err() && counter.raise(punctual_rt::MOST_EVENTS).is_ok());
}

#[test]
fn skipped_releases_are_exact() {
    let (seen, finished) = stalling(Miss::Skip, 3_000);
    let counted = &finished.stats.counted;
    assert_eq!(finished.end, End::Cycles);
    assert_eq!(counted.ran, seen.len() as u64);
    assert_eq!(counted.released, counted.ran + counted.skipped);
    let gaps: u64 = seen.windows(2).map(|pair| pair[1].index - pair[0].index - 1).sum();
    let skipped: u64 = seen[..seen.len() - 1].iter().map(|cycle| cycle.skipped).sum();
    assert_eq!(gaps, skipped);
    for cycle in &seen {
        assert_eq!(cycle.scheduled, finished_first(&seen) + Nanos(cycle.index * 100_000));
        assert_eq!(cycle.skipped, cycle.lateness().0 / 100_000);
    }
    // Each stall of 5.5 periods makes the next wakeup at least 4.5 periods late, and misses its own deadline.
    let stalls = seen.iter().filter(|cycle| cycle.index % 100 == 50).count() as u64;
    assert!(counted.skipped >= 4 * stalls.saturating_sub(1) && counted.deadline_misses >= stalls);
    assert_eq!(counted.lateness.count(), counted.ran);
    assert_eq!(counted.execution.count(), counted.ran);
    assert_eq!(counted.given_up.count(), counted.skipped);
}

/// Runs a million releases with a period of 20 µs; every 100th body takes 5.5 periods. The test takes a minute.
#[test]
#[ignore = "a minute: `cargo trials soak tasks`"]
fn a_million_releases_are_exact() {
    let (rt, period) = (rt(), Nanos::from_micros(20));
    for miss in [Miss::Skip, Miss::CatchUp { at_most: 4 }] {
        let truth = Arc::new([const { AtomicU64::new(0) }; 4]);
        let theirs = truth.clone();
        // Counts independently the releases between this cycle and the previous one, which the body never saw.
        let mut next = 0;
        let task = rt.periodic("million", ORDINARY, period).on_miss(miss).cycles(1_000_000).spawn(move |cycle| {
            theirs[0].fetch_add(1, Relaxed);
            theirs[1].fetch_add(cycle.index - next, Relaxed);
            next = cycle.index + 1;
            theirs[3].store(cycle.skipped, Relaxed);
            if cycle.index % 100 == 50 {
                theirs[2].fetch_add(1, Relaxed);
                busy_until(cycle.woke + Nanos(110_000));
            }
            Next::Continue
        });
        let finished = task.unwrap().join();
        let [ran, passed, injected, after_last] = truth.each_ref().map(|word| word.load(Relaxed));
        let counted = &finished.stats.counted;
        println!("{miss:?}: {injected} stalls, {ran} ran, {} skipped, {} pending", counted.skipped, counted.pending);
        assert_eq!((finished.end, counted.ran), (End::Cycles, ran));
        assert_eq!(counted.released, counted.ran + counted.skipped + counted.pending);
        assert_eq!(counted.skipped, passed + after_last);
        assert!(counted.released >= 1_000_000 && injected > 0);
    }
}

fn finished_first(seen: &[Cycle]) -> Nanos {
    Nanos(seen[0].scheduled.0 - seen[0].index * 100_000)
}

#[test]
fn catching_up_runs_every_release_once() {
    let (seen, finished) = stalling(Miss::CatchUp { at_most: u64::MAX }, 3_000);
    assert_eq!(seen.iter().map(|cycle| cycle.index).collect::<Vec<_>>(), (0..3_000).collect::<Vec<_>>());
    let counted = &finished.stats.counted;
    assert_eq!((counted.ran, counted.skipped), (3_000, 0));
    assert!(seen.iter().any(|cycle| cycle.pending >= 4));
}

#[test]
fn a_missed_release_ends_a_task_that_wants_it_so() {
    let (seen, finished) = stalling(Miss::Stop, 3_000);
    assert_eq!(finished.end, End::Missed);
    let counted = &finished.stats.counted;
    assert_eq!(counted.ran, seen.len() as u64);
    assert!(counted.skipped >= 1 && seen.iter().all(|cycle| cycle.lateness().0 < 100_000));
}

static SAFE: AtomicU64 = AtomicU64::new(0);

#[test]
fn a_safe_state_runs_in_place_of_the_body() {
    let (seen, finished) = stalling(
        Miss::SafeState(|cycle| {
            assert!(cycle.lateness().0 >= 100_000);
            SAFE.fetch_add(1, Relaxed);
            if SAFE.load(Relaxed) < 5 { Next::Continue } else { Next::Stop }
        }),
        1_000_000,
    );
    assert_eq!(finished.end, End::Returned);
    assert_eq!(SAFE.load(Relaxed), 5);
    assert_eq!(finished.stats.counted.ran, seen.len() as u64);
    assert!(seen.iter().all(|cycle| cycle.lateness().0 < 100_000));
}

#[test]
fn tasks_are_stopped_while_they_sleep_and_report_their_figures_before() {
    let rt = rt();
    let hour = Nanos::from_secs(3_600);
    let sleeper = rt.periodic("sleeper", ORDINARY, hour).spawn(|_| Next::Continue).unwrap();
    let quick = rt.periodic("quick", ORDINARY, Nanos::from_millis(1)).spawn(|_| Next::Continue).unwrap();
    while quick.stats().counted.ran < 20 {
        std::thread::yield_now();
    }
    let stats = quick.stats();
    assert_eq!(stats.counted.released, stats.counted.ran + stats.counted.skipped);
    assert!(stats.usage.voluntary_switches.is_some_and(|n| n >= 10));
    rt.stop();
    assert!(sleeper.is_finished() && quick.is_finished());
    let finished = sleeper.join();
    assert_eq!((finished.end, finished.stats.counted.released), (End::Stopped, 0));
    let finished = quick.join();
    assert!(finished.stats.counted.ran >= 20 && finished.end == End::Stopped);
}

#[test]
fn a_panic_ends_its_task_only() {
    let rt = rt();
    let other = rt.periodic("other", ORDINARY, Nanos::from_millis(1)).spawn(|_| Next::Continue).unwrap();
    let panics = rt.periodic("panics", ORDINARY, Nanos::from_millis(1)).spawn(|cycle| {
        assert!(cycle.index < 3, "injected");
        Next::Continue
    });
    assert_eq!(panics.unwrap().join().end, End::Panicked("injected".into()));
    assert!(!other.is_finished());
    other.stop();
}

#[test]
fn tasks_of_one_period_keep_their_distance() {
    let (rt, period) = (rt(), Nanos::from_millis(10));
    let start = |offset| {
        let task = rt.periodic("grid", ORDINARY, period).offset(offset).cycles(1).spawn(|_| Next::Continue).unwrap();
        let first = task.first();
        task.join();
        first
    };
    let (a, b) = (start(Nanos::ZERO), start(Nanos::from_millis(3)));
    assert_eq!((a - rt.epoch()).0 % period.0, 0);
    assert_eq!((b - rt.epoch()).0 % period.0, 3_000_000);
}

#[test]
#[ignore = "live: root, timing"]
fn a_deadline_task_runs_where_the_kernel_grants_it() {
    let (runtime, period) = (Nanos::from_millis(1), Nanos::from_millis(10));
    let check = Check::Deadline { runtime, deadline: period, period };
    let rt = Rt::builder().warn(check).start().unwrap();
    if !rt.report().passed() {
        println!("not run here: {}", rt.report());
        return;
    }
    let task = rt.deadline("deadline", runtime, period, period).cycles(20).spawn(|_| Next::Continue).unwrap();
    let wanted = Scheduling::Deadline { runtime_ns: runtime, deadline_ns: period, period_ns: period };
    assert_eq!(task.applied().scheduling, wanted);
    let finished = task.join();
    assert_eq!(finished.end, End::Cycles);
    assert!(finished.stats.counted.released >= 20);
}

#[test]
fn what_is_required_and_not_there_keeps_it_from_starting() {
    let error = Rt::builder().require(Check::Priority(0)).start().err().unwrap();
    let text = error.to_string();
    assert!(text.contains("unknown") && text.contains("SCHED_FIFO 0"), "{text}");
    let rt = Rt::builder().warn(Check::Priority(0)).start().unwrap();
    assert!(!rt.report().passed());
}

#[test]
fn a_refused_task_gets_the_reason() {
    let rt = rt();
    let nowhere = punctual_units::CpuId(8_000);
    let refused = rt.periodic("nowhere", ORDINARY, Nanos::from_millis(1)).cpu(nowhere).spawn(|_| Next::Continue);
    let text = refused.err().unwrap().to_string();
    assert!(text.contains("task nowhere") && text.contains("CPU 8000") && text.contains("online"), "{text}");
}

#[test]
fn events_are_accounted_for() {
    let (rt, source) = (rt(), Eventfd::new().unwrap());
    let seen: Arc<Mutex<Vec<Interrupt>>> = Arc::default();
    let theirs = seen.clone();
    let prepared: Arc<AtomicU64> = Arc::default();
    let counter = prepared.clone();
    let task = rt.interrupt("events", ORDINARY, source.clone()).prepare(move || counter.store(1, Relaxed));
    let task = task.spawn(move |interrupt| {
        theirs.lock().unwrap().push(*interrupt);
        Next::Continue
    });
    let task = task.unwrap();
    let raised: u64 = (0..500u64)
        .map(|n| {
            source.raise(n % 3 + 1).unwrap();
            n % 3 + 1
        })
        .sum();
    while task.stats().events < raised {
        std::thread::yield_now();
    }
    let (end, stats) = task.stop();
    assert_eq!(end, End::Stopped);
    assert_eq!((stats.events, stats.handled + stats.coalesced, stats.lost), (raised, raised, 0));
    assert_eq!(
        (stats.latency.count(), stats.worst, prepared.load(Relaxed)),
        (0, None, 1),
        "an eventfd has no time stamps"
    );
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len() as u64, stats.handled);
    for pair in seen.windows(2) {
        assert_eq!(pair[1].sequence, pair[0].sequence + pair[0].coalesced + 1);
    }
}

#[test]
fn an_alarm_rings_when_it_is_set() {
    let (rt, (timer, handle)) = (rt(), Timer::new());
    let task = rt.interrupt("alarm", ORDINARY, timer).spawn(|_| Next::Continue).unwrap();
    let first = monotonic() + Nanos::from_millis(2);
    handle.set(first, Nanos::from_millis(1)).unwrap();
    while task.stats().events < 10 {
        std::thread::yield_now();
    }
    handle.cancel().unwrap();
    let rung = monotonic();
    let (_, stats) = task.stop();
    assert!(rung >= first + Nanos::from_millis(9));
    // A wakeup is never early: its time stamp is the first of the expirations for which it stands.
    assert!(stats.events <= (monotonic() - first).0 / 1_000_000 + 1);
    assert_eq!(stats.latency.count(), stats.handled);
}

#[test]
fn a_task_is_prepared_once_in_its_own_thread() {
    thread_local! {
        static PREPARED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    let (rt, seen) = (rt(), Arc::new(AtomicU64::new(0)));
    let theirs = seen.clone();
    let task = rt.periodic("prepared", ORDINARY, Nanos::from_micros(200)).cycles(5);
    let task = task.prepare(|| PREPARED.set(PREPARED.get() + 1)).spawn(move |_| {
        theirs.fetch_add(PREPARED.get().into(), Relaxed);
        Next::Continue
    });
    let ran = task.unwrap().join().stats.counted.ran;
    assert_eq!((seen.load(Relaxed), PREPARED.get()), (ran, 0));
}
