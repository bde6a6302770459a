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

/// A thread and its cycle structure, as determined before the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppThread {
    /// Name in claims: that of the thread, with its ID if several threads have that name.
    pub name: String,
    /// Its program, without a path; several are told apart by numbers.
    #[serde(default)]
    pub program: String,
    pub tid: i32,
    pub pid: i32,
    pub scheduling: Scheduling,
    /// What releases it: `absolute sleep`, `futex`, …
    pub release: String,
    /// Threads that release it.
    #[serde(default)]
    pub released_by: Vec<String>,
    /// The system call in which it waits: `clock_nanosleep(2)`.
    pub call: String,
    /// Period of its releases; null if they are not periodic.
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC of a release, modulo the period.
    pub phase_ns: Option<Nanos>,
    /// Median deviation of a release from its nominal time, a whole number of periods from `phase_ns`.
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
    /// Number of nominal release times at which no cycle was released.
    pub skipped: u64,
    /// Cycles that lasted beyond the next release.
    pub overruns: u64,
    /// Sum of all response times; equals `behind_ns`, `ran_ns`, `blocked_ns` and all `delays` added up.
    pub response_ns: u64,
    /// Time after releases during which the previous cycle had not ended.
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
    /// Releases of the first thread that were followed to the end of the last.
    pub passes: u64,
    /// Releases of the last thread that came from elsewhere: another thread, a timer.
    pub others: u64,
    /// Releases of the last thread of which it is not known where they came from.
    #[serde(default)]
    pub unknown: u64,
}
