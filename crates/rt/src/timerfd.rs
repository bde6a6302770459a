//! Woken by a timerfd.

use crate::Wakeup;
use crate::clock::{monotonic, timespec};
use crate::expiries::Expiries;
use crate::wait::{Remarks, Wait};
use punctual_units::Nanos;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A periodic timerfd, absolute on CLOCK_MONOTONIC: timerfd_create(2). A period is one read(2).
#[derive(Debug)]
pub struct Timerfd {
    fd: OwnedFd,
    expiries: Expiries,
}

impl Timerfd {
    /// Releases from `start` on, every `period`, none at or after `end`.
    ///
    /// # Errors
    /// `MFILE`, `NFILE`, `NOMEM`.
    pub fn new(start: Nanos, period: Nanos, end: Nanos) -> Result<Timerfd, Errno> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let times = Itimerspec { it_interval: timespec(Nanos(period.0.max(1))), it_value: timespec(start) };
        timerfd_settime(&fd, TimerfdTimerFlags::ABSTIME, &times)?;
        Ok(Timerfd { fd, expiries: Expiries::new(start, period, end) })
    }
}

impl Wait for Timerfd {
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
