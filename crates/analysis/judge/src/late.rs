//! The exact worst wakeups of one cell, and the periods that were skipped because of each.

use punctual_model::Worst;
use punctual_stats::Gap;
use punctual_units::{Arrange, Histogram};

/// The kept worst wakeups of a cell.
pub(crate) struct Late {
    /// The worst first.
    wakeups: Vec<Wakeup>,
    /// Every wakeup later than this is in the list, ns; `None` where the list does not agree with the histogram.
    complete_above: Option<u64>,
    /// The lowest threshold at which clustering is looked at, ns.
    cluster_threshold: u64,
    period: u64,
}

#[derive(Clone, Copy)]
struct Wakeup {
    latency: u64,
    cycle: u64,
    skipped: u64,
}

/// Extremes are the latest tenth of the wakeups at most: the theory of clustering is about rare samples.
const EXTREME_SHARE: u64 = 10;

impl Late {
    /// From the list as kept, of which `keep` were to be kept. Complete where it is full, or holds every wakeup that
    /// was late at all, and its worst is the histogram's maximum: an imported run may have none, a torn one too few.
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

    /// Every wakeup above this is known, and they are few: where clustering can be estimated. `None` without a list.
    pub fn cluster_threshold(&self) -> Option<u64> {
        self.complete_above.map(|complete| complete.max(self.cluster_threshold))
    }

    /// Exactly how many wakeups were later than `limit`, where the list knows.
    pub fn wakeups_above(&self, limit: u64) -> Option<u64> {
        self.knows(limit).then(|| self.above(limit).count() as u64)
    }

    /// Exactly how many skipped periods were later than `limit`, where the list knows: each belongs to a wakeup that
    /// was later still.
    pub fn skipped_above(&self, limit: u64) -> Option<u64> {
        let known = self.knows(limit) && self.period > 0;
        known.then(|| self.above(limit).map(|w| self.skipped_of(w, limit)).fold(0, u64::saturating_add))
    }

    /// The gaps, in periods, between all releases later than `limit`, and how many such releases there are.
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

    /// Periods skipped because of `w` that were later than `limit`: the j-th was latency − j·period late.
    fn skipped_of(&self, w: &Wakeup, limit: u64) -> u64 {
        let j = w.latency.saturating_sub(limit).saturating_sub(1).checked_div(self.period);
        j.unwrap_or(0).min(w.skipped)
    }
}
