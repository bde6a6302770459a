//! A periodic loop with absolute release times, in which every period is accounted for.

use crate::clock::{monotonic, timespec};
use crate::wait::Wait;
use punctual_units::Nanos;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

type TvNsec = rustix::time::Nsecs;
const SECOND: TvNsec = 1_000_000_000;

/// Releases at `start`, `start + period`, … before `end`, all on CLOCK_MONOTONIC.
///
/// Sleeps with clock_nanosleep(2), a hard timer on PREEMPT_RT if the thread is SCHED_FIFO, SCHED_RR or SCHED_DEADLINE.
///
/// Releases at or before a wakeup that have not run are skipped and reported by it, so the next release is always in
/// the future: at any time `released == ran + skipped`.
#[derive(Clone, Debug)]
pub struct Periodic {
    next: u64,
    period: u64,
    end: u64,
    cycle: u64,
    target: Timespec,
    step: Timespec,
}

/// One wakeup of a periodic loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// Number of the release, from 0, including skipped ones.
    pub cycle: u64,
    /// Time at which the thread should have woken, CLOCK_MONOTONIC.
    pub release: Nanos,
    /// Time at which the thread woke, CLOCK_MONOTONIC.
    pub woke: Nanos,
    /// Number of releases skipped because of this wakeup.
    pub skipped: u64,
}

impl Wakeup {
    /// Returns the latency, ns; 0 if the clock shows a wakeup before its release, which the kernel does not cause.
    #[inline(always)]
    pub fn latency(&self) -> u64 {
        self.woke.0.saturating_sub(self.release.0)
    }
}

impl Periodic {
    /// Creates releases from `start`, every `period` (at least 1 ns), none at or after `end`.
    pub fn new(start: Nanos, period: Nanos, end: Nanos) -> Periodic {
        let period = Nanos(period.0.max(1));
        Periodic {
            next: start.0,
            period: period.0,
            end: end.0,
            cycle: 0,
            target: timespec(start),
            step: timespec(period),
        }
    }

    /// Sleeps until the next release and returns the wakeup. `None` after the last release or if `stop` is set, which
    /// is also checked when a signal interrupts the sleep.
    #[inline(always)]
    pub fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if self.next >= self.end {
            return None;
        }
        loop {
            if stop.load(Relaxed) {
                return None;
            }
            if clock_nanosleep_absolute(ClockId::Monotonic, &self.target).is_ok() {
                break;
            }
        }
        Some(self.account(monotonic()))
    }

    /// Accounts for the wakeup at `now` and advances to the first release after it.
    #[inline(always)]
    fn account(&mut self, now: Nanos) -> Wakeup {
        let mut wakeup = Wakeup { cycle: self.cycle, release: Nanos(self.next), woke: now, skipped: 0 };
        self.next += self.period;
        self.cycle += 1;
        self.target.tv_sec += self.step.tv_sec;
        self.target.tv_nsec += self.step.tv_nsec;
        if self.target.tv_nsec >= SECOND {
            self.target.tv_nsec -= SECOND;
            self.target.tv_sec += 1;
        }
        if now.0 >= self.next {
            wakeup.skipped = self.skip(now.0);
        }
        wakeup
    }

    /// Skips and counts the releases at or before `now` (and before the end).
    #[cold]
    fn skip(&mut self, now: u64) -> u64 {
        let last = now.min(self.end - 1);
        if last < self.next {
            return 0;
        }
        let skipped = (last - self.next) / self.period + 1;
        self.next += skipped * self.period;
        self.cycle += skipped;
        self.target = timespec(Nanos(self.next));
        skipped
    }

    /// Returns the number of releases accounted for: those with a wakeup, and those skipped.
    pub fn released(&self) -> u64 {
        self.cycle
    }

    /// Returns the time of the next release, from which another loop can continue.
    pub fn next_release(&self) -> Nanos {
        Nanos(self.next)
    }
}

impl Wait for Periodic {
    fn begin(&mut self, start: Nanos, end: Nanos) {
        *self = Periodic::new(start, Nanos(self.period), end);
    }

    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        Periodic::wait(self, stop)
    }

    fn go_on(&mut self, duration: Nanos) {
        (self.end, self.cycle) = (self.next.saturating_add(duration.0), 0);
    }

    fn released(&self) -> u64 {
        self.cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_loop_runs_to_its_end() {
        let start = monotonic() + Nanos::from_millis(1);
        let mut periodic = Periodic::new(start, Nanos::from_micros(500), start + Nanos::from_millis(20));
        let stop = AtomicBool::new(false);
        let (mut ran, mut skipped) = (0, 0);
        while let Some(wakeup) = periodic.wait(&stop) {
            assert!(wakeup.woke >= wakeup.release);
            ran += 1;
            skipped += wakeup.skipped;
        }
        assert_eq!(ran + skipped, 40);
        assert_eq!(periodic.released(), 40);
    }

    #[test]
    fn a_set_stop_ends_it_at_once() {
        let mut periodic = Periodic::new(monotonic(), Nanos::from_secs(3600), Nanos(u64::MAX));
        assert_eq!(periodic.wait(&AtomicBool::new(true)), None);
        assert_eq!(periodic.released(), 0);
    }

    proptest! {
        /// Whatever the delays, every release before the end is counted exactly once and the next is in the future.
        #[test]
        fn released_is_ran_plus_skipped(
            period in 1u64..5_000_000,
            periods in 1u64..2_000,
            delays in proptest::collection::vec(0u64..50_000_000, 1..300),
        ) {
            let start = 10 * SECOND as u64 - 7;
            let end = start + period * periods;
            let mut p = Periodic::new(Nanos(start), Nanos(period), Nanos(end));
            let (mut ran, mut skipped) = (0u64, 0u64);
            for delay in delays {
                if p.next >= p.end {
                    break;
                }
                let now = p.next + delay;
                let wakeup = p.account(Nanos(now));
                prop_assert_eq!(wakeup.cycle, ran + skipped);
                prop_assert_eq!(wakeup.release.0, start + wakeup.cycle * period);
                ran += 1;
                skipped += wakeup.skipped;
                prop_assert!(p.next > now || p.next >= p.end);
                prop_assert_eq!(p.target, timespec(Nanos(p.next)));
                prop_assert_eq!(p.released(), ran + skipped);
                prop_assert!(p.released() <= periods);
            }
        }
    }
}
