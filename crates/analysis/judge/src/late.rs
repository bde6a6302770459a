//! The exact worst wakeups of a cell, and the periods skipped because of them.

use crate::episodes::counted;
use punctual_model::{EpisodeCounts, Worst};
use punctual_stats::Gap;
use punctual_units::{Arrange, Histogram};

pub(crate) struct Late {
    wakeups: Vec<Wakeup>,
    /// The list contains every wakeup later than this, ns; `None` if list and histogram contradict each other.
    complete_above: Option<u64>,
    cluster_threshold: u64,
    period: u64,
}

#[derive(Clone, Copy)]
struct Wakeup {
    latency: u64,
    cycle: u64,
    skipped: u64,
}

/// At most one in this many wakeups counts as extreme, because the theory of clustering applies to rare samples.
const EXTREME_SHARE: u64 = 10;

impl Late {
    /// Creates the list from the worst wakeups; `keep` is its intended length. The list is complete if it is full or
    /// has every late wakeup, and if its worst entry equals the maximum of the histogram. An imported run may have no
    /// list, and a damaged one may have a list that is too short.
    pub fn new(worst: &[&Worst], keep: usize, raw: &Histogram, period: u64) -> Late {
        let mut wakeups: Vec<Wakeup> =
            worst.iter().map(|w| Wakeup { latency: w.latency_ns, cycle: w.cycle, skipped: w.skipped }).collect();
        wakeups.arrange_by_key(|w| (std::cmp::Reverse(w.latency), w.cycle));
        let kept = wakeups.len() as u64;
        let on_time = raw.bins().find(|b| b.low == 0).map_or(0, |b| b.count);
        let whole = kept >= raw.count() - on_time;
        let complete_above = match wakeups.as_slice() {
            [first, ..] if raw.max() == Some(first.latency) => {
                if whole {
                    Some(0)
                } else {
                    wakeups.last().map(|last| last.latency).filter(|_| kept >= keep as u64)
                }
            }
            _ => None,
        };
        let extremes = (raw.count() / EXTREME_SHARE).min(kept.saturating_sub(1)) as usize;
        let cluster_threshold = wakeups.get(extremes).map_or(u64::MAX, |w| w.latency);
        Late { wakeups, complete_above, cluster_threshold, period }
    }

    /// Returns the threshold above which every wakeup is known and wakeups are rare enough to estimate clustering.
    /// `None` without a list.
    pub fn cluster_threshold(&self) -> Option<u64> {
        self.complete_above.map(|complete| complete.max(self.cluster_threshold))
    }

    /// Returns the exact number of wakeups later than `limit`, if the list covers them.
    pub fn wakeups_above(&self, limit: u64) -> Option<u64> {
        self.knows(limit).then(|| self.above(limit).count() as u64)
    }

    /// Returns the exact number of skipped periods later than `limit`, if the list covers them. Each belongs to a
    /// wakeup that was even later.
    pub fn skipped_above(&self, limit: u64) -> Option<u64> {
        let known = self.knows(limit) && self.period > 0;
        known.then(|| self.above(limit).map(|w| self.skipped_of(w, limit)).fold(0, u64::saturating_add))
    }

    /// Returns the episodes of all releases later than `limit`, and the number of late releases of an episode that had
    /// not ended after `released` periods. `None` if the list does not cover them.
    pub fn episodes_above(&self, limit: u64, released: u64) -> Option<(EpisodeCounts, u64)> {
        let mut runs: Vec<(u64, u64)> =
            self.above(limit).map(|w| (w.cycle, self.skipped_of(w, limit).saturating_add(1))).collect();
        runs.sort_unstable();
        self.knows(limit).then(|| counted(runs, released))
    }

    /// Returns the gaps, in periods, between all releases later than `limit`, and the number of such releases.
    pub fn gaps_above(&self, limit: u64) -> (Vec<Gap>, u64) {
        let mut runs: Vec<(u64, u64)> = self.above(limit).map(|w| (w.cycle, self.skipped_of(w, limit))).collect();
        runs.sort_unstable();
        let late = runs.iter().map(|&(_, skipped)| skipped.saturating_add(1)).fold(0, u64::saturating_add);
        let within = runs.iter().map(|&(_, skipped)| Gap { size: 1, times: skipped });
        let between = runs.windows(2).map(|w| {
            let last = w[0].0.saturating_add(w[0].1);
            Gap { size: w[1].0.saturating_sub(last).max(1), times: 1 }
        });
        (within.chain(between).filter(|g| g.times > 0).collect(), late)
    }

    fn knows(&self, limit: u64) -> bool {
        self.complete_above.is_some_and(|complete| limit >= complete)
    }

    fn above(&self, limit: u64) -> impl Iterator<Item = &Wakeup> {
        self.wakeups.iter().take_while(move |w| w.latency > limit)
    }

    /// Returns the number of periods skipped because of `w` that were later than `limit`. The j-th of them was late
    /// by latency − j·period.
    fn skipped_of(&self, w: &Wakeup, limit: u64) -> u64 {
        let j = w.latency.saturating_sub(limit).saturating_sub(1).checked_div(self.period);
        j.unwrap_or(0).min(w.skipped)
    }
}
