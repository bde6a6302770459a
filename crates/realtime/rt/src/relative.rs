//! Wakeups after a relative sleep.

use crate::Wakeup;
use crate::clock::{monotonic, sleep_until, timespec};
use crate::wait::{Remarks, Wait};
use punctual_units::Nanos;
use rustix::thread::{NanosleepRelativeResult, clock_nanosleep_relative};
use rustix::time::{ClockId, Timespec};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Relative sleeps of one period: clock_nanosleep(2) without TIMER_ABSTIME. A release is one period after the clock
/// read before the call, so a late wakeup delays all later releases: none is ever skipped, and the loop drifts.
#[derive(Clone, Debug)]
pub struct Relative {
    begin: Option<u64>,
    book: Book,
    step: Timespec,
}

#[derive(Clone, Debug)]
struct Book {
    period: u64,
    end: u64,
    cycle: u64,
    first: u64,
    last: u64,
}

impl Book {
    /// Returns the release of a sleep that begins at `now`; `None` if it would be at or after the end.
    #[inline(always)]
    fn release(&self, now: u64) -> Option<u64> {
        let release = now + self.period;
        (release < self.end).then_some(release)
    }

    #[inline(always)]
    fn woken(&mut self, release: u64, woke: Nanos) -> Wakeup {
        if self.cycle == 0 {
            self.first = release;
        }
        self.last = release;
        let wakeup = Wakeup { cycle: self.cycle, release: Nanos(release), woke, skipped: 0 };
        self.cycle += 1;
        wakeup
    }

    fn drift(&self) -> Nanos {
        Nanos(self.last.saturating_sub(self.first + self.cycle.saturating_sub(1) * self.period))
    }
}

impl Relative {
    /// Creates the loop without starting it.
    pub fn new(period: Nanos) -> Relative {
        let period = Nanos(period.0.max(1));
        let book = Book { period: period.0, end: 0, cycle: 0, first: 0, last: 0 };
        Relative { begin: None, book, step: timespec(period) }
    }

    /// Sleeps until `at` on CLOCK_MONOTONIC, or until `stop` is set.
    #[cold]
    fn sleep_until(at: u64, stop: &AtomicBool) {
        while !stop.load(Relaxed) && sleep_until(Nanos(at)).is_err() {}
    }
}

impl Wait for Relative {
    /// Starts the loop. The first sleep begins one period before `start`, or at once if that has passed.
    fn begin(&mut self, start: Nanos, end: Nanos) {
        self.book = Book { end: end.0, cycle: 0, first: 0, last: 0, ..self.book };
        self.begin = Some(start.0.saturating_sub(self.book.period));
    }

    #[inline(always)]
    fn wait(&mut self, stop: &AtomicBool) -> Option<Wakeup> {
        if let Some(at) = self.begin.take() {
            Relative::sleep_until(at, stop);
        }
        let release = self.book.release(monotonic().0)?;
        let mut left = self.step;
        loop {
            if stop.load(Relaxed) {
                return None;
            }
            match clock_nanosleep_relative(ClockId::Monotonic, &left) {
                NanosleepRelativeResult::Ok => break,
                NanosleepRelativeResult::Interrupted(rest) => left = rest,
                NanosleepRelativeResult::Err(_) => {}
            }
        }
        Some(self.book.woken(release, monotonic()))
    }

    fn go_on(&mut self, duration: Nanos) {
        let first = self.begin.map_or_else(|| monotonic().0, |at| at.max(monotonic().0)) + self.book.period;
        let end = first.saturating_add(duration.0);
        self.book = Book { end, cycle: 0, first: 0, last: 0, ..self.book };
    }

    fn released(&self) -> u64 {
        self.book.cycle
    }

    fn remarks(&self) -> Remarks {
        Remarks { drift: Some(self.book.drift()), ..Remarks::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each sleep is one release, none is skipped, and lateness and work add up to the drift.
        #[test]
        fn the_drift_is_the_sum_of_all_delays(
            period in 1u64..5_000_000,
            delays in proptest::collection::vec((0u64..50_000_000, 0u64..100_000), 1..300),
        ) {
            let mut book = Book { period, end: u64::MAX, cycle: 0, first: 0, last: 0 };
            let (mut now, mut drifted, mut ran) = (1_000u64, 0, 0);
            for (n, (late, work)) in delays.iter().enumerate() {
                let release = book.release(now).unwrap();
                let wakeup = book.woken(release, Nanos(release + late));
                ran += 1;
                prop_assert_eq!((wakeup.cycle, wakeup.latency(), wakeup.skipped), (n as u64, *late, 0));
                prop_assert_eq!((book.cycle, book.drift().0), (ran, drifted));
                now = release + late + work;
                drifted += late + work;
            }
        }

        #[test]
        fn no_release_is_at_the_end(now in 0u64..1_000, period in 1u64..1_000, end in 0u64..2_000) {
            let book = Book { period, end, cycle: 0, first: 0, last: 0 };
            prop_assert_eq!(book.release(now).is_some(), now + period < end);
        }
    }
}
