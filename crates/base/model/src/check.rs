//! Results of `check`: operations of a program's real-time threads that are not real-time safe.

use crate::{Finding, Outcome};
use punctual_units::{Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// Result of observing a program for some time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Outcome: `pass` if all event sources could be observed and there are no findings.
    pub outcome: Outcome,
    /// Command line of the program, or the process to which the check was attached.
    pub program: String,
    /// Duration of the observation.
    pub duration_ns: Nanos,
    /// Exit status of the program, or a note that it was still running.
    pub ended: String,
    /// How the start of real-time work was determined.
    pub real_time_from: String,
    /// Findings, worst first.
    pub findings: Vec<CheckFinding>,
    /// All threads, real-time threads first.
    pub threads: Vec<CheckThread>,
    /// Event sources, and whether each could be observed.
    pub sources: Vec<CheckSource>,
    /// Number of event records that the kernel dropped because the buffer was full. If not 0, the findings are
    /// incomplete.
    pub lost: u64,
    /// Number of event records read.
    pub events: u64,
    /// CPU time used by this program, ns.
    pub own_cpu_ns: Nanos,
    /// Part of `own_cpu_ns` that was used during the observation. The rest is the start, and reading debug information.
    pub own_cpu_observing_ns: Nanos,
    pub notes: Vec<String>,
}

/// One kind of fault at one place in the program, in one thread or in several threads with the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckFinding {
    #[serde(flatten)]
    pub finding: Finding,
    /// Name of the threads in `tids`.
    pub thread: String,
    pub tids: Vec<i32>,
    /// Number of occurrences after the start of real-time work.
    pub count: u64,
    /// True if `count` is a lower bound, since occurrences were observed a part of the time only.
    #[serde(default)]
    pub is_at_least: bool,
    /// Mean number of occurrences per cycle; null if the thread has no cycles, or if `is_at_least`.
    pub per_cycle: Option<f64>,
    /// Longest duration of an occurrence; null if faults of this kind have no duration.
    pub worst_ns: Option<Nanos>,
    /// True if the fault occurred within the thread's cycles.
    pub is_in_cycle: bool,
    /// Innermost function on the stack that belongs to the program itself.
    pub place: Option<CheckFrame>,
    /// User stack, innermost function first.
    pub stack: Vec<CheckFrame>,
    /// True if the stack was larger than the part that the kernel copied, so that outer functions are missing.
    pub is_stack_cut: bool,
    /// True if the baseline file lists the finding, so that it does not fail the check.
    pub is_known: bool,
}

/// A function on a user stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckFrame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Path of the executable or library.
    pub module: Option<String>,
    /// Address in the image of the module, as accepted by addr2line(1).
    pub address: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckThread {
    pub name: String,
    pub tid: i32,
    pub pid: i32,
    /// Policy and priority as last read; null if the thread ended before they were read.
    pub scheduling: Option<Scheduling>,
    pub is_real_time: bool,
    /// Cycles of the thread; null if it is not real-time or does not wait repeatedly at the same place.
    pub cycles: Option<CheckCycles>,
}

/// Cycles of a thread that repeatedly waits and works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckCycles {
    /// Event that releases the thread: `absolute sleep`, `futex`, …
    pub release: String,
    /// Place in the program at which the thread waits.
    pub place: Option<CheckFrame>,
    pub count: u64,
    /// Period; null if the releases are not periodic.
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC time of a release modulo the period. If a timer releases the thread, this is the time at which
    /// the timer was due.
    pub phase_ns: Option<Nanos>,
    /// Median deviation of a wakeup from its nominal release time.
    pub jitter_ns: Option<Nanos>,
    pub jitter_max_ns: Option<Nanos>,
    /// Number of nominal release times without a release.
    pub skipped: Option<u64>,
    /// Another place at which the thread may wait for its release.
    pub ambiguous_with: Option<CheckFrame>,
}

/// A source of observed events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckSource {
    /// Name of the source: `page faults`, `system calls`, …
    pub name: String,
    /// The reason why events of this source were missed; null if the source was observed throughout.
    pub missing: Option<String>,
}
