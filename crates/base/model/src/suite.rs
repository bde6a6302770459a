//! What the event suite found: `punctual events`.

use crate::LoadReport;
use punctual_units::{CpuId, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of [`Suite`].
pub const SUITE_SCHEMA: &str = "punctual.events/1";

/// `suite.json`: a whole pass of the event suite over one backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// `punctual.events/1`.
    pub schema: String,
    /// The environment that was tested: `posix`, `mock`, `xenomai`, `evl`, `rtai`.
    pub backend: String,
    /// What the backend says of itself: kernel, policy, libraries.
    pub environment: BTreeMap<String, String>,
    /// The CPU that receivers stayed on; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuId>,
    /// Time asked for, shared equally by the tests that last as long as they are let.
    pub duration_ns: Nanos,
    /// Loads that ran beside all tests, with the proof that they did.
    pub under: Vec<LoadReport>,
    /// In the order they ran.
    pub results: Vec<SuiteResult>,
    /// Did a signal end it early? Then tests are missing.
    pub interrupted: bool,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteResult {
    /// Its name: `timerfd`.
    pub test: String,
    /// What its source promises.
    pub promise: Promise,
    /// Planned distance of two events; `None`: they have no grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Nanos>,
    /// An event that is taken later than this is late.
    pub deadline_ns: Nanos,
    /// What came of it.
    pub ended: SuiteEnd,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum SuiteEnd {
    /// It ran.
    Ran(Box<SuiteRan>),
    /// This environment does not have what is tested: never a pass.
    Unsupported {
        /// Why, and what would help.
        why: String,
    },
    /// It could not be run, or not to its end.
    Failed {
        /// What failed, on what, why.
        why: String,
    },
}

/// A test that ran to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteRan {
    /// Events by what became of them.
    pub counts: EventCounts,
    /// How late events were taken, ns.
    pub lateness: Histogram,
    /// Page faults of the receiver after its first event; `None`: not known.
    pub page_faults: Option<u64>,
    /// Unwanted changes from a co-kernel to Linux; `None`: there is none.
    pub mode_switches: Option<u64>,
    /// Timing and loss together; `None`: the test sent nothing, or could not have failed.
    pub class: Option<SuiteClass>,
    /// What was promised and not kept; empty: all kept.
    pub broken: Vec<String>,
    /// Why nothing can be concluded, although it ran.
    pub inconclusive: Vec<String>,
    /// What the reader should know but what decides nothing.
    pub notes: Vec<String>,
}

/// Events by what became of them. `sent == received + coalesced + overflowed + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventCounts {
    /// Events sent, or refused with a word to the sender.
    pub sent: u64,
    /// Events that were taken on their own, or first of those taken together.
    pub received: u64,
    /// Events taken together with an earlier one; their number was kept.
    pub coalesced: u64,
    /// Events that the source itself says it refused or dropped.
    pub overflowed: u64,
    /// Events that nobody accounts for.
    pub lost: u64,
    /// Arrivals of an event that had arrived already.
    pub doubled: u64,
    /// Events taken later than the deadline.
    pub late: u64,
    /// Events taken after one that was sent later.
    pub reordered: u64,
    /// Arrivals of what was never sent.
    pub strays: u64,
}

/// The paper's three kinds of real time (seed 2, §2.1, after Laplante and Ovaska), decided by what was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SuiteClass {
    /// More than a few deadlines missed or events lost.
    Soft,
    /// A few: at most one in a thousand.
    Firm,
    /// No deadline missed and no event lost.
    Hard,
}

/// What a source promises about the delivery of events. docs/backends.md has the table, with sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Each event once, on its own, in order.
    Each,
    /// Each event once and in order; beyond a bound the sender, or a counter, is told.
    Bounded,
    /// Each event is counted; several may come as one arrival.
    Counted,
    /// At least one arrival after the last event; how many there were is not kept.
    Merged,
    /// Nothing: events may be dropped, doubled, reordered.
    Nothing,
}

impl Promise {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Promise::Each => "each, in order",
            Promise::Bounded => "each, up to a bound",
            Promise::Counted => "counted, may coalesce",
            Promise::Merged => "one of several",
            Promise::Nothing => "nothing",
        }
    }
}
