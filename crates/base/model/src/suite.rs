//! Results of the event suite: `punctual events`.

use crate::{LoadReport, Outcome};
use punctual_units::{CpuId, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Value of [`Suite::schema`]; the number after the slash is the major version.
pub const SUITE_SCHEMA: &str = "punctual.events/1";

/// `suite.json`: results of one execution of the event suite on one backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    pub schema: String,
    /// The environment under test: `posix`, `mock`, `xenomai`, `evl`, `rtai`.
    pub backend: String,
    /// Kernel, policy and libraries, as reported by the backend.
    pub environment: BTreeMap<String, String>,
    /// CPU to which receivers are pinned; absent if they are not pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuId>,
    /// Requested total time, divided equally among the tests without a fixed length.
    pub duration_ns: Nanos,
    /// Loads that ran during all tests, with proof that they ran.
    pub under: Vec<LoadReport>,
    /// Results in the order in which the tests ran.
    pub results: Vec<SuiteResult>,
    /// True if tests are missing because the suite was ended early, was killed, or is still running.
    pub interrupted: bool,
    /// The signal that ended the suite early, for example `SIGTERM`; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Requested tests that were not started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<String>,
}

impl Suite {
    /// Returns fail if a promise was broken; pass if every test ran and its promise was kept, under every requested
    /// load; inconclusive otherwise.
    pub fn outcome(&self) -> Outcome {
        let ran = |result: &SuiteResult| match &result.ended {
            SuiteEnd::Ran(ran) => Some((ran.broken.is_empty(), ran.inconclusive.is_empty())),
            SuiteEnd::Unsupported { .. } | SuiteEnd::Failed { .. } => None,
        };
        let all: Vec<Option<(bool, bool)>> = self.results.iter().map(ran).collect();
        if all.iter().flatten().any(|(kept, _)| !kept) {
            return Outcome::Fail;
        }
        let loaded = self.under.iter().all(|load| load.ran);
        let whole = !self.interrupted && self.not_run.is_empty() && loaded && !all.is_empty();
        match whole && all.iter().all(|one| *one == Some((true, true))) {
            true => Outcome::Pass,
            false => Outcome::Inconclusive,
        }
    }

    /// Returns the reason why tests are missing, and their names; `None` if no test is missing.
    pub fn missing(&self) -> Option<String> {
        let ended = match (&self.signal, self.interrupted) {
            (Some(signal), _) => format!("ended early by {signal}"),
            (None, true) => "has no recorded end (killed, or still running)".to_owned(),
            (None, false) if self.not_run.is_empty() => return None,
            (None, false) => "tests are missing".to_owned(),
        };
        match self.not_run.as_slice() {
            [] => Some(ended),
            names => Some(format!("{ended}; not run: {}", names.join(", "))),
        }
    }
}

/// Result of `events --list` and `sched --list`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listing {
    pub list: Vec<Listed>,
}

/// A test of the event suite, or a built-in experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    pub name: String,
    pub about: String,
    /// Delivery promise of the event source; absent for an experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteResult {
    /// Name of the test, for example `timerfd`.
    pub test: String,
    /// Delivery promise of the event source.
    pub promise: Promise,
    /// Planned interval between events; absent if they are not periodic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Nanos>,
    /// Time after which a received event counts as late.
    pub deadline_ns: Nanos,
    pub ended: SuiteEnd,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum SuiteEnd {
    Ran(Box<SuiteRan>),
    /// The environment lacks the facility under test. This never counts as a pass.
    Unsupported {
        /// The reason why the facility is missing, with advice.
        why: String,
    },
    /// The test did not run to its end.
    Failed {
        /// What failed, and the reason.
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteRan {
    pub counts: EventCounts,
    /// Lateness of the events, ns.
    pub lateness: Histogram,
    /// Page faults of the receiver after its first event; null if unknown.
    pub page_faults: Option<u64>,
    /// Unintended switches from a co-kernel to Linux; null if there is no co-kernel.
    pub mode_switches: Option<u64>,
    /// Class according to late and lost events; null if the test sent no events, or if it could not have failed.
    pub class: Option<SuiteClass>,
    /// Broken promises; empty if all were kept.
    pub broken: Vec<String>,
    /// Reasons why the test is inconclusive although it ran.
    pub inconclusive: Vec<String>,
    /// Remarks that do not affect the result.
    pub notes: Vec<String>,
}

/// Events by outcome. `sent == received + coalesced + overflowed + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventCounts {
    /// Number of events sent, including events that were refused with an error to the sender.
    pub sent: u64,
    /// Number of events received separately, or as the first of several events received together.
    pub received: u64,
    /// Number of events received together with an earlier event and counted by the source.
    pub coalesced: u64,
    /// Number of events that the source reports as refused or dropped.
    pub overflowed: u64,
    /// Number of events lost for an unknown reason.
    pub lost: u64,
    /// Number of duplicate arrivals of events.
    pub doubled: u64,
    /// Number of events received after the deadline.
    pub late: u64,
    /// Number of events received after an event that was sent later.
    pub reordered: u64,
    /// Number of received events that were never sent.
    pub strays: u64,
}

/// Class of real-time behaviour (Laplante and Ovaska, see docs/backends.md), determined from the event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SuiteClass {
    /// More than one in a thousand deadlines missed or events lost.
    Soft,
    /// At most one in a thousand deadlines missed or events lost.
    Firm,
    /// No deadline missed and no event lost.
    Hard,
}

/// Delivery promise of an event source. See the table with sources in docs/backends.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Every event is delivered once, separately, in order.
    Each,
    /// Every event is delivered once and in order, up to a limit on the number of pending events. Above it, the sender
    /// gets an error or a counter rises.
    Bounded,
    /// Every event is counted; several events may be delivered together.
    Counted,
    /// After the last event was sent, at least one event arrives. The number of sent events is lost.
    Merged,
    /// No promise: events may be dropped, duplicated or reordered.
    Nothing,
}

impl Promise {
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
