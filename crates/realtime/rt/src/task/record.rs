//! Counters that a task writes and others read: one writer, no lock, relaxed stores.

use crate::Cycle;
use Number::*;
use punctual_uapi as uapi;
use punctual_units::{BINS, Histogram, Nanos, bin_index, bins_of_steps};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Size of the largest memory page, in words; arm64 has pages of up to 64 KiB.
const PAGE: usize = if cfg!(target_arch = "aarch64") { 8192 } else { 512 };
/// Number of words of a histogram: its bins, sum, minimum and maximum.
const COUNTS: usize = BINS + 3;
/// Number of words for single numbers: one for each variant of [`Number`]; they fill a cache line.
const NUMBERS: usize = 8;
const USED: std::ops::Range<usize> = PAGE..PAGE + NUMBERS + 3 * COUNTS;
/// The words in use, with an unused page before and after them, so that locking their pages locks no other data.
type Words = [AtomicU64; USED.end + PAGE];

/// Counts by bin, with exact extremes and sum.
#[derive(Clone, Copy)]
struct Counts<'a> {
    words: &'a Words,
    from: usize,
}

impl Counts<'_> {
    #[inline(always)]
    fn sum(&self) -> &AtomicU64 {
        &self.words[self.from + BINS]
    }

    #[inline(always)]
    fn min(&self) -> &AtomicU64 {
        &self.words[self.from + BINS + 1]
    }

    #[inline(always)]
    fn max(&self) -> &AtomicU64 {
        &self.words[self.from + BINS + 2]
    }

    /// Adds one value; returns true if it is the largest so far.
    #[inline(always)]
    fn add(&self, ns: u64) -> bool {
        add(&self.words[self.from + bin_index(ns)], 1);
        add(self.sum(), ns);
        if ns < self.min().load(Relaxed) {
            self.min().store(ns, Relaxed);
        }
        let largest = ns > self.max().load(Relaxed);
        if largest {
            self.max().store(ns, Relaxed);
        }
        largest
    }

    /// Adds `count` values: `largest`, `largest − step`, `largest − 2 × step`, ….
    fn add_steps(&self, largest: u64, step: u64, count: u64) {
        bins_of_steps(largest, step, count, |bin, n, sum| {
            add(&self.words[self.from + bin], n);
            add(self.sum(), sum);
        });
        if count > 0 {
            let smallest = largest.saturating_sub((count - 1).saturating_mul(step));
            self.min().store(self.min().load(Relaxed).min(smallest), Relaxed);
            self.max().store(self.max().load(Relaxed).max(largest), Relaxed);
        }
    }

    fn histogram(&self) -> Histogram {
        let bins = self.words[self.from..][..BINS].iter().map(|bin| bin.load(Relaxed)).collect();
        Histogram::from_bins(bins, self.min().load(Relaxed), self.max().load(Relaxed), self.sum().load(Relaxed).into())
    }
}

/// Counters of a task: 178 KiB, which are never on a stack.
pub(crate) struct Record {
    words: Box<Words>,
    /// Interval of the releases, ns; 0 if unknown.
    period: u64,
}

#[derive(Clone, Copy)]
enum Number {
    Ran,
    /// Odd while the counters of a miss are being changed, so that a reader tries again.
    Sequence,
    Skipped,
    Pending,
    DeadlineMisses,
    Overruns,
    /// Scheduled time of the release with the worst wakeup, ns.
    WorstScheduled,
    WorstIndex,
}

/// The wakeup with the largest lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorstCycle {
    /// Number of the release.
    pub index: u64,
    /// Time at which that release was due, CLOCK_MONOTONIC.
    pub scheduled: Nanos,
    /// Lateness of the wakeup.
    pub lateness: Nanos,
}

/// Release statistics of a task.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of releases so far: `ran + skipped + pending`.
    pub released: u64,
    /// Number of releases for which the body ran, including at most one that is still running.
    pub ran: u64,
    /// Number of skipped releases.
    pub skipped: u64,
    /// Number of releases that are due and will still run.
    pub pending: u64,
    /// Number of times the body returned after the deadline of its release.
    pub deadline_misses: u64,
    /// Number of times the kernel throttled the task because its runtime was used up ([`Cycle::overruns`]):
    /// SCHED_DEADLINE only.
    pub overruns: u64,
    /// Lateness of the task's wakeup, ns, one sample per release that ran.
    pub lateness: Histogram,
    /// Lateness of each skipped release at the wakeup that skipped it, ns: together with `lateness`, there is one
    /// sample for every release of a task. Empty for interrupt tasks, since the times of skipped events are unknown.
    pub given_up: Histogram,
    /// Time from the task's wakeup to the body's return, ns, including preemption; empty if it is not measured.
    pub execution: Histogram,
    /// The wakeup with the largest lateness; `None` if no wakeup was late.
    pub worst: Option<WorstCycle>,
}

