//! Runs that are measured until their claims are decided, and block maxima of long runs.

use crate::Claim;
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Settings of a run that measures all loads in rounds until every claim is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UntilDecided {
    /// Maximum measurement time over all loads, without warm-up.
    pub max_ns: Nanos,
}

/// A check of whether the claims of a run are decided. Checks are numbered from 1 by their position in the run's list.
/// The judge takes this number into account when it computes the confidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// Time of the check, CLOCK_MONOTONIC.
    pub mono_ns: u64,
    /// Measurement time over all loads so far.
    pub measured_ns: Nanos,
    /// Claims that were still undecided.
    pub open: Vec<Claim>,
}

/// One interval of a phase that is measured in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// CLOCK_MONOTONIC time of the first recorded release.
    pub start_mono_ns: u64,
    /// CLOCK_MONOTONIC time of the end of recording; null while the interval is being recorded.
    pub end_mono_ns: Option<u64>,
}

/// Largest latency of one CPU in one block of a phase; a line of `maxima.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockMaximum {
    pub phase: String,
    pub cpu: CpuId,
    /// Start of the block, CLOCK_MONOTONIC. A block has the requested length or is up to a second longer; the last
    /// block of a phase may be shorter.
    pub from_mono_ns: u64,
    /// End of the block, CLOCK_MONOTONIC.
    pub to_mono_ns: u64,
    /// Exact largest latency of the wakeups in the block, ns; null if the thread never woke.
    pub max_ns: Option<u64>,
}

impl BlockMaximum {
    /// Returns true if the block has the requested length.
    pub fn is_whole(&self, block: Nanos) -> bool {
        self.to_mono_ns.saturating_sub(self.from_mono_ns) >= block.0
    }
}
