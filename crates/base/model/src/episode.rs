//! Late episodes. An episode is a sequence of releases that one disturbance makes late.

use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// An episode ends after this many successive releases that were served in time. A disturbance often delays only some
/// of the releases that occur during it, for example every fifth. If each of these releases were counted separately,
/// they would look like independent events (docs/guide/statistics.md).
pub const EPISODE_GAP: u64 = 10;

/// The late episodes above one limit on one CPU in one phase. The counts are exact; [`Episodes::kept`] holds only the
/// largest episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episodes {
    /// Latency above which a release is late.
    pub limit_ns: Nanos,
    /// Number of episodes, including one that was still open at the end of the recording.
    pub count: u64,
    /// Number of late releases in all episodes: late wakeups, and the periods that were skipped because of late
    /// wakeups.
    pub late: u64,
    /// Sum of the lateness beyond the limit over all late releases (saturating), ns.
    pub area_ns: u64,
    /// Largest number of late releases in one episode.
    pub most_late: u64,
    /// Length of the longest episode in periods, from its first late release to its last.
    pub longest: u64,
    /// Sum of the lengths of all episodes, in periods.
    pub length: u64,
    /// Number of late releases in the episode that was still open at the end of the recording; 0 if none was open.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// The episodes with the largest area, in chronological order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Episode>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episode {
    /// CLOCK_MONOTONIC time of the first late release.
    pub start_mono_ns: u64,
    /// Number of the first late release in the phase, from 0.
    pub cycle: u64,
    /// Number of periods from the first late release to the last, inclusive.
    pub length: u64,
    pub late: u64,
    /// Sum of the lateness beyond the limit over the episode's releases (saturating), ns.
    pub area_ns: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Episodes {
    /// Maximum number of episodes that are stored individually per phase, CPU and limit.
    pub const KEPT: usize = 64;

    /// Merges the episodes with the episodes of a later recording of the same CPU with the same limit, and returns the
    /// result. `released` is the number of periods in the first recording. An episode still open at the end of the
    /// first recording counts as ended.
    pub fn and(mut self, later: &Episodes, released: u64) -> Episodes {
        self.count = self.count.saturating_add(later.count);
        self.late = self.late.saturating_add(later.late);
        self.area_ns = self.area_ns.saturating_add(later.area_ns);
        self.most_late = self.most_late.max(later.most_late);
        self.longest = self.longest.max(later.longest);
        self.length = self.length.saturating_add(later.length);
        self.open = later.open;
        self.kept.extend(later.kept.iter().map(|e| Episode { cycle: e.cycle.saturating_add(released), ..*e }));
        self.keep_largest();
        self
    }

    /// Keeps the [`Episodes::KEPT`] largest stored episodes, in chronological order.
    pub fn keep_largest(&mut self) {
        self.kept.sort_by_key(|e| (std::cmp::Reverse(e.area_ns), e.cycle));
        self.kept.truncate(Episodes::KEPT);
        self.kept.sort_by_key(|e| (e.start_mono_ns, e.cycle));
    }
}

/// Number of periods in a block, and the minimum and maximum number of periods with a latency above the limit. Minimum
/// and maximum differ if the limit lies within a histogram bin.
pub type BlockCount = (u64, u64, u64);

/// Counts of releases and late releases in blocks of time. Claims about quantiles are judged by blocks because
/// neighbouring releases are correlated (docs/guide/statistics.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blocks {
    /// Latency limit of the claimed quantile.
    pub limit_ns: Nanos,
    /// Counts of each block, in chronological order.
    pub counts: Vec<BlockCount>,
}

impl Blocks {
    /// Maximum number of blocks; when it is reached, adjacent blocks are merged in pairs.
    pub const MOST: usize = 512;

    pub fn push(&mut self, count: BlockCount) {
        if self.counts.len() >= Blocks::MOST {
            self.counts = self.counts.chunks(2).map(sum).collect();
        }
        self.counts.push(count);
    }
}

fn sum(counts: &[BlockCount]) -> BlockCount {
    counts.iter().fold((0, 0, 0), |all, one| {
        (all.0.saturating_add(one.0), all.1.saturating_add(one.1), all.2.saturating_add(one.2))
    })
}
