//! Late episodes of a cell above a limit, and the evidence about rates and shares that follows from them. The crate
//! documentation explains the method.

use crate::cell::Samples;
use punctual_model::{EPISODE_GAP, EpisodeCounts, Episodes};
use punctual_stats::{expected_lower, expected_upper, ln_e_above, ln_e_below, ln_mean_e};
use punctual_units::Nanos;

/// Stall assumed when bounding a share if the order of samples is unknown and the claim declares no stall. RT
/// throttling stops every real-time thread for 50 ms in each second (Documentation/scheduler/sched-rt-group.rst).
pub(crate) const USUAL_STALL: Nanos = Nanos::from_millis(50);

/// Late episodes above a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    /// Minimum and maximum number of late releases.
    pub releases: (u64, u64),
    /// Episode counts; `None` if the order of the samples is unknown.
    pub episodes: Option<EpisodeCounts>,
    /// Late releases of the episode in which recording ended; 0 if recording did not end in one.
    pub open: u64,
}

/// Number of released jobs, and the maximum number of releases that a stall makes late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exposure {
    pub released: f64,
    pub stall: f64,
}

/// Returns the maximum number of releases that a disturbance of this length makes late, namely those that occur
/// during it. `None` if the period is unknown.
pub(crate) fn releases_of(stall: Nanos, period: u64) -> Option<f64> {
    (period > 0).then(|| stall.0.div_ceil(period).max(1) as f64)
}

pub(crate) fn late(samples: &Samples, limit: u64, releases: (u64, u64)) -> Late {
    // Other counts contradict the samples, which is reported as a doubt. They refute nothing.
    let most = samples.beyond(limit).1;
    let recorded = samples.episodes.iter().find(|e| e.limit_ns.0 == limit && e.late <= most && e.count <= e.late);
    let (counts, open) = match recorded {
        Some(&Episodes { count, late, most_late, longest, length, open, .. }) => {
            (Some(EpisodeCounts { count, late, most_late, longest, length }), open)
        }
        None => match samples.late.episodes_above(limit, samples.corrected.count()) {
            Some((counts, open)) => (Some(counts), open),
            None => (None, 0),
        },
    };
    // Late releases are counted both by bins and individually. The stronger result is used.
    let late = counts.map_or(0, |counts| counts.late);
    Late { releases: (releases.0, releases.1.max(late)), episodes: counts, open }
}

impl Late {
    /// Returns ln of the e-value against "the share of late releases is at least `share`", if no disturbance makes more
    /// than `stall` releases late. If the last episode had not ended, it counts as an episode of `stall` releases.
    pub fn ln_e_below(&self, share: f64, over: Exposure) -> f64 {
        let (events, times) = self.below(over);
        ln_e_below(events, times * odds(share))
    }

    /// Returns an upper bound of the share under the condition of [`Late::ln_e_below`].
    pub fn upper(&self, over: Exposure, confidence: f64) -> f64 {
        let (events, times) = self.below(over);
        from_odds(expected_upper(events, confidence) / times)
    }

    /// Returns the number of events of weight at most one, and the number of releases that each represents.
    fn below(&self, over: Exposure) -> (f64, f64) {
        let late = self.releases.1 as f64;
        let open = if self.open > 0 { (over.stall - self.open as f64).max(0.0) } else { 0.0 };
        ((late + open) / over.stall, (over.released - late).max(0.0) / over.stall)
    }

    /// Returns ln of the e-value against "the share of late releases is at most `share`". Each episode has at least one
    /// late release, whatever its length. With a maximum stall, the mean of this evidence and of that from the number
    /// of releases is used.
    pub fn ln_e_above(&self, share: f64, released: f64, stall: Option<f64>) -> f64 {
        let times = self.before_late(released) * odds(share);
        let by_episodes = self.episodes.map(|e| ln_e_above(e.count as f64, times));
        let by_releases = stall.map(|stall| ln_e_above(self.releases.0 as f64 / stall, times / stall));
        let both: Vec<f64> = by_episodes.into_iter().chain(by_releases).collect();
        ln_mean_e(&both)
    }

    /// Returns a lower bound of the share, as in [`Late::ln_e_above`]: the larger of two bounds, each with half of the
    /// error probability.
    pub fn lower(&self, released: f64, stall: Option<f64>, confidence: f64) -> f64 {
        let times = self.before_late(released);
        let both = self.episodes.is_some() && stall.is_some();
        let confidence = if both { 0.5 + 0.5 * confidence } else { confidence };
        let by_episodes = self.episodes.map_or(0.0, |e| expected_lower(e.count as f64, confidence) / times);
        let by_releases =
            stall.map_or(0.0, |stall| expected_lower(self.releases.0 as f64 / stall, confidence) * stall / times);
        from_odds(by_episodes.max(by_releases))
    }

    /// Returns the number of releases in time, plus the release that begins the next episode. Without this release, a
    /// late first release would have unlimited weight.
    fn before_late(&self, released: f64) -> f64 {
        (released - self.releases.0 as f64).max(0.0) + 1.0
    }
}

/// Returns the number of late releases per release in time.
fn odds(share: f64) -> f64 {
    share / (1.0 - share)
}

fn from_odds(odds: f64) -> f64 {
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
}

/// Counts episodes from the late releases in chronological order, given as the cycle of each late wakeup and its number
/// of consecutive late releases. Also returns the number of late releases of an episode that had not ended after
/// `released` periods.
pub(crate) fn counted(runs: impl IntoIterator<Item = (u64, u64)>, released: u64) -> (EpisodeCounts, u64) {
    let mut counts = EpisodeCounts::default();
    // First and last release of the current episode, and its number of late releases.
    let mut current: Option<(u64, u64, u64)> = None;
    for (cycle, late) in runs {
        let last = cycle.saturating_add(late.saturating_sub(1));
        counts.late = counts.late.saturating_add(late);
        let (first, before, sum) = match current {
            Some((first, before, sum)) if cycle.saturating_sub(before) <= EPISODE_GAP => (first, before, sum),
            _ => {
                counts.count += 1;
                (cycle, cycle.saturating_sub(1), 0)
            }
        };
        let sum = sum.saturating_add(late);
        counts.length =
            counts.length.saturating_add(last.saturating_sub(before).max(u64::from(cycle == 0 && sum == late)));
        counts.most_late = counts.most_late.max(sum);
        counts.longest = counts.longest.max(last.saturating_sub(first).saturating_add(1));
        current = Some((first, last, sum));
    }
    let open = current.filter(|(_, last, _)| released.saturating_sub(last.saturating_add(1)) < EPISODE_GAP);
    (counts, open.map_or(0, |(.., late)| late))
}
