use punctual_uapi::{PosixTimer, Sig, SignalSet, Waited, block, set_interval_timer, wait};
use punctual_units::Nanos;
use rustix::thread::{NanosleepRelativeResult, clock_nanosleep_absolute, clock_nanosleep_relative, nanosleep};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SECOND: u64 = 1_000_000_000;

/// Interval at which `stop` is checked while waiting for a signal.
const LOOK: Nanos = Nanos::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// clock_nanosleep(2) with TIMER_ABSTIME.
    Absolute,
    /// clock_nanosleep(2) without TIMER_ABSTIME (`-r`): the release is one interval after the call.
    Relative,
    /// nanosleep(2) (`-s`), which is relative and uses CLOCK_MONOTONIC.
    System,
    /// timer_settime(2) and a signal (`-x`).
    Timer { is_relative: bool },
    /// setitimer(2) and a signal (`-x -s`).
    IntervalTimer,
}

#[inline(always)]
pub(crate) fn now(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * SECOND + now.tv_nsec as u64
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as _ }
}

pub(crate) struct Sleeper {
    method: Method,
    clock: ClockId,
    interval: u64,
    timer: Option<PosixTimer>,
    signals: SignalSet,
}

impl Sleeper {
    /// Creates a timer if the method requires one. It first expires at `first`.
    pub fn new(method: Method, clock: ClockId, first: u64, interval: u64) -> Result<Sleeper, String> {
        let signals = SignalSet::new(&[Sig::Alrm]);
        let mut sleeper = Sleeper { method, clock, interval, timer: None, signals };
        let until = |at: u64| Nanos(at.saturating_sub(now(clock)).max(1));
        match method {
            Method::Timer { is_relative } => {
                block(&signals).map_err(|e| e.to_string())?;
                let timer = PosixTimer::new(clock == ClockId::Realtime, Sig::Alrm).map_err(|e| e.to_string())?;
                let first = if is_relative { until(first) } else { Nanos(first) };
                timer.set(!is_relative, first, Nanos(interval)).map_err(|e| e.to_string())?;
                sleeper.timer = Some(timer);
            }
            Method::IntervalTimer => {
                block(&signals).map_err(|e| e.to_string())?;
                set_interval_timer(until(first), Nanos(interval)).map_err(|e| e.to_string())?;
            }
            _ => {}
        }
        Ok(sleeper)
    }

    /// Sleeps until `next`. A relative method first sets `next` to one interval from now. Returns false if the run has
    /// ended.
    #[inline(always)]
    pub fn sleep(&self, next: &mut u64, stop: &AtomicBool) -> bool {
        loop {
            if stop.load(Relaxed) {
                return false;
            }
            let is_over = match self.method {
                Method::Absolute => clock_nanosleep_absolute(self.clock, &timespec(*next)).is_ok(),
                Method::Relative => {
                    *next = now(self.clock) + self.interval;
                    matches!(
                        clock_nanosleep_relative(self.clock, &timespec(self.interval)),
                        NanosleepRelativeResult::Ok
                    )
                }
                Method::System => {
                    *next = now(self.clock) + self.interval;
                    matches!(nanosleep(&timespec(self.interval)), NanosleepRelativeResult::Ok)
                }
                Method::Timer { .. } | Method::IntervalTimer => {
                    wait(&self.signals, Some(LOOK)) == Waited::Signal(Sig::Alrm)
                }
            };
            if is_over {
                return true;
            }
        }
    }

    /// Returns the number of timer expiries that occurred while the thread was late.
    #[inline(always)]
    pub fn overrun(&self) -> u64 {
        self.timer.as_ref().map_or(0, PosixTimer::overrun)
    }

    /// Returns true if the time of a release does not depend on when the thread runs.
    pub fn is_absolute(&self) -> bool {
        !matches!(self.method, Method::Relative | Method::System)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        if self.method == Method::IntervalTimer {
            // Failures are ignored, because the process ends soon.
            let _ = set_interval_timer(Nanos::ZERO, Nanos::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_wakes_after_its_release() {
        for method in [
            Method::Absolute,
            Method::Relative,
            Method::System,
            Method::Timer { is_relative: false },
            Method::Timer { is_relative: true },
        ] {
            std::thread::spawn(move || {
                let clock = ClockId::Monotonic;
                let mut next = now(clock) + 2_000_000;
                let sleeper = Sleeper::new(method, clock, next, 2_000_000).unwrap();
                for _ in 0..3 {
                    assert!(sleeper.sleep(&mut next, &AtomicBool::new(false)), "{method:?}");
                    let woke = now(clock);
                    // A relative timer is set shortly before its first expiry is recorded.
                    assert!(woke + 200_000 >= next, "{method:?}: {woke} {next}");
                    next += 2_000_000 * (1 + sleeper.overrun());
                }
                assert!(!sleeper.sleep(&mut next, &AtomicBool::new(true)));
            })
            .join()
            .unwrap();
        }
    }
}
