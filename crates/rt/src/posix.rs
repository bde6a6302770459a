//! Woken by a POSIX timer's signal.

use crate::Wakeup;
use crate::clock::monotonic;
use crate::expiries::Expiries;
use crate::wait::{Remarks, Wait};
use punctual_uapi::{self as uapi, Origin, PosixTimer, Sig, SignalSet};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A periodic POSIX timer, absolute on CLOCK_MONOTONIC, that signals the calling thread: timer_create(2), SIGEV_THREAD_ID. A
/// period is one sigwaitinfo(2), whose answer holds the overrun.
pub struct Signalled {
    // Deleted when this is dropped.
    _timer: PosixTimer,
    signals: SignalSet,
    expiries: Expiries,
}

impl Signalled {
    /// Releases from `start` on, every `period`, none at or after `end`. Blocks SIGALRM in the calling thread, which is the
    /// one to be woken.
    ///
    /// # Errors
    /// `EAGAIN`: RLIMIT_SIGPENDING is used up.
    pub fn new(start: Nanos, period: Nanos, end: Nanos) -> Result<Signalled, uapi::Error> {
        let signals = SignalSet::new(&[Sig::Alrm]);
        uapi::block(&signals)?;
        let timer = PosixTimer::new(false, Sig::Alrm)?;
        timer.set(true, start, Nanos(period.0.max(1)))?;
        Ok(Signalled { _timer: timer, signals, expiries: Expiries::new(start, period, end) })
    }
}

impl Wait for Signalled {
    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if self.expiries.is_over() {
            return None;
        }
        loop {
            if stop.load(Relaxed) {
                return None;
            }
            // A SIGALRM that somebody sent is not the timer's.
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
