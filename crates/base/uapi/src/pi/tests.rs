//! Properties that hold without real-time priority. Priority inheritance itself is tested in
//! crates/realtime/rt/tests/it/inversion.rs.

use super::*;
use punctual_units::Nanos;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;

fn monotonic() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Also runs under miri, which detects data races.
#[test]
fn one_owner_at_a_time() {
    static COUNT: Mutex<(u64, u64)> = Mutex::new((0, 0));
    let rounds = if cfg!(miri) { 40 } else { 20_000 };
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..rounds {
                    let mut both = COUNT.lock().unwrap();
                    both.0 += 1;
                    assert_eq!(both.0, both.1 + 1);
                    both.1 += 1;
                }
            });
        }
    });
    assert_eq!(*COUNT.lock().unwrap(), (4 * rounds, 4 * rounds));
}

#[test]
fn a_deadlock_with_oneself_is_an_error() {
    let mutex = Mutex::new(0);
    let held = mutex.lock().unwrap();
    assert_eq!(mutex.try_lock().unwrap_err(), LockError::Deadlock);
    if cfg!(not(miri)) {
        assert_eq!(mutex.lock().unwrap_err(), LockError::Deadlock);
        assert_eq!(mutex.lock_until(Nanos(u64::MAX / 2)).unwrap_err(), LockError::Deadlock);
    }
    drop(held);
    drop(mutex.lock().unwrap());
    assert!(!mutex.is_poisoned());
}

