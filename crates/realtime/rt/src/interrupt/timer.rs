//! A timer that other threads set, and that expires in hard interrupt context.

use crate::interrupt::{Arrival, Source};
use crate::monotonic;
use crate::sync::Bell;
use punctual_uapi::{LockError, Mutex};
use punctual_units::Nanos;
use rustix::io::Errno;
use std::sync::Arc;

/// A timer on CLOCK_MONOTONIC that other threads set through its [`TimerHandle`], as the source of an
/// [`InterruptTask`](crate::InterruptTask).
///
/// The task waits in a futex with an absolute timeout. On PREEMPT_RT the kernel expires the timeouts of SCHED_FIFO,
/// SCHED_RR and SCHED_DEADLINE threads in hard interrupt context (__hrtimer_setup_sleeper() in kernel/time/hrtimer.c),
/// like those of clock_nanosleep(2), so only interrupts and threads that run before the task delay it. A timerfd
/// ([`crate::Timerfd`]), by contrast, expires in softirq context, in the thread ktimers/N (SCHED_FIFO 1) or
/// ksoftirqd/N.
#[derive(Debug)]
pub struct Timer(Arc<Shared>);

/// Sets and cancels a [`Timer`] from any thread.
#[derive(Clone, Debug)]
pub struct TimerHandle(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    setting: Mutex<Setting>,
    bell: Bell,
}

/// The current setting of a timer. `next` is `None` while the timer is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    next: Option<Nanos>,
    interval: Nanos,
}

impl Timer {
    /// Creates a timer that is not set, and its handle.
    pub fn new() -> (Timer, TimerHandle) {
        let setting = Setting { next: None, interval: Nanos::ZERO };
        let shared = Arc::new(Shared { setting: Mutex::new(setting), bell: Bell::default() });
        (Timer(shared.clone()), TimerHandle(shared))
    }
}

impl TimerHandle {
    /// Sets the timer to expire at `first` on CLOCK_MONOTONIC, or at once if that has passed, and then every `interval`
    /// (zero: only once). Replaces the previous setting; expirations that the task has not received are lost. Takes a
    /// lock with priority inheritance, which the task holds for a few instructions per expiration. Makes one system
    /// call if the task sleeps.
    ///
    /// # Errors
    /// [`LockError`]: the task, or another thread that set the timer, panicked while it held the lock.
    pub fn set(&self, first: Nanos, interval: Nanos) -> Result<(), LockError> {
        self.replace(Setting { next: Some(first), interval })
    }

    /// Disarms the timer.
    ///
    /// # Errors
    /// See [`TimerHandle::set`].
    pub fn cancel(&self) -> Result<(), LockError> {
        self.replace(Setting { next: None, interval: Nanos::ZERO })
    }

    fn replace(&self, setting: Setting) -> Result<(), LockError> {
        *self.0.setting.lock()? = setting;
        self.0.bell.ring(true);
        Ok(())
    }
}

impl Setting {
    /// Removes the expirations that are due at `now`, and returns the time of the first and their number.
    fn take(&mut self, now: Nanos) -> Option<(Nanos, u64)> {
        let first = self.next.filter(|next| *next <= now)?;
        if self.interval == Nanos::ZERO {
            self.next = None;
            return Some((first, 1));
        }
        let count = (now - first).0 / self.interval.0 + 1;
        self.next = Some(Nanos(first.0.saturating_add(count.saturating_mul(self.interval.0))));
        Some((first, count))
    }
}

impl Source for Timer {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        let lost = |_: LockError| Errno::OWNERDEAD;
        loop {
            let heard = self.0.bell.heard();
            let until = {
                let mut setting = self.0.setting.lock().map_err(lost)?;
                if let Some((at, events)) = setting.take(monotonic()) {
                    return Ok(Arrival { at: Some(at), events, lost: 0, value: 0 });
                }
                setting.next
            };
            // A new setting, a signal or a spurious wakeup: the task checks whether it should stop.
            if self.0.bell.wait(heard, until).is_ok() {
                return Err(Errno::INTR);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_that_is_not_set_never_expires_and_a_single_one_does_once() {
        let mut setting = Setting { next: None, interval: Nanos::ZERO };
        assert_eq!(setting.take(Nanos(u64::MAX)), None);
        setting.next = Some(Nanos(5));
        assert_eq!(setting.take(Nanos(4)), None);
        assert_eq!(setting.take(Nanos(9)), Some((Nanos(5), 1)));
        assert_eq!((setting.take(Nanos(u64::MAX)), setting.next), (None, None));
    }

    #[test]
    fn a_setting_in_the_past_is_due_at_once() {
        let (mut timer, handle) = Timer::new();
        let first = monotonic().saturating_sub(Nanos::from_millis(5));
        handle.set(first, Nanos::from_secs(3_600)).unwrap();
        let arrival = timer.wait().unwrap();
        assert_eq!((arrival.at, arrival.events), (Some(first), 1));
    }

    #[test]
    fn setting_it_wakes_the_sleeper_which_then_waits_for_the_new_time() {
        let (mut timer, handle) = Timer::new();
        handle.set(monotonic() + Nanos::from_secs(3_600), Nanos::ZERO).unwrap();
        let sleeper = std::thread::spawn(move || {
            loop {
                match timer.wait() {
                    Err(Errno::INTR) => {}
                    other => return (other.unwrap(), monotonic()),
                }
            }
        });
        let at = monotonic() + Nanos::from_millis(3);
        handle.set(at, Nanos::ZERO).unwrap();
        let (arrival, woke) = sleeper.join().unwrap();
        assert_eq!((arrival.at, arrival.events), (Some(at), 1));
        assert!(woke >= at);
    }

    #[test]
    fn waiting_allocates_nothing() {
        let (mut timer, handle) = Timer::new();
        handle.set(monotonic(), Nanos::from_micros(200)).unwrap();
        timer.wait().unwrap();
        let mut events = 0;
        let count = |arrival: Result<Arrival, Errno>| arrival.map_or(0, |arrival| arrival.events);
        let allocated = allocation_counter::measure(|| (0..20).for_each(|_| events += count(timer.wait())));
        assert_eq!(allocated.count_total, 0);
        assert!(events >= 20);
    }

    proptest! {
        /// Every expiration is counted once, at its nominal time.
        #[test]
        fn expirations_are_counted_once(interval in 1u64..1_000, waits in proptest::collection::vec(0u64..5_000, 1..100)) {
            let mut setting = Setting { next: Some(Nanos(100)), interval: Nanos(interval) };
            let (mut now, mut total) = (0, 0);
            for wait in waits {
                now += wait;
                if let Some((at, count)) = setting.take(Nanos(now)) {
                    prop_assert_eq!(at.0, 100 + total * interval);
                    total += count;
                }
                let due = if now < 100 { 0 } else { (now - 100) / interval + 1 };
                prop_assert_eq!(total, due);
            }
        }
    }
}
