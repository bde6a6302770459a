//! Wakeups by the signal of a POSIX timer.

use crate::Wakeup;
use crate::clock::monotonic;
use crate::expiries::Expiries;
use crate::wait::{Remarks, Wait};
use punctual_uapi::{self as uapi, Origin, PosixTimer, Sig, SignalSet};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A periodic POSIX timer, absolute on CLOCK_MONOTONIC, that signals the calling thread: timer_create(2),
/// SIGEV_THREAD_ID. Each wait is one call of sigwaitinfo(2), whose result contains the overrun count. On PREEMPT_RT it
/// is a soft timer, like [`Timerfd`](crate::Timerfd).
pub struct Signalled {
    timer: PosixTimer,
    period: Nanos,
    signals: SignalSet,
    expiries: Expiries,
}

impl Signalled {
    /// Creates the timer without starting it. Blocks SIGALRM in the calling thread, which is the thread that the timer
    /// wakes.
    ///
    /// # Errors
    /// `EAGAIN`: RLIMIT_SIGPENDING is exhausted.
    pub fn new(period: Nanos) -> Result<Signalled, uapi::Error> {
        let signals = SignalSet::new(&[Sig::Alrm]);
        uapi::block(&signals)?;
        let timer = PosixTimer::new(false, Sig::Alrm)?;
        let period = Nanos(period.0.max(1));
        Ok(Signalled { timer, period, signals, expiries: Expiries::new(Nanos::ZERO, period, Nanos::ZERO) })
    }
}

impl Wait for Signalled {
    fn begin(&mut self, start: Nanos, end: Nanos) {
        self.expiries = Expiries::new(start, self.period, end);
        // Cannot fail with valid times (timer_settime(2)); if it did, no expiry would come.
        let _ = self.timer.set(true, Nanos(start.0.max(1)), self.period);
    }

    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if self.expiries.is_over() {
            return None;
        }
        loop {
            if stop.load(Relaxed) {
                return None;
            }
            // Ignores a SIGALRM that is not from the timer.
            if let Ok(taken) = uapi::take(&self.signals)
                && taken.origin == Origin::Timer
            {
                return Some(self.expiries.book(taken.overrun + 1, monotonic()));
            }
        }
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