impl Record {
    /// Creates empty counters. `period` is the time between releases; zero if they are not periodic.
    pub(crate) fn new(period: Nanos) -> Record {
        let words: Box<[AtomicU64]> = (0..USED.end + PAGE).map(|_| AtomicU64::new(0)).collect();
        // The number of words is that of the array.
        let words = words.try_into().unwrap_or_else(|_| unreachable!());
        let record = Record { words, period: period.0 };
        for counts in [record.lateness(), record.execution(), record.given_up()] {
            counts.min().store(u64::MAX, Relaxed);
        }
        record
    }

    #[inline(always)]
    fn number(&self, which: Number) -> &AtomicU64 {
        &self.words[USED.start + which as usize]
    }

    #[inline(always)]
    fn lateness(&self) -> Counts<'_> {
        Counts { words: &self.words, from: USED.start + NUMBERS }
    }

    #[inline(always)]
    fn execution(&self) -> Counts<'_> {
        Counts { words: &self.words, from: USED.start + NUMBERS + COUNTS }
    }

    /// Returns the counts of the lateness of skipped releases, measured when the task woke.
    #[inline(always)]
    fn given_up(&self) -> Counts<'_> {
        Counts { words: &self.words, from: USED.start + NUMBERS + 2 * COUNTS }
    }

    /// Writes to every page of the counters and locks the pages in memory. The error says why they are not locked.
    pub(crate) fn make_resident(&self) -> Result<(), uapi::Error> {
        for word in &self.words[USED] {
            word.store(word.load(Relaxed), Relaxed);
        }
        uapi::lock(&self.words[USED])
    }

    /// Accounts for a release that runs while no other is skipped or pending. The thread must have woken at or after
    /// the scheduled time.
    #[inline(always)]
    pub(crate) fn run(&self, cycle: &Cycle) {
        if self.lateness().add(cycle.woke.0.wrapping_sub(cycle.scheduled.0)) {
            self.new_worst(cycle.scheduled, cycle.index);
        }
        add(self.number(Ran), 1);
    }

    /// Accounts for a release that runs while others are skipped or pending.
    pub(crate) fn run_late(&self, cycle: &Cycle) {
        if self.lateness().add(cycle.lateness().0) {
            self.new_worst(cycle.scheduled, cycle.index);
        }
        self.missed(cycle, 1);
    }

    /// Accounts for the skipped releases of `cycle`, and for its own release: `ran` is 1 if that ran, otherwise 0.
    pub(crate) fn missed(&self, cycle: &Cycle, ran: u64) {
        self.number(Sequence).store(self.number(Sequence).load(Relaxed) + 1, Relaxed);
        fence(Release);
        add(self.number(Ran), ran);
        add(self.number(Skipped), cycle.skipped + (1 - ran));
        self.number(Pending).store(cycle.pending, Relaxed);
        if self.period > 0 {
            // If the late release itself did not run, it is the first one that was skipped.
            let largest = cycle.lateness().0.saturating_sub(ran * self.period);
            self.given_up().add_steps(largest, self.period, cycle.skipped + (1 - ran));
        }
        self.number(Sequence).store(self.number(Sequence).load(Relaxed) + 1, Release);
    }

    pub(crate) fn overran(&self, times: u64) {
        add(self.number(Overruns), times);
    }

    #[cold]
    #[inline(never)]
    fn new_worst(&self, scheduled: Nanos, index: u64) {
        self.number(WorstScheduled).store(scheduled.0, Relaxed);
        self.number(WorstIndex).store(index, Relaxed);
    }

    /// Accounts for a body that returned at `ended`.
    #[inline(always)]
    pub(crate) fn executed(&self, cycle: &Cycle, ended: Nanos, deadline: u64) {
        // CLOCK_MONOTONIC is monotonic, so this cannot underflow.
        self.execution().add(ended.0.wrapping_sub(cycle.woke.0));
        if ended.0.wrapping_sub(cycle.scheduled.0) > deadline {
            add(self.number(DeadlineMisses), 1);
        }
    }

    /// Returns everything counted so far. The four counts of releases are always consistent; while the task runs, the
    /// histograms may be one sample ahead or behind.
    pub(crate) fn counted(&self) -> Counted {
        let [ran, skipped, pending] = self.releases();
        let lateness = self.lateness().histogram();
        let [scheduled, index] = [WorstScheduled, WorstIndex].map(|which| self.number(which).load(Relaxed));
        let worst = lateness.max().filter(|max| *max > 0).map(|max| WorstCycle {
            index,
            scheduled: Nanos(scheduled),
            lateness: Nanos(max),
        });
        Counted {
            released: ran + skipped + pending,
            ran,
            skipped,
            pending,
            deadline_misses: self.number(DeadlineMisses).load(Relaxed),
            overruns: self.number(Overruns).load(Relaxed),
            lateness,
            execution: self.execution().histogram(),
            given_up: self.given_up().histogram(),
            worst,
        }
    }

    fn releases(&self) -> [u64; 3] {
        loop {
            let before = self.number(Sequence).load(Acquire);
            let read = [Ran, Skipped, Pending].map(|which| self.number(which).load(Relaxed));
            fence(Acquire);
            if before.is_multiple_of(2) && self.number(Sequence).load(Relaxed) == before {
                return read;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // The allocator may reuse the memory and should not find it locked; an error only means that it never was.
        let _ = uapi::unlock(&self.words[USED]);
    }
}

/// Adds `n` with a load and a store instead of an atomic read-modify-write instruction, so the caller must be the only
/// writer.
#[inline(always)]
fn add(word: &AtomicU64, n: u64) {
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(index: u64, late: u64, skipped: u64, pending: u64) -> Cycle {
        let scheduled = Nanos(1_000_000 * (index + 1));
        Cycle { index, scheduled, woke: scheduled + Nanos(late), skipped, pending, overruns: 0 }
    }

    #[test]
    fn what_is_counted_is_read() {
        let record = Box::new(Record::new(Nanos(1_000_000)));
        // Fails if no memory may be locked; the counts are the same.
        let _ = record.make_resident();
        for (cycle, took) in [(cycle(0, 5, 0, 0), 10), (cycle(1, 3_000_200, 3, 0), 400_000), (cycle(5, 7, 0, 0), 20)] {
            if cycle.skipped > 0 {
                record.run_late(&cycle)
            } else {
                record.run(&cycle)
            }
            record.executed(&cycle, cycle.woke + Nanos(took), 1_000_000);
        }
        let counted = record.counted();
        assert_eq!((counted.released, counted.ran, counted.skipped, counted.pending), (6, 3, 3, 0));
        assert_eq!(counted.deadline_misses, 1);
        assert_eq!(counted.lateness.count(), 3);
        let given_up: Vec<u64> = counted.given_up.bins().map(|bin| bin.count).collect();
        assert_eq!(
            (given_up, counted.given_up.min(), counted.given_up.max()),
            (vec![1; 3], Some(200), Some(2_000_200))
        );
        assert_eq!(counted.execution.max(), Some(400_000));
        let worst = WorstCycle { index: 1, scheduled: Nanos(2_000_000), lateness: Nanos(3_000_200) };
        assert_eq!(counted.worst, Some(worst));
    }

    #[test]
    fn what_is_owed_is_paid() {
        let record = Box::new(Record::new(Nanos(1_000_000)));
        for pending in [2, 1, 0] {
            record.run_late(&cycle(2 - pending, 5, 0, pending));
            assert_eq!(record.counted().pending, pending);
            assert_eq!(record.counted().released, 3);
        }
        record.missed(&cycle(3, 9, 4, 0), 0);
        assert_eq!((record.counted().ran, record.counted().skipped), (3, 5));
    }

    /// A reader never sees a partially counted miss: each miss counts one release as ran and three as skipped.
    #[test]
    fn counts_belong_together_at_any_time() {
        let record = std::sync::Arc::new(Record::new(Nanos(1_000_000)));
        let reader = record.clone();
        let looks = std::thread::spawn(move || {
            (0..20_000).all(|_| {
                let [ran, skipped, pending] = reader.releases();
                ran * 3 == skipped && pending == 0
            })
        });
        for index in 0..200_000 {
            record.run_late(&cycle(index, 5, 3, 0));
        }
        assert!(looks.join().unwrap());
    }
}
