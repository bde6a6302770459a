//! `application.json`: the threads of an application, and how the time of their cycles was spent.

use crate::{Class, Cycle};
use punctual_units::{CpuList, Nanos, Scheduling};
use serde::{Deserialize, Serialize};

/// An application measured by `prove --app`. Its histograms are stored with the phases of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Application {
    /// The command line, or the process or unit to which the measurement was attached.
    pub program: String,
    pub threads: Vec<AppThread>,
    /// Marks that the application's threads wrote to trace_marker before the measurement; null if this kernel does not
    /// show them.
    #[serde(default)]
    pub marks: Option<Vec<AppMark>>,
    /// USDT probes of the application's files; for a measurement, only those that a claim names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<AppProbe>,
    /// Number of kernel events that were lost while the cycles were determined, before the measurement. If there are
    /// any, a thread without a period may have one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_events: u64,
    /// One entry per load and thread.
    pub cycles: Vec<AppCycles>,
    /// One entry per load and claimed chain.
    pub chains: Vec<AppChain>,
    pub notes: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A thread and the structure of its cycles, as determined before the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppThread {
    /// Name used in claims: the name of the thread, followed by its ID if several threads have the same name.
    pub name: String,
    /// Name of the thread's program, without a path; different programs with the same name are distinguished by a
    /// number.
    #[serde(default)]
    pub program: String,
    pub tid: i32,
    pub pid: i32,
    pub scheduling: Scheduling,
    /// CPUs on which the thread may run (sched_getaffinity(2)); null if unknown.
    #[serde(default)]
    pub cpus: Option<CpuList>,
    /// Event that releases the thread: `absolute sleep`, `futex`, …
    pub release: String,
    /// Names of the threads that release this thread.
    #[serde(default)]
    pub released_by: Vec<String>,
    /// System call in which the thread waits, for example `clock_nanosleep(2)`.
    pub call: String,
    /// Period of the releases; null if they are not periodic.
    pub period_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC time of a release modulo the period; null if the releases are not periodic.
    pub phase_ns: Option<Nanos>,
    /// Median deviation of the releases from their nominal times, which are `phase_ns` plus multiples of the period.
    pub jitter_ns: Option<Nanos>,
    /// Another system call in which the thread may wait for its release.
    pub ambiguous_with: Option<String>,
}

/// A mark that the application writes to trace_marker (Documentation/trace/ftrace.rst), which can be a point of a
/// chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppMark {
    pub name: String,
    /// Names of the threads that write the mark.
    pub threads: Vec<String>,
    /// True if the mark carries a value, which identifies the pass of a chain to which it belongs.
    pub has_values: bool,
}

/// A USDT probe in a file that the application executes (SystemTap's `<sys/sdt.h>`), which can be a point of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppProbe {
    /// `usdt:PROVIDER:NAME`, as in claims.
    pub name: String,
    /// Path of the file, as the application sees it.
    pub file: String,
    /// Number of arguments. `usdt:PROVIDER:NAME:arg1` in a claim is a mark whose value is the first of them.
    pub arguments: u32,
}

/// Summary of all cycles of a thread under a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppCycles {
    pub load: String,
    /// Name of the thread, as in [`AppThread::name`].
    pub thread: String,
    /// Number of cycles that were released in the phase and ended.
    pub cycles: u64,
    /// Number of nominal release times at which no cycle was released.
    pub skipped: u64,
    /// Number of cycles that had not ended at the next release.
    pub overruns: u64,
    /// Sum of all response times; equals `behind_ns` + `ran_ns` + `blocked_ns` + the sum of `delays`.
    pub response_ns: u64,
    /// Time from a release until the end of the previous cycle, summed over all releases that occurred before that end.
    pub behind_ns: u64,
    pub ran_ns: u64,
    /// Time for which the thread slept during its cycles.
    pub blocked_ns: u64,
    /// Time for which each cause kept the runnable thread from running, largest first.
    pub delays: Vec<AppDelay>,
    /// The longest cycles, longest first.
    pub worst: Vec<Cycle>,
    /// The longest responses, ns, longest first.
    #[serde(default)]
    pub longest_ns: Vec<u64>,
    /// Largest time in one cycle for which something other than a thread of the same or a higher priority kept the
    /// thread from running, ns.
    #[serde(default)]
    pub other_delays_ns: u64,
    /// The threads and interrupts that delayed the cycles, at most 64, and what the longest responses would be without
    /// each of them.
    #[serde(default)]
    pub without: Vec<AppWithout>,
}

