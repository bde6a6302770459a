//! Determines which releases are due and which were missed, and what happens to missed releases.

use crate::clock::timespec;
use punctual_units::Nanos;
use rustix::time::{Nsecs, Timespec};

const SECOND: Nsecs = 1_000_000_000;

/// One release of a periodic task; the argument of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Number of the release, from 0, including skipped ones.
    pub index: u64,
    /// Time at which the release was due: `first + index × period` on CLOCK_MONOTONIC, however late earlier cycles
    /// were.
    pub scheduled: Nanos,
    /// Time at which the thread woke for this release, CLOCK_MONOTONIC.
    pub woke: Nanos,
    /// Number of missed releases, for which the body will not run, between this one and the next that will run.
    pub skipped: u64,
    /// Number of releases that are due and will still run; only with [`Miss::CatchUp`].
    pub pending: u64,
    /// Number of times the kernel throttled the task since its previous cycle because its runtime was used up; only
    /// with SCHED_DEADLINE. Detected at ticks, so several overruns within one tick may count as one.
    pub overruns: u64,
}

impl Cycle {
    /// Returns the lateness of the thread's wakeup.
    #[inline(always)]
    pub fn lateness(&self) -> Nanos {
        self.woke.saturating_sub(self.scheduled)
    }
}

/// Return value of a task's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for the next release.
    Continue,
    /// End the task; [`crate::End::Returned`].
    Stop,
}

/// What happens to releases that pass while the task is late by a period or more, because it woke late or its body
/// returned late.
#[derive(Clone, Copy, Debug)]
pub enum Miss {
    /// Missed releases are counted but not run. The next release is the first in the future, at its unchanged time. For
    /// control loops and samplers.
    Skip,
    /// Missed releases run immediately, one after the other, with their own index and scheduled time. At most `at_most`
    /// are pending; older ones are counted but not run. For a task that must do each step, such as a player.
    CatchUp {
        /// Maximum number of pending releases.
        at_most: u64,
    },
    /// The task ends with [`crate::End::Missed`] without running the late release.
    Stop,
    /// This function runs instead of the body for the late release. All missed releases, including the late one, count
    /// as skipped. The function's return value decides whether the task continues.
    SafeState(fn(&Cycle) -> Next),
}

/// What a task does after a wakeup with missed or pending releases.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Late {
    /// Run the body.
    Run(Cycle),
    /// This release was missed: call the function if there is one, otherwise end.
    Missed(Cycle, Option<fn(&Cycle) -> Next>),
}

/// The times of the releases of a task, and the next release.
#[derive(Clone, Debug)]
pub(crate) struct Releases {
    next: u64,
    period: u64,
    index: u64,
    /// Number of releases of an earlier miss that have not run yet.
    pending: u64,
    miss: Miss,
    target: Timespec,
    step: Timespec,
}

impl Releases {
    /// Creates releases at `first`, `first + period`, …; the period must be at least 1 ns.
    pub(crate) fn new(first: Nanos, period: Nanos, miss: Miss) -> Releases {
        let period = Nanos(period.0.max(1));
        let (target, step) = (timespec(first), timespec(period));
        Releases { next: first.0, period: period.0, index: 0, pending: 0, miss, target, step }
    }

    /// Returns the time at which to wake for the next release.
    #[inline(always)]
    pub(crate) fn target(&self) -> &Timespec {
        &self.target
    }

    /// Returns the number of releases that ran or were skipped.
    #[inline(always)]
    pub(crate) fn accounted(&self) -> u64 {
        self.index
    }

    /// Accounts for the wakeup at `now` if no other release is due by then and none is pending. Otherwise returns
    /// `None`, and [`Releases::late`] must be called.
    #[inline(always)]
    pub(crate) fn on_time(&mut self, now: Nanos) -> Option<Cycle> {
        // A wakeup before its release, which the kernel never causes, would count as late here and as on time in
        // `late`.
        if now.0.wrapping_sub(self.next) >= self.period || self.pending > 0 {
            return None;
        }
        let cycle =
            Cycle { index: self.index, scheduled: Nanos(self.next), woke: now, skipped: 0, pending: 0, overruns: 0 };
        self.next += self.period;
        self.index += 1;
        self.target.tv_sec += self.step.tv_sec;
        self.target.tv_nsec += self.step.tv_nsec;
        if self.target.tv_nsec >= SECOND {
            self.target.tv_nsec -= SECOND;
            self.target.tv_sec += 1;
        }
        Some(cycle)
    }

    /// Accounts for the wakeup at `now`, for which [`Releases::on_time`] returned `None`.
    pub(crate) fn late(&mut self, now: Nanos) -> Late {
        self.miss(now, now)
    }

    /// Accounts for the wakeup at `now` if the releases after its own and up to `until`, which is later than `now`,
    /// cannot be met: they are skipped, even with [`Miss::CatchUp`].
    pub(crate) fn give_up(&mut self, now: Nanos, until: Nanos) -> Late {
        self.miss(now, until.max(now))
    }

    /// Returns the time of the next release.
    #[inline(always)]
    pub(crate) fn next(&self) -> Nanos {
        Nanos(self.next)
    }

    /// Moves all later releases, so that the next is at `at`.
    pub(crate) fn move_to(&mut self, at: Nanos) {
        self.next = at.0;
        self.target = timespec(at);
    }

