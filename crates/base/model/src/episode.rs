//! Late episodes: the releases that one disturbance makes late.

use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// An episode ends when this many releases in succession were served in time. A disturbance often makes only some of the releases late
/// that fall into it, for example every fifth: counted apart, they would pass for as many independent events (docs/guide/statistics.md).
pub const EPISODE_GAP: u64 = 10;

/// The late episodes of one CPU in one phase above one limit. Counts are exact; [`Episodes::kept`] holds the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episodes {
    /// A release that is served later than this is late.
    pub limit_ns: Nanos,
    /// Number of episodes, with one that had not ended when recording did.
    pub count: u64,
    /// Late releases in all of them: wakeups, and periods skipped because of them.
    pub late: u64,
    /// Sum of the lateness beyond the limit over all late releases (saturating), ns.
    pub area_ns: u64,
    /// Largest number of late releases in one episode.
    pub most_late: u64,
    /// Length of the longest, in periods, from its first late release to its last.
    pub longest: u64,
    /// Sum of the lengths of all, in periods.
    pub length: u64,
    /// Late releases of the one that had not ended when recording did; 0: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Those with the largest area, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Episode>,
}

/// One late episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episode {
    /// CLOCK_MONOTONIC of its first late release.
    pub start_mono_ns: u64,
    /// Number of that release in the phase, from 0.
    pub cycle: u64,
    /// Periods from the first late release to the last, both counted.
    pub length: u64,
    /// Late releases in it.
    pub late: u64,
    /// Sum of their lateness beyond the limit (saturating), ns.
    pub area_ns: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Episodes {
    /// Most episodes that are kept one by one.
    pub const KEPT: usize = 64;

    /// Of two recordings of a CPU with the same limit; `released` periods of the first precede the second. An episode that had not
    /// ended when the first recording did has ended.
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

    /// Leaves [`Episodes::KEPT`] of those kept, in the order of time.
    pub fn keep_largest(&mut self) {
        self.kept.sort_by_key(|e| (std::cmp::Reverse(e.area_ns), e.cycle));
        self.kept.truncate(Episodes::KEPT);
        self.kept.sort_by_key(|e| (e.start_mono_ns, e.cycle));
    }
}

/// Released periods, and the least and most of them that were later than a limit, which may lie within a bin.
pub type BlockCount = (u64, u64, u64);

/// Releases by blocks of time, and how many of them were later than a limit: what a claim of a quantile is judged by, since neighbours
/// resemble each other (docs/guide/statistics.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blocks {
    /// Of the quantile.
    pub limit_ns: Nanos,
    /// In the order of time.
    pub counts: Vec<BlockCount>,
}

impl Blocks {
    /// Most blocks; before there are more, each two become one.
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
