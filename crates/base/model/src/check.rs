//! Results of `check`: what in a program's real-time threads is not real-time.

use crate::{Finding, Outcome};
use punctual_units::{Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// Result of observing a program for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// `pass`: everything that is looked for could be observed, and nothing was found.
    pub outcome: Outcome,
    /// The command line, or what was attached to.
    pub program: String,
    /// How long it was observed.
    pub duration_ns: Nanos,
    /// How the program ended, or that it was still running.
    pub ended: String,
    /// How the beginning of real-time work was determined.
    pub real_time_from: String,
    /// Worst first.
    pub findings: Vec<CheckFinding>,
    /// Real-time threads, then the others.
    pub threads: Vec<CheckThread>,
    /// What was looked for, and whether it could be observed.
    pub sources: Vec<CheckSource>,
    /// Records that the kernel could not write: what is found is then incomplete.
    pub lost: u64,
    /// Records that were read.
    pub events: u64,
    /// CPU time that this program used, ns.
    pub own_cpu_ns: Nanos,
    pub notes: Vec<String>,
}

/// One kind of fault at one place in one thread, or in several of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckFinding {
    #[serde(flatten)]
    pub finding: Finding,
    /// Name of the thread.
    pub thread: String,
    pub tids: Vec<i32>,
    /// Occurrences after real-time work began.
    pub count: u64,
    /// Occurrences a cycle; null without cycles.
    pub per_cycle: Option<f64>,
    /// The longest, from its begin to its end; null where it has no duration.
    pub worst_ns: Option<Nanos>,
    /// Whether it happened in the thread's cycles.
    pub is_in_cycle: bool,
    /// The innermost function of the program itself.
    pub place: Option<CheckFrame>,
    /// Innermost first.
    pub stack: Vec<CheckFrame>,
    /// The stack goes on beyond what was copied.
    pub is_stack_cut: bool,
    /// It is in the baseline file and so does not fail the check.
    pub is_known: bool,
}

/// A function on a user stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckFrame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Executable or library.
    pub module: Option<String>,
    /// Address in its image, as nm(1) and addr2line(1) take it.
    pub address: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckThread {
    pub name: String,
    pub tid: i32,
    pub pid: i32,
    /// The last that was read; null if the thread ended before.
    pub scheduling: Option<Scheduling>,
    pub is_real_time: bool,
    /// Null: it waits at no place repeatedly, or is not real-time.
    pub cycles: Option<CheckCycles>,
}

/// The cycles of a thread: it waits, works, and waits again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckCycles {
    /// What releases it: `absolute sleep`, `futex`, …
    pub release: String,
    /// Where it waits.
    pub place: Option<CheckFrame>,
    pub count: u64,
    /// Null: its releases keep to no grid.
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC of a release, modulo the period.
    pub phase_ns: Option<Nanos>,
    /// Median distance of a release from the grid.
    pub jitter_ns: Option<Nanos>,
    pub jitter_max_ns: Option<Nanos>,
    /// Instants of the grid without a release.
    pub skipped: Option<u64>,
    /// Another place that may be its release as well.
    pub ambiguous_with: Option<CheckFrame>,
}

/// A source of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckSource {
    /// `page faults`, `system calls`, …
    pub name: String,
    /// Null: observed throughout.
    pub missing: Option<String>,
}
