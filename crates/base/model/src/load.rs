//! Report on the activity of a load.

use serde::{Deserialize, Serialize};

/// Activity of a load, with proof that it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// Name of the load: `cpu`, `io`, `cmd:make -j4`, …
    pub load: String,
    /// True if the load provably ran from start to end.
    pub ran: bool,
    /// The reason why the load did not run, with advice; null if it ran.
    pub why_not: Option<String>,
    pub workers: u32,
    /// Number of heartbeats during the recording.
    pub beats: u64,
    /// Longest time without a heartbeat, ns.
    pub longest_silence_ns: u64,
    pub rates: Vec<Rate>,
    /// Kernel counters that prove that the load ran.
    pub proofs: Vec<Proof>,
    /// Bytes that the load wrote to disk; 0 if it does not write.
    pub written_bytes: u64,
    /// Restrictions, for example less memory than requested, no IPv6, or running as root.
    pub notes: Vec<String>,
}

/// A rate with its unit, for example 1234.5 `MiB/s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate {
    /// The counted quantity: `written`, `page faults`, `round trips`.
    pub what: String,
    /// The rate in `unit`.
    pub value: f64,
    /// Unit, for example `MiB/s` or `1/s`.
    pub unit: String,
}

/// A kernel counter that must rise while the load runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// Name of the counter, for example `/proc/diskstats vda sectors written`.
    pub what: String,
    pub before: u64,
    pub after: u64,
    /// Smallest increase that counts as proof.
    pub needed: u64,
}

impl Proof {
    pub fn holds(&self) -> bool {
        self.after.saturating_sub(self.before) >= self.needed
    }
}