    fn miss(&mut self, now: Nanos, until: Nanos) -> Late {
        let mut cycle =
            Cycle { index: self.index, scheduled: Nanos(self.next), woke: now, skipped: 0, pending: 0, overruns: 0 };
        self.pass(1);
        let due = if until.0 < self.next { 0 } else { (until.0 - self.next) / self.period + 1 };
        match self.miss {
            Miss::CatchUp { at_most } if until == now => {
                cycle.pending = due.min(at_most);
                cycle.skipped = due - cycle.pending;
                self.pending = cycle.pending;
                self.pass(cycle.skipped);
                Late::Run(cycle)
            }
            Miss::Skip | Miss::CatchUp { .. } => {
                cycle.skipped = due;
                self.pending = 0;
                self.pass(due);
                Late::Run(cycle)
            }
            Miss::Stop | Miss::SafeState(_) => {
                cycle.skipped = due;
                self.pass(due);
                let safe = if let Miss::SafeState(function) = self.miss { Some(function) } else { None };
                Late::Missed(cycle, safe)
            }
        }
    }

    fn pass(&mut self, releases: u64) {
        self.next += releases * self.period;
        self.index += releases;
        self.target = timespec(Nanos(self.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Accounts for the wakeup at `now`. Returns the cycle, and whether it runs.
    fn book(releases: &mut Releases, now: Nanos) -> (Cycle, bool) {
        match releases.on_time(now) {
            Some(cycle) => (cycle, true),
            None => match releases.late(now) {
                Late::Run(cycle) => (cycle, true),
                Late::Missed(cycle, _) => (cycle, false),
            },
        }
    }

    /// Returns index, skipped and pending of each cycle of 20 releases, with a stall of 15.5 periods at release 3.
    fn stalled(miss: Miss) -> Vec<(u64, u64, u64)> {
        let mut releases = Releases::new(Nanos(1_000), Nanos(100), miss);
        let mut now = 0;
        let mut seen = Vec::new();
        while releases.index < 22 {
            now = now.max(releases.next) + if releases.index == 3 { 1_550 } else { 0 };
            let (cycle, _) = book(&mut releases, Nanos(now));
            seen.push((cycle.index, cycle.skipped, cycle.pending));
        }
        seen
    }

    #[test]
    fn skipping_keeps_the_grid() {
        assert_eq!(stalled(Miss::Skip)[3..5], [(3, 15, 0), (19, 0, 0)]);
    }

    #[test]
    fn catching_up_runs_each_and_gives_up_what_is_too_much() {
        let all = stalled(Miss::CatchUp { at_most: 100 });
        assert_eq!(all[3..6], [(3, 0, 15), (4, 0, 14), (5, 0, 13)]);
        assert_eq!(all[18..20], [(18, 0, 0), (19, 0, 0)]);
        let some = stalled(Miss::CatchUp { at_most: 2 });
        assert_eq!(some[3..7], [(3, 13, 2), (17, 0, 1), (18, 0, 0), (19, 0, 0)]);
    }

    #[test]
    fn releases_that_cannot_be_kept_are_given_up_before_they_are_due() {
        for miss in [Miss::Skip, Miss::CatchUp { at_most: 5 }] {
            let mut releases = Releases::new(Nanos(1_000), Nanos(100), miss);
            let Late::Run(cycle) = releases.give_up(Nanos(1_020), Nanos(1_115)) else { panic!("it runs") };
            assert_eq!((cycle.index, cycle.skipped, cycle.pending, releases.next()), (0, 1, 0, Nanos(1_200)));
        }
        let mut releases = Releases::new(Nanos(1_000), Nanos(100), Miss::Stop);
        assert!(matches!(releases.give_up(Nanos(1_020), Nanos(1_115)), Late::Missed(Cycle { skipped: 1, .. }, None)));
    }

    #[test]
    fn a_task_that_must_not_be_late_is_reported() {
        let mut releases = Releases::new(Nanos(1_000), Nanos(100), Miss::Stop);
        assert!(releases.on_time(Nanos(1_099)).is_some());
        assert!(releases.on_time(Nanos(1_200)).is_none());
        assert!(matches!(releases.late(Nanos(1_200)), Late::Missed(Cycle { index: 1, skipped: 1, .. }, None)));
        assert_eq!(releases.accounted(), 3);
    }

    proptest! {
        /// Whatever the delays and the policy, every release is counted once, in order, and at its nominal time.
        #[test]
        fn released_is_ran_skipped_and_pending(
            period in 1u64..5_000_000,
            delays in proptest::collection::vec(prop_oneof![4 => 0u64..5_000, 1 => 0u64..50_000_000], 1..400),
            policy in 0u8..4,
            at_most in 0u64..20,
        ) {
            let miss = match policy {
                0 => Miss::Skip,
                1 => Miss::CatchUp { at_most },
                2 => Miss::Stop,
                _ => Miss::SafeState(|_| Next::Continue),
            };
            let first = 10 * SECOND as u64 - 7;
            let mut releases = Releases::new(Nanos(first), Nanos(period), miss);
            let (mut now, mut ran, mut skipped, mut last) = (0u64, 0u64, 0u64, None);
            for delay in delays {
                now = now.max(releases.next) + delay;
                let (cycle, run) = book(&mut releases, Nanos(now));
                prop_assert_eq!(cycle.scheduled.0, first + cycle.index * period);
                prop_assert!(last.is_none_or(|before| before < cycle.index));
                last = Some(cycle.index);
                if run { ran += 1 } else { skipped += 1 }
                skipped += cycle.skipped;
                prop_assert_eq!(releases.index + releases.pending, ran + skipped + cycle.pending);
                prop_assert_eq!(releases.pending, cycle.pending);
                prop_assert!(cycle.pending <= at_most);
                prop_assert_eq!(*releases.target(), timespec(Nanos(releases.next)));
                // Nothing that is due is left out: without pending releases, the next one is in the future.
                prop_assert!(cycle.pending > 0 || releases.next > now);
                prop_assert!(releases.next + cycle.pending * period > now);
            }
        }
    }
}
