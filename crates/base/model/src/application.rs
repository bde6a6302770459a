//! `application.json`: the threads of an application, and where the time of their cycles went.

use crate::{Class, Cycle};
use punctual_units::{Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// An application that was measured by `prove --app`. Its histograms are those of the run's phases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Application {
    /// The command line, or the process or unit it was attached to.
    pub program: String,
    pub threads: Vec<AppThread>,
    /// One per load and thread.
    pub cycles: Vec<AppCycles>,
    /// One per load and claimed chain.
    pub chains: Vec<AppChain>,
    pub notes: Vec<String>,
}

/// A thread and its cycles as they were understood before they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppThread {
    /// Name in claims: that of the thread, with its id if several have that name.
    pub name: String,
    pub tid: i32,
    pub pid: i32,
    pub scheduling: Scheduling,
    /// What releases it: `absolute sleep`, `futex`, …
    pub release: String,
    /// The system call in which it waits: `clock_nanosleep(2)`.
    pub call: String,
    /// Null: its releases keep to no grid.
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC of a release, modulo the period.
    pub phase_ns: Option<Nanos>,
    /// Median distance of a release from the grid.
    pub jitter_ns: Option<Nanos>,
    /// Another call that may be its release as well.
    pub ambiguous_with: Option<String>,
}

/// All cycles of a thread under a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppCycles {
    pub load: String,
    /// [`AppThread::name`].
    pub thread: String,
    /// Cycles released in the phase that ended.
    pub cycles: u64,
    /// Releases of its grid without a cycle.
    pub skipped: u64,
    /// Cycles that lasted beyond the next release.
    pub overruns: u64,
    /// Sum of all responses; the sum of the next four.
    pub response_ns: u64,
    /// Time after releases in which the cycle before had not ended.
    pub behind_ns: u64,
    pub ran_ns: u64,
    /// Time asleep within cycles.
    pub blocked_ns: u64,
    /// What kept it from running, largest first.
    pub delays: Vec<AppDelay>,
    /// The longest cycles, longest first.
    pub worst: Vec<Cycle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppDelay {
    pub class: Class,
    pub ns: u64,
}

/// Passes through a chain of threads under a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppChain {
    pub load: String,
    /// `A > B > C`.
    pub chain: String,
    /// Cycles of the last thread that followed from one of the first.
    pub passes: u64,
    /// Cycles of the last thread that did not: released by something else, or not followed back.
    pub others: u64,
}