#[test]
fn a_panic_poisons_and_poison_can_be_cleared() {
    let mutex = Mutex::new(1);
    std::thread::scope(|s| {
        let panics = s.spawn(|| {
            let _held = mutex.lock().unwrap();
            panic!("on purpose");
        });
        assert!(panics.join().is_err());
    });
    assert_eq!(mutex.lock().unwrap_err(), LockError::Poisoned);
    assert_eq!(mutex.try_lock().unwrap_err(), LockError::Poisoned);
    mutex.clear_poison();
    assert_eq!(*mutex.lock().unwrap(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn a_circle_of_two_locks_is_an_error_for_one_of_them() {
    let (a, b) = (Mutex::new(()), Mutex::new(()));
    let (ready, is_ready) = mpsc::channel();
    std::thread::scope(|s| {
        let held = a.lock().unwrap();
        let (a, b) = (&a, &b);
        let other = s.spawn(move || {
            let _b = b.lock().unwrap();
            ready.send(()).unwrap();
            a.lock().map(drop)
        });
        is_ready.recv().unwrap();
        let mine = b.lock().map(drop);
        drop(held);
        let theirs = other.join().unwrap();
        assert!(mine == Err(LockError::Deadlock) || theirs == Err(LockError::Deadlock), "{mine:?} {theirs:?}");
    });
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn a_held_lock_times_out_and_no_sooner() {
    let mutex = Mutex::new(());
    let (ready, is_ready) = mpsc::channel();
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|s| {
        let mutex = &mutex;
        s.spawn(move || {
            let _held = mutex.lock().unwrap();
            ready.send(()).unwrap();
            let _ = is_done.recv();
        });
        is_ready.recv().unwrap();
        assert_eq!(mutex.try_lock().unwrap_err(), LockError::WouldBlock);
        let until = monotonic() + Nanos::from_millis(5);
        assert_eq!(mutex.lock_until(until).unwrap_err(), LockError::TimedOut);
        assert!(monotonic() >= until);
        drop(done);
    });
    drop(mutex.lock_until(Nanos::ZERO).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn an_owner_that_ends_is_reported_to_those_who_wait_and_those_who_come() {
    let (waited_for, found_later) = (Mutex::new(()), Mutex::new(()));
    let (ready, is_ready) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    std::thread::scope(|s| {
        let (w, f) = (&waited_for, &found_later);
        let owner = s.spawn(move || {
            std::mem::forget((w.lock().unwrap(), f.lock().unwrap()));
            ready.send(()).unwrap();
            let _ = may_end.recv();
        });
        is_ready.recv().unwrap();
        let waiter = s.spawn(|| waited_for.lock().map(drop));
        while waited_for.futex().word.load(Relaxed) & rustix::thread::futex::WAITERS == 0 {
            std::thread::yield_now();
        }
        drop(end);
        owner.join().unwrap();
        assert_eq!(waiter.join().unwrap(), Err(LockError::OwnerDied));
    });
    // The kernel passed the mutex on: it is poisoned, and usable once that is cleared.
    assert_eq!(waited_for.lock().unwrap_err(), LockError::OwnerDied);
    waited_for.clear_poison();
    drop(waited_for.lock().unwrap());
    // There was no waiter, so the mutex is lost, unless a new thread got the same ID (not within these few lines).
    assert_eq!(found_later.lock().unwrap_err(), LockError::OwnerDied);
    // From then on no thread is mistaken for the owner, and the mutex stays lost.
    assert_eq!(found_later.futex().word.load(Relaxed) & word::TID_MASK, word::TID_MASK);
    assert_eq!(found_later.lock().unwrap_err(), LockError::OwnerDied);
    assert_eq!(found_later.try_lock().unwrap_err(), LockError::WouldBlock);
}

#[test]
fn an_assigned_futex_belongs_to_that_thread() {
    let futex = PiFutex::new();
    let me = ThreadId::current();
    assert!(futex.assign(me) && futex.is_mine() && !futex.assign(me));
    std::thread::scope(|s| {
        s.spawn(|| assert_eq!(futex.try_lock(), Err(LockError::WouldBlock)));
    });
    futex.unlock().unwrap();
    assert!(!futex.is_mine());
}

/// Threads take turns in a fixed order. If a wakeup were lost, a thread would sleep for ever and the test would hang.
#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn no_wakeup_is_lost() {
    const WAITERS: usize = 4;
    const ROUNDS: u32 = 5_000;
    static TURN: Mutex<u32> = Mutex::new(0);
    static CHANGED: Condvar = Condvar::new();
    let spurious = AtomicU32::new(0);
    std::thread::scope(|s| {
        for me in 0..WAITERS as u32 {
            let spurious = &spurious;
            s.spawn(move || {
                for _ in 0..ROUNDS {
                    let mut turn = TURN.lock().unwrap();
                    while *turn % WAITERS as u32 != me {
                        turn = CHANGED.wait(turn).unwrap();
                        spurious.fetch_add(u32::from(*turn % WAITERS as u32 != me), Relaxed);
                    }
                    *turn += 1;
                    CHANGED.notify_all(&turn).unwrap();
                }
            });
        }
    });
    assert_eq!(*TURN.lock().unwrap(), ROUNDS * WAITERS as u32);
}

/// Several consumers and one notification per message: each message is taken exactly once.
#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn one_notification_wakes_one() {
    const MESSAGES: u64 = 20_000;
    let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
    let take = || -> u64 {
        let mut sum = 0;
        loop {
            let mut queue = queue.lock().unwrap();
            while queue.is_empty() {
                queue = filled.wait(queue).unwrap();
            }
            match queue.pop() {
                Some(0) | None => return sum,
                Some(n) => sum += n,
            }
        }
    };
    let total: u64 = std::thread::scope(|s| {
        let takers: Vec<_> = (0..3).map(|_| s.spawn(take)).collect();
        for n in 1..=MESSAGES {
            let mut queue = queue.lock().unwrap();
            queue.push(n);
            filled.notify_one(&queue).unwrap();
        }
        while !queue.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            let mut queue = queue.lock().unwrap();
            queue.push(0);
            filled.notify_one(&queue).unwrap();
        }
        takers.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(total, MESSAGES * (MESSAGES + 1) / 2);
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn a_wait_that_nobody_ends_times_out_with_the_mutex_held() {
    let (mutex, condvar) = (Mutex::new(7), Condvar::new());
    let until = monotonic() + Nanos::from_millis(3);
    let mut guard = mutex.lock().unwrap();
    assert_eq!(condvar.notify_one(&guard), Ok(false));
    loop {
        let (again, woke) = condvar.wait_until(guard, until).unwrap();
        guard = again;
        if woke == Woke::TimedOut {
            break;
        }
    }
    assert!(monotonic() >= until && *guard == 7 && mutex.futex().is_mine());
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn waiters_of_another_mutex_are_refused() {
    let (a, b, condvar) = (Mutex::new(()), Mutex::new(()), Condvar::new());
    std::thread::scope(|s| {
        let waiter = s.spawn(|| {
            let guard = a.lock().unwrap();
            drop(condvar.wait(guard).unwrap());
        });
        // Until the thread sleeps, a notification only tells it that the condition has changed.
        let mut answers = Vec::new();
        while !waiter.is_finished() {
            answers.push(condvar.notify_one(&b.lock().unwrap()));
            if answers.last() == Some(&Err(LockError::Kernel(libc::EINVAL))) {
                condvar.notify_one(&a.lock().unwrap()).unwrap();
            }
            std::thread::yield_now();
        }
        assert!(answers.iter().all(|a| matches!(a, Ok(_) | Err(LockError::Kernel(libc::EINVAL)))), "{answers:?}");
    });
}

#[test]
#[cfg_attr(miri, ignore = "needs futex(2)")]
fn a_lock_without_data_is_waited_for_by_its_owner_only() {
    let (futex, condvar, refused) = (PiFutex::new(), Condvar::new(), LockError::Kernel(libc::EPERM));
    assert_eq!(condvar.wait_on(&futex, None).unwrap_err(), refused);
    assert_eq!([condvar.notify_one_on(&futex), condvar.notify_all_on(&futex)], [Err(refused), Err(refused)]);
    let ready = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(futex.lock(None), Ok(Acquired::Clean));
            while !ready.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(matches!(condvar.wait_on(&futex, None), Ok((Acquired::Clean, Woke::Notified))));
            }
            assert!(futex.is_mine());
            futex.unlock().unwrap();
        });
        assert_eq!(futex.lock(None), Ok(Acquired::Clean));
        while condvar.waiters() == 0 {
            futex.unlock().unwrap();
            std::thread::yield_now();
            assert_eq!(futex.lock(None), Ok(Acquired::Clean));
        }
        ready.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(condvar.notify_all_on(&futex), Ok(true));
        futex.unlock().unwrap();
    });
    assert_eq!(condvar.waiters(), 0);
}
