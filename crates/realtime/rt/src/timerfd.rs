//! Wakeups by a timerfd.

use crate::Wakeup;
use crate::clock::{monotonic, timespec};
use crate::expiries::Expiries;
use crate::wait::{Remarks, Wait};
use punctual_units::Nanos;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A periodic timerfd, absolute on CLOCK_MONOTONIC: timerfd_create(2). Each wait is one call of read(2).
///
/// A soft timer on PREEMPT_RT: it expires in softirq context, so even a SCHED_FIFO 80 thread that reads it waits for
/// ktimers/N (SCHED_FIFO 1; before Linux 6.1 ksoftirqd/N), and for everything that runs before that thread. If a
/// deadline must be met, use [`Periodic`](crate::Periodic) or a task, whose sleeps are hard timers. For a timer that
/// other threads set, use [`Timer`](crate::Timer).
#[derive(Debug)]
pub struct Timerfd {
    fd: OwnedFd,
    period: Nanos,
    expiries: Expiries,
}

impl Timerfd {
    /// Creates the timer without starting it.
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new(period: Nanos) -> Result<Timerfd, Errno> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let period = Nanos(period.0.max(1));
        Ok(Timerfd { fd, period, expiries: Expiries::new(Nanos::ZERO, period, Nanos::ZERO) })
    }
}

impl Wait for Timerfd {
    fn begin(&mut self, start: Nanos, end: Nanos) {
        self.expiries = Expiries::new(start, self.period, end);
        let times = Itimerspec { it_interval: timespec(self.period), it_value: timespec(Nanos(start.0.max(1))) };
        // Cannot fail with a valid descriptor and valid times (timerfd_create(2)); if it did, no expiry would come.
        let _ = timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &times);
    }

    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if self.expiries.is_over() {
            return None;
        }
        let mut count = [0u8; 8];
        loop {
            if stop.load(Relaxed) {
                return None;
            }
            if read(&self.fd, &mut count).is_ok() {
                break;
            }
        }
        Some(self.expiries.book(u64::from_ne_bytes(count), monotonic()))
    }

    fn go_on(&mut self, duration: Nanos) {
        self.expiries.go_on(duration);
    }

    fn released(&self) -> u64 {
        self.expiries.released()
    }

    fn remarks(&self) -> Remarks {
        Remarks { disagreements: self.expiries.disagreements(), ..Remarks::default() }
    }
}
