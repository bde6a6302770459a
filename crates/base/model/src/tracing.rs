//! How late wakeups were traced during a run.

use crate::AppWindow;
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tracing {
    /// The reason why nothing was traced, with advice; null if tracing worked.
    pub why_not: Option<String>,
    /// Tracefs mount that was used: `mounted at PATH`, `own detached mount`. Absent if nothing was traced, or if the
    /// run was recorded by an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracefs: Option<String>,
    /// Recorded events as `system:name`.
    pub events: Vec<String>,
    /// Requested events that this kernel lacks.
    pub missing: Vec<String>,
    /// Buffer size per CPU, KiB.
    pub buffer_kb: u64,
    /// Cost of one event, ns, measured on this machine after the run; null if not measured.
    pub event_cost_ns: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTrace {
    /// Number of events recorded on all CPUs. Most of them were overwritten, because only windows around late wakeups
    /// are saved.
    pub events: u64,
    /// Number of windows saved to files.
    pub captures: u64,
    /// Number of times the recorder woke up to save a window.
    pub wakeups: u64,
    /// Problems that occurred during tracing; usually empty.
    pub problems: Vec<String>,
}

/// A trace window around late wakeups, or before a moment at which an application was late: `traces/<name>.json` next to `traces/<name>.dat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    pub phase: String,
    /// The trace.dat file, relative to the run directory.
    pub file: String,
    /// Start of the window, CLOCK_MONOTONIC.
    pub from_mono_ns: u64,
    /// End of the window, CLOCK_MONOTONIC.
    pub to_mono_ns: u64,
    pub late: Vec<LateWakeup>,
    /// CPUs whose buffer no longer contained the start of the window.
    pub overwritten: Vec<CpuId>,
    /// Policies of the real-time threads in the window by thread id, since a trace does not distinguish FIFO from RR.
    pub policies: BTreeMap<i32, punctual_units::Policy>,
    /// True if the fair server is on; null if the kernel has none or does not report it.
    pub fair_server: Option<bool>,
    /// Current tracer of the top-level trace instance, which may be in use by another program; `nop` if no tracer is
    /// active.
    #[serde(default)]
    pub tracer: Option<String>,
    /// True if the kernel log reports real-time throttling in this phase; null if the log is not readable.
    pub throttled: Option<bool>,
    /// Output of `uname -r`.
    #[serde(default)]
    pub kernel: Option<String>,
    /// True if the machine runs under a hypervisor.
    #[serde(default)]
    pub guest: Option<bool>,
    /// True if the kernel schedules real-time threads by group; null if its configuration is not readable.
    #[serde(default)]
    pub rt_group_sched: Option<bool>,
    /// CLOCK_MONOTONIC time of timer interrupts that arrived right after an instruction that enables interrupts, which
    /// shows that a section with interrupts disabled had just ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<u64>,
    /// Why the window was kept, if it contains an application's events; absent for late wakeups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<AppWindow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateWakeup {
    pub cpu: CpuId,
    pub tid: i32,
    /// CLOCK_MONOTONIC time of the release.
    pub release_mono_ns: u64,
    pub latency_ns: u64,
}
