//! Assembles one CPU's timerlat samples.
//!
//! Each activation has two or three records: the latencies of the timer interrupt, of the thread and, with a user-space
//! thread, of its return to user space. All contain the number of the activation, so a missing number reveals a lost
//! record. A period that passes while the thread is late is not an activation and has no number (wait_next_period() in
//! kernel/trace/trace_osnoise.c skips it); the time between releases reveals it.

use punctual_measure::Cell;
use punctual_rt::Wakeup;
use punctual_trace::TimerlatContext;
use punctual_units::Nanos;
use std::sync::Arc;

/// Number of kinds of latency: interrupt, thread, return to user space.
pub(super) const KINDS: usize = 3;

/// Largest latency that is considered plausible: one year, ns.
const LONGEST: u64 = 366 * 86_400 * 1_000_000_000;

pub(super) struct Lane {
    /// Cells for interrupt, thread and user space, in this order.
    pub cells: [Arc<Cell>; KINDS],
    /// Number of missing records, by kind.
    pub lost: [u64; KINDS],
    /// Number of times the activations were numbered from the start again, because another program restarted the
    /// tracer.
    pub restarts: u64,
    user: bool,
    period: u64,
    from: u64,
    to: u64,
    /// A reference release, ns. All releases are a whole number of periods away from it.
    base: Option<u64>,
    pending: Option<Activation>,
}

struct Activation {
    count: u64,
    /// Number of periods since the reference release.
    index: u64,
    release: u64,
    latencies: [Option<u64>; KINDS],
}

impl Lane {
    /// Creates a counter of activations released in `from..to`. `user` is true if each has three records.
    pub fn new(period: Nanos, keep: usize, from: Nanos, to: Nanos, user: bool) -> Lane {
        Lane {
            cells: [(); KINDS].map(|()| Arc::new(Cell::new(keep))),
            lost: [0; KINDS],
            restarts: 0,
            user,
            period: period.0.max(1),
            from: from.0,
            to: to.0,
            base: None,
            pending: None,
        }
    }

    /// Processes one record: the time at which it was written, and its content.
    pub fn record(&mut self, t_ns: u64, count: u64, context: TimerlatContext, latency: u64) {
        let latency = latency.min(LONGEST);
        if self.pending.as_ref().is_none_or(|pending| pending.count != count) {
            self.begin(count, t_ns.saturating_sub(latency));
        }
        let kind = match context {
            TimerlatContext::Irq => 0,
            TimerlatContext::Thread => 1,
            TimerlatContext::User => 2,
        };
        if let Some(place) = self.pending.as_mut().and_then(|pending| pending.latencies.get_mut(kind)) {
            *place = Some(latency);
        }
    }

    fn begin(&mut self, count: u64, release: u64) {
        let before = self.pending.take();
        let restarted = before.as_ref().is_some_and(|before| count < before.count || release < before.release);
        if restarted {
            self.restarts += 1;
            self.base = None;
        }
        // Records are written shortly after the time they describe, so the earliest one is the best reference.
        let base = *self.base.get_or_insert(release);
        let index = release.saturating_sub(base).saturating_add(self.period / 2) / self.period;
        let ideal = base.saturating_add(index.saturating_mul(self.period));
        if release < ideal {
            self.base = Some(base - (ideal - release).min(base));
        }
        match before {
            Some(before) if !restarted => {
                let between = index.saturating_sub(before.index).saturating_sub(1);
                let missing = (count - before.count - 1).min(self.periods_in(before.release, between));
                self.lost[0] += missing;
                self.lost[1] += missing;
                self.lost[2] += if self.user { missing } else { 0 };
                self.settle(&before, between.saturating_sub(count - before.count - 1), true);
            }
            Some(before) => self.settle(&before, 0, true),
            None => {}
        }
        let index = if restarted { 0 } else { index };
        self.pending = Some(Activation { count, index, release, latencies: [None; KINDS] });
    }

    /// Returns how many of the `periods` starting with this release are recorded.
    fn periods_in(&self, release: u64, periods: u64) -> u64 {
        let counts = (self.from..self.to).contains(&release);
        if counts { periods.min(self.to.saturating_sub(release).saturating_sub(1) / self.period) } else { 0 }
    }

