//! Runs that are measured until their claims are decided, and what is kept of long ones.

use crate::Claim;
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Measure in rounds over all loads until every claim is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UntilDecided {
    /// The most measuring time over all loads, without warm-up.
    pub max_ns: Nanos,
}

/// One look at the claims while a run is measured until they are decided. Its number, counting from 1, is its place in the
/// run's list; what the number does to the confidence is the judge's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// CLOCK_MONOTONIC.
    pub mono_ns: u64,
    /// Measuring time over all loads by then.
    pub measured_ns: Nanos,
    /// The claims that were not decided by then.
    pub open: Vec<Claim>,
}

/// One stretch of a phase that was measured in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// CLOCK_MONOTONIC of its first recorded release.
    pub start_mono_ns: u64,
    /// CLOCK_MONOTONIC after which nothing was recorded; `None` while it runs.
    pub end_mono_ns: Option<u64>,
}

/// The largest latency of one CPU in one block of a phase; a line of `maxima.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockMaximum {
    /// Phase id.
    pub phase: String,
    /// Where.
    pub cpu: CpuId,
    /// The block, CLOCK_MONOTONIC: of the length asked for or up to a second more; the last of a phase may be shorter.
    pub from_mono_ns: u64,
    /// Its end.
    pub to_mono_ns: u64,
    /// Exact largest latency of the wakeups in it, ns; `None`: the thread never woke.
    pub max_ns: Option<u64>,
}

impl BlockMaximum {
    /// Is it as long as asked for?
    pub fn is_whole(&self, block: Nanos) -> bool {
        self.to_mono_ns.saturating_sub(self.from_mono_ns) >= block.0
    }
}
