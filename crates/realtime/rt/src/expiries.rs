//! Accounts for the releases of periodic kernel timers that count their own expiries.

use crate::Wakeup;
use punctual_units::Nanos;

/// Releases of a periodic absolute timer. The kernel reports how many expired; the clock bounds that number.
#[derive(Clone, Debug)]
pub(crate) struct Expiries {
    next: u64,
    period: u64,
    end: u64,
    cycle: u64,
    /// Time at which the thread last read its clock. The kernel's next count must include everything due by then.
    known: u64,
    disagreements: u64,
}

impl Expiries {
    pub fn new(start: Nanos, period: Nanos, end: Nanos) -> Expiries {
        Expiries { next: start.0, period: period.0.max(1), end: end.0, cycle: 0, known: 0, disagreements: 0 }
    }

    /// Returns true if no release is left.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.next >= self.end
    }

    /// Returns the number of releases due at or before `at` that have not been accounted for.
    #[inline(always)]
    fn due(&self, at: u64) -> u64 {
        if at >= self.next { (at - self.next) / self.period + 1 } else { 0 }
    }

    /// Accounts for one result of the kernel: `count` expiries since the previous result. `woke` is the clock read just
    /// afterwards.
    ///
    /// `count` is used only within the bounds that the clock gives. The kernel advances the timer before the clock is
    /// read, so a release between the two belongs to the next result.
    #[inline(always)]
    pub fn book(&mut self, count: u64, woke: Nanos) -> Wakeup {
        let (least, most) = (self.due(self.known), self.due(woke.0));
        if count < least.max(1) || count > most {
            self.disagreements += 1;
        }
        let count = count.clamp(least.max(1), most.max(least).max(1));
        let left = (self.end - 1 - self.next) / self.period;
        let skipped = (count - 1).min(left);
        let wakeup = Wakeup { cycle: self.cycle, release: Nanos(self.next), woke, skipped };
        self.cycle += 1 + skipped;
        self.next += count * self.period;
        self.known = woke.0;
        wakeup
    }

    pub fn go_on(&mut self, duration: Nanos) {
        (self.end, self.cycle, self.disagreements) = (self.next.saturating_add(duration.0), 0, 0);
    }

    pub fn released(&self) -> u64 {
        self.cycle
    }

    pub fn disagreements(&self) -> u64 {
        self.disagreements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: u64 = 1_000_000_000;

    /// A model of a kernel timer that is advanced as hrtimer_forward() does.
    struct Kernel {
        next: u64,
        period: u64,
    }

    impl Kernel {
        fn answer(&mut self, at: u64) -> u64 {
            let count = (at - self.next) / self.period + 1;
            self.next += count * self.period;
            count
        }
    }

    proptest! {
        /// For any lateness, and any time between the kernel's count and the clock read: each release before the end is
        /// counted once, the kernel's count is used, and no disagreement is reported.
        #[test]
        fn released_is_ran_plus_skipped(
            period in 10u64..5_000_000,
            periods in 1u64..2_000,
            warmup in 0u64..20,
            delays in proptest::collection::vec((0u64..50_000_000, 0u64..6_000_000), 1..300),
        ) {
            let mut kernel = Kernel { next: START, period };
            let mut e = Expiries::new(Nanos(START), Nanos(period), Nanos(START + warmup * period));
            let (mut now, mut recording, mut first) = (START - 1, false, START);
            let (mut ran, mut skipped) = (0u64, 0u64);
            for (late, race) in delays {
                if e.is_over() && !recording {
                    recording = true;
                    first = e.next;
                    e.go_on(Nanos(period * periods));
                    (ran, skipped) = (0, 0);
                }
                if e.is_over() {
                    break;
                }
                let answered = now.max(kernel.next) + late;
                let count = kernel.answer(answered);
                now = answered + race;
                let wakeup = e.book(count, Nanos(now));
                prop_assert_eq!(wakeup.cycle, ran + skipped);
                prop_assert!(wakeup.release.0 <= answered);
                prop_assert!(wakeup.skipped == 0 || wakeup.latency() >= wakeup.skipped * period);
                ran += 1;
                skipped += wakeup.skipped;
                prop_assert_eq!(e.released(), ran + skipped);
                prop_assert_eq!(e.disagreements(), 0);
                prop_assert_eq!(e.next, kernel.next);
                if recording {
                    prop_assert!(e.released() <= periods);
                    prop_assert_eq!(wakeup.release.0, first + wakeup.cycle * period);
                }
            }
        }

        /// Wrong counts of the kernel are reported as disagreements and limited by the clock, and each release is still
        /// counted once.
        #[test]
        fn a_wrong_count_is_a_disagreement(counts in proptest::collection::vec(0u64..u64::MAX, 1..100), step in 0u64..5_000) {
            let mut e = Expiries::new(Nanos(START), Nanos(1_000), Nanos(START + 1_000_000));
            let (mut now, mut accounted) = (START, 0);
            for count in counts {
                if e.is_over() {
                    break;
                }
                let most = e.due(now);
                let before = e.disagreements();
                let wakeup = e.book(count, Nanos(now));
                prop_assert!(e.disagreements() > before || (count >= 1 && count <= most));
                accounted += 1 + wakeup.skipped;
                prop_assert_eq!(e.released(), accounted);
                now += step;
            }
        }
    }

    #[test]
    fn an_expiry_that_the_kernel_forgets_is_reported() {
        let mut e = Expiries::new(Nanos(START), Nanos(1_000), Nanos(u64::MAX));
        e.book(1, Nanos(START + 10));
        // Two releases were due at the last clock reading, but the kernel reports one.
        e.book(1, Nanos(START + 3_500));
        assert_eq!(e.disagreements(), 0);
        e.book(1, Nanos(START + 4_100));
        assert_eq!(e.disagreements(), 1);
        assert_eq!(e.released(), 4);
    }
}
