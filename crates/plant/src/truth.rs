//! What was done, and when.

use serde::{Deserialize, Serialize};

/// One stretch of time in which a planted cause kept the victim's CPU, or would have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The class an explanation should name, as in `punctual explain --json`: `higher_priority`, `softirq`, …; or
    /// `tracer_left_on`.
    pub class: String,
    /// The thread that is to blame, if one is.
    pub tid: Option<i32>,
    /// Its name.
    pub comm: Option<String>,
    /// Its policy and priority, for people.
    pub scheduled: String,
    /// On which CPU.
    pub cpu: u32,
    /// Beginning, CLOCK_MONOTONIC, ns.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Beginning and end are known well enough to tell the share of a delay; otherwise the delay is within them.
    pub exact: bool,
}

impl Burst {
    /// Its part of the time from `from` to `to`, ns.
    pub fn overlap(&self, from: u64, to: u64) -> u64 {
        self.end_ns.min(to).saturating_sub(self.start_ns.max(from))
    }
}