/// The longest responses of a thread's cycles without the time that another thread or an interrupt took from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppWithout {
    pub class: Class,
    /// The thread that delayed the cycles, or one of those with this name, which are left out together if they are not
    /// measured; null for an interrupt.
    pub tid: Option<i32>,
    /// Name of the thread or interrupt.
    pub name: String,
    /// Number of cycles that it delayed.
    pub cycles: u64,
    /// Number of these cycles that it released: a cycle would not exist without it.
    #[serde(default)]
    pub released: u64,
    /// Time that it took from all cycles, ns.
    pub ns: u64,
    /// The part of `ns` that certainly was its time.
    pub sure_ns: u64,
    /// The longest responses if only its time is left out, ns, longest first; empty if it delayed none of the longest.
    pub longest_ns: Vec<u64>,
    /// The longest responses if other delays are shortened in proportion as well, because shorter cycles meet fewer
    /// of them, ns, longest first.
    pub least_ns: Vec<u64>,
}

/// How long a thread's responses would be at most without another thread or an interrupt: an estimate from the cycles
/// of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppCounterfactual {
    /// Name of the thread, as in [`AppThread::name`].
    pub thread: String,
    /// Name of the thread or interrupt that is left out.
    pub without: String,
    pub class: Class,
    /// Number of cycles that it delayed.
    pub cycles: u64,
    /// Longest observed response.
    pub seen_ns: Nanos,
    /// Longest response of the observed cycles without its time; null if unknown.
    pub response_ns: Option<Nanos>,
    /// Limits of the longest response of a run of the same length without it; null if unknown.
    pub low_ns: Option<Nanos>,
    pub high_ns: Option<Nanos>,
    /// The reason why the estimate is unknown.
    pub why_not: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppDelay {
    pub class: Class,
    pub ns: u64,
}

/// How much longer a thread may run in each cycle, and how much later it may be released, before a claim breaks. It is
/// estimated by response-time analysis from the largest observed CPU times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppMargin {
    /// Name of the thread, as in [`AppThread::name`].
    pub thread: String,
    /// Largest observed CPU time of a cycle under any load; null if none was observed.
    pub cpu_ns: Option<Nanos>,
    /// Bound on the thread's response, from the analysis; null if there is none.
    pub response_ns: Option<Nanos>,
    /// Largest increase of the thread's CPU time with which all claims hold; null if unknown.
    pub longer_ns: Option<Nanos>,
    /// Largest delay of the thread's releases with which all claims hold; null if unknown.
    pub later_ns: Option<Nanos>,
    /// The claim that breaks first if the thread runs longer.
    pub breaks: Option<String>,
    /// The reason why a margin is unknown.
    pub why_not: Option<String>,
}

/// Counts for a chain under a load. The chain consists of threads, each of which releases the next one, or of marks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppChain {
    pub load: String,
    /// `A > B > C`.
    pub chain: String,
    /// Number of releases of the first thread that could be followed to the end of the last thread's cycle; for marks,
    /// number of first marks that could be followed to a last mark.
    pub passes: u64,
    /// Number of releases of the last thread by something outside the chain, such as another thread or a timer; for
    /// marks, number of last marks to which no first mark led.
    pub others: u64,
    /// Number of releases of the last thread with an unknown origin.
    #[serde(default)]
    pub unknown: u64,
    /// Number of first marks that no last mark followed.
    #[serde(default)]
    pub unanswered: u64,
}
