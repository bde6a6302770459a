//! What a load says of itself when it ends.

use serde::{Deserialize, Serialize};

/// What a load did, and the proof that it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// `cpu`, `io`, `cmd:make -j4`, …
    pub load: String,
    /// Did it run from start to end, proven?
    pub ran: bool,
    /// Why not, where it did not: what failed, and what to do.
    pub why_not: Option<String>,
    /// How many workers it had.
    pub workers: u32,
    /// Heartbeats seen while recording.
    pub beats: u64,
    /// The longest time without one, ns.
    pub longest_silence_ns: u64,
    /// How fast it went.
    pub rates: Vec<Rate>,
    /// What the kernel's own counters say.
    pub proofs: Vec<Proof>,
    /// Bytes written to disk, where it writes.
    pub written_bytes: u64,
    /// What was narrowed: less memory than wanted, no IPv6, running as root …
    pub notes: Vec<String>,
}

/// A rate with its unit: 1234.5 `MiB/s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// What is counted: `written`, `page faults`, `round trips`.
    pub what: String,
    /// Per second.
    pub value: f64,
    /// `MiB/s`, `1/s`.
    pub unit: String,
}

/// A counter of the kernel that must rise where the load runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// Which: `/proc/diskstats vda sectors written`.
    pub what: String,
    /// Before the phase.
    pub before: u64,
    /// After it.
    pub after: u64,
    /// By how much it must have risen at least.
    pub needed: u64,
}

impl Proof {
    /// Did the counter rise enough?
    pub fn holds(&self) -> bool {
        self.after.saturating_sub(self.before) >= self.needed
    }
}
