//! Tests SCHED_DEADLINE tasks on the running kernel.

use punctual_rt::{Admission, End, Miss, Nanos, Next, Rt, Scheduling, monotonic};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn spin(length: Nanos) {
    let until = monotonic() + length;
    while monotonic() < until {}
}

#[test]
fn what_is_reserved_can_be_read() {
    let now = Admission::read().unwrap();
    assert!(now.taken() >= 0.0 && !now.cpus.is_empty());
    assert!(now.longest(ms(5), ms(10)) <= ms(5));
    assert!(now.to_string().starts_with("CPU "), "{now}");
}

#[test]
#[ignore = "live: root, timing"]
fn the_first_release_finds_its_budget() {
    let rt = Rt::builder().lock_memory().start().unwrap();
    let (runtime, period) = (Nanos::from_micros(100), ms(10));
    let mut late = Vec::new();
    for _ in 0..100 {
        let task = rt.deadline("first", runtime, period, period).cycles(1).spawn(|_| Next::Continue).unwrap();
        let counted = task.join().stats.counted;
        assert_eq!(counted.ran, 1);
        late.push(counted.lateness.max().unwrap());
    }
    late.sort_unstable();
    println!("first release: median {}, worst {}", Nanos(late[50]), Nanos(late[99]));
    // Without its own budget, the task would wait until the end of the period. A busy machine may be a millisecond
    // late.
    assert!(late[99] < period.0 / 2, "{late:?}");
}

#[test]
#[ignore = "live: root, timing"]
fn overruns_are_counted_and_given_to_the_task() {
    let rt = Rt::builder().start().unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let theirs = seen.clone();
    let task = rt.deadline("overruns", ms(2), ms(20), ms(20)).cycles(20).spawn(move |cycle| {
        theirs.fetch_add(cycle.overruns, Relaxed);
        if cycle.index == 5 {
            // More than twice the runtime, so it is throttled twice.
            spin(ms(50));
        }
        Next::Continue
    });
    let finished = task.unwrap().join();
    let counted = finished.stats.counted;
    assert_eq!((finished.end, counted.overruns), (End::Cycles, seen.load(Relaxed)));
    assert!((2..=4).contains(&counted.overruns), "{}", counted.overruns);
}

/// Must be run in a guest with one CPU. A task that waits for another task's job is not activated late, and skips no
/// release.
#[test]
#[ignore = "live: root, timing"]
fn waiting_for_an_earlier_deadline_is_no_late_activation() {
    let cpus = punctual_rt::CpuList::from_iter([punctual_rt::CpuId(0)]);
    if Admission::read().unwrap().cpus != cpus {
        println!("not run here: it needs a machine, or a cpuset partition, of CPU 0 only");
        return;
    }
    let rt = Rt::builder().start().unwrap();
    let hog = rt.deadline("hog", ms(4), ms(5), ms(10)).cycles(200).spawn(|_| {
        spin(ms(3));
        Next::Continue
    });
    let task = rt.deadline("waits", ms(1), ms(8), ms(10)).cycles(200).spawn(|_| Next::Continue).unwrap();
    let counted = task.join().stats.counted;
    hog.unwrap().join();
    println!("skipped {}, late {}", counted.skipped, Nanos(counted.lateness.max().unwrap()));
    // Only the first late wakeup counts as a late activation.
    assert!(counted.skipped <= 3, "{}", counted.skipped);
    assert!(counted.lateness.value_at_rank(counted.lateness.count() / 2).unwrap() > ms(2).0);
}

#[test]
#[ignore = "live: root, timing"]
fn yielding_jobs_move_the_grid_and_account_for_every_release() {
    let rt = Rt::builder().start().unwrap();
    let (runtime, period) = (ms(2), ms(10));
    let task = rt.deadline("yields", runtime, period, period).end_jobs_by_yield().cycles(50).spawn(|_| Next::Continue);
    let task = task.unwrap();
    let first = task.first();
    let counted = task.join().stats.counted;
    let took = monotonic() - first;
    println!("{} ran, {} skipped in {took}", counted.ran, counted.skipped);
    assert_eq!(counted.released, counted.ran + counted.skipped);
    assert!(took + ms(1) >= Nanos(49 * period.0));
}

#[test]
#[ignore = "live: root"]
fn what_does_not_fit_is_explained() {
    let rt = Rt::builder().start().unwrap();
    let period = ms(100);
    let half = rt.deadline("holder", ms(50), period, period).spawn(|_| Next::Continue).unwrap();
    let now = Admission::read().unwrap();
    assert!(now.reserved.iter().any(|one| one.name == "holder"), "{now}");
    let fits = now.longest(period, period);
    // Each task reserves as much as a single task can, until one does not fit.
    let mut held = Vec::new();
    let refused = loop {
        match rt.deadline("filler", ms(50), period, period).spawn(|_| Next::Continue) {
            Ok(task) => held.push(task),
            Err(refused) => break refused.to_string(),
        }
    };
    println!("{refused}");
    assert!(refused.contains("holder (pid") && refused.contains("would fit"), "{refused}");
    let left = Admission::read().unwrap().longest(period, period);
    assert!(left < ms(50) && fits >= left);
    if left >= ms(1) {
        rt.deadline("fits", left, period, period).cycles(1).spawn(|_| Next::Continue).unwrap().join();
    }
    rt.stop();
    held.into_iter().chain([half]).for_each(|task| drop(task.join()));
}

#[test]
#[ignore = "live: root"]
fn a_reclaiming_task_starts() {
    let rt = Rt::builder().start().unwrap();
    let task = rt.deadline("reclaims", ms(1), ms(10), ms(10)).reclaim().on_miss(Miss::Skip).cycles(5);
    let task = task.spawn(|_| Next::Continue).unwrap();
    assert!(matches!(task.applied().scheduling, Scheduling::Deadline { .. }));
    assert_eq!(task.join().end, End::Cycles);
}