    /// Counts an activation and the periods skipped before the next one. `whole` is true if all its records should
    /// exist.
    fn settle(&mut self, activation: &Activation, skipped: u64, whole: bool) {
        if !(self.from..self.to).contains(&activation.release) {
            return;
        }
        let skipped = self.periods_in(activation.release, skipped);
        for (kind, latency) in activation.latencies.into_iter().enumerate().take(if self.user { 3 } else { 2 }) {
            let (Some(cell), Some(lost)) = (self.cells.get(kind), self.lost.get_mut(kind)) else { continue };
            let Some(latency) = latency else {
                *lost += u64::from(whole);
                continue;
            };
            let release = Nanos(activation.release);
            // A thread can be late although the interrupt is not. The interrupt is then not responsible for the skipped
            // periods.
            let own = skipped.min(latency / self.period);
            let woke = Nanos(activation.release.saturating_add(latency));
            cell.record(&Wakeup { cycle: activation.index, release, woke, skipped: own }, self.period);
            cell.skip(skipped - own);
        }
    }

    /// Counts the last activation. Later periods that have no records and ended more than a period ago count as
    /// skipped. Returns the time since which a thread that has not run until `now` has been waiting, ns.
    pub fn finish(&mut self, now: Nanos) -> Option<u64> {
        let last = self.pending.take()?;
        self.to = self.to.min(now.0.saturating_sub(self.period)).max(last.release.saturating_add(1).min(self.to));
        self.settle(&last, u64::MAX, false);
        let [_, thread, _] = last.latencies;
        (thread.is_none() && (self.from..self.to).contains(&last.release)).then_some(last.release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimerlatContext::{Irq, Thread, User};
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn lane(user: bool) -> Lane {
        Lane::new(Nanos(MS), 16, Nanos(1_000 * MS), Nanos(2_000 * MS), user)
    }

    fn activation(lane: &mut Lane, count: u64, release: u64, latencies: &[u64]) {
        for (context, latency) in [Irq, Thread, User].into_iter().zip(latencies) {
            lane.record(release + latency + 300, count, context, *latency);
        }
    }

    fn counts(lane: &Lane) -> Vec<(u64, u64)> {
        let both = |cell: &Arc<Cell>| (cell.histograms().0.count(), cell.histograms().1.count());
        lane.cells.iter().map(both).collect()
    }

    #[test]
    fn every_kind_has_a_sample_of_every_activation() {
        let mut lane = lane(true);
        (0..10).for_each(|n| activation(&mut lane, n + 7, 1_000 * MS + n * MS, &[2_000, 5_000, 9_000]));
        assert_eq!(lane.finish(Nanos(0)), None);
        assert_eq!((counts(&lane), lane.lost), (vec![(10, 0); 3], [0; 3]));
        assert_eq!(lane.cells[2].worst()[0].latency, 9_000);
    }

    #[test]
    fn what_lies_outside_does_not_count() {
        let mut lane = lane(false);
        (0..3_000).for_each(|n| activation(&mut lane, n, n * MS + 100, &[2_000, 5_000]));
        assert_eq!(lane.finish(Nanos(0)), None);
        assert_eq!((counts(&lane), lane.lost), (vec![(1_000, 0), (1_000, 0), (0, 0)], [0; 3]));
    }

    #[test]
    fn periods_that_passed_are_skipped_and_scored() {
        let mut lane = lane(false);
        activation(&mut lane, 1, 1_000 * MS, &[2_000, 3_400_000]);
        activation(&mut lane, 2, 1_004 * MS, &[2_000, 5_000]);
        lane.finish(Nanos(0));
        assert_eq!((counts(&lane), lane.lost), (vec![(2, 3), (2, 3), (0, 0)], [0; 3]));
        let late = lane.cells[1].worst()[0];
        assert_eq!((late.latency, late.skipped), (3_400_000, 3));
        // The delays are 2.4, 1.4 and 0.4 ms. The interrupt of a skipped period is not late.
        assert!(lane.cells[1].histograms().1.max().is_some_and(|max| (2_390_000..2_420_000).contains(&max)));
        assert_eq!(lane.cells[0].histograms().1.max(), Some(0));
    }

    #[test]
    fn numbers_that_are_missing_are_lost_and_not_skipped() {
        let mut lane = lane(true);
        activation(&mut lane, 1, 1_000 * MS, &[2_000, 5_000, 7_000]);
        activation(&mut lane, 4, 1_004 * MS, &[2_000, 5_000]);
        activation(&mut lane, 5, 1_005 * MS, &[2_000, 5_000, 7_000]);
        lane.finish(Nanos(0));
        assert_eq!((counts(&lane), lane.lost), (vec![(3, 1), (3, 1), (2, 1)], [2, 2, 3]));
    }

    #[test]
    fn records_that_are_written_late_move_nothing() {
        let mut lane = lane(false);
        // The first record is written 300 µs after the time it describes, later ones immediately.
        lane.record(1_000 * MS + 302_000, 1, Irq, 2_000);
        lane.record(1_000 * MS + 5_000, 1, Thread, 5_000);
        (1..50).for_each(|n| activation(&mut lane, n + 1, 1_000 * MS + n * MS, &[2_000, 5_000]));
        lane.finish(Nanos(0));
        assert_eq!((counts(&lane)[1], lane.lost), ((50, 0), [0; 3]));
    }

    #[test]
    fn a_thread_that_never_came_back_is_reported() {
        let mut lane = lane(false);
        activation(&mut lane, 1, 1_000 * MS, &[2_000, 5_000]);
        activation(&mut lane, 2, 1_001 * MS, &[2_000]);
        assert_eq!(lane.finish(Nanos(0)), Some(1_001 * MS + 300));
        assert_eq!(counts(&lane), [(2, 0), (1, 0), (0, 0)]);
    }

    #[test]
    fn periods_without_a_successor_are_skipped_and_not_forgotten() {
        for (now, skipped) in [(1_006 * MS, 3), (2_500 * MS, 998), (1_002 * MS, 0)] {
            let mut lane = lane(false);
            activation(&mut lane, 1, 1_000 * MS, &[2_000, 5_000]);
            activation(&mut lane, 2, 1_001 * MS - 300, &[2_000, 900_000]);
            assert_eq!(lane.finish(Nanos(now)), None);
            let skips: Vec<u64> = counts(&lane).into_iter().map(|(_, skipped)| skipped).collect();
            assert_eq!(skips, [skipped, skipped, 0], "{now}");
        }
    }

    #[test]
    fn a_restart_is_counted_and_gives_no_gap() {
        let mut lane = lane(false);
        activation(&mut lane, 500, 1_000 * MS, &[2_000, 5_000]);
        activation(&mut lane, 1, 1_500 * MS + 77, &[2_000, 5_000]);
        lane.finish(Nanos(0));
        assert_eq!((lane.restarts, counts(&lane)[1], lane.lost), (1, (2, 0), [0; 3]));
    }

    proptest! {
        #[test]
        fn any_records_are_taken(records in proptest::collection::vec((any::<u64>(), any::<u64>(), 0u8..3, any::<u64>()), 0..60)) {
            let mut lane = lane(true);
            for (t, count, context, latency) in records {
                lane.record(t, count, [Irq, Thread, User][usize::from(context)], latency);
            }
            lane.finish(Nanos(0));
        }

        #[test]
        fn released_is_what_the_times_say(skips in proptest::collection::vec(0u64..4, 1..60), early in 0u64..300_000) {
            let mut lane = lane(false);
            let mut release = 1_000 * MS + early;
            for (count, skip) in skips.iter().enumerate() {
                activation(&mut lane, count as u64, release, &[1_000, skip * MS + 10_000]);
                release += (skip + 1) * MS;
            }
            lane.finish(Nanos(0));
            let skipped: u64 = skips[..skips.len() - 1].iter().sum();
            prop_assert_eq!(counts(&lane)[1], (skips.len() as u64, skipped));
            prop_assert_eq!(lane.lost, [0; 3]);
        }
    }
}
