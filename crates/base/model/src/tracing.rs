//! How late wakeups were traced while a run was measured.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The trace of a run: what was recorded, and what that cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tracing {
    /// Why nothing was traced, and what to do; `None`: it was.
    pub why_not: Option<String>,
    /// Which tracefs was used: `mounted at PATH`, `own detached mount`; `None`: nothing was traced, or an older program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracefs: Option<String>,
    /// Recorded events, as `system:name`.
    pub events: Vec<String>,
    /// Events that this kernel does not have.
    pub missing: Vec<String>,
    /// Each CPU's buffer, KiB.
    pub buffer_kb: u64,
    /// What one event costs, ns, measured on this machine after the run; `None`: not measured.
    pub event_cost_ns: Option<f64>,
}

/// What was traced in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseTrace {
    /// Events recorded, all CPUs; most were overwritten, as intended.
    pub events: u64,
    /// Windows kept as files.
    pub captures: u64,
    /// Times that the recorder was woken to keep one.
    pub wakeups: u64,
    /// What went wrong; empty as a rule.
    pub problems: Vec<String>,
}

/// One window of the trace around late wakeups; `traces/<name>.json` beside `traces/<name>.dat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capture {
    /// Phase id.
    pub phase: String,
    /// The trace.dat, relative to the run directory.
    pub file: String,
    /// The window, CLOCK_MONOTONIC.
    pub from_mono_ns: u64,
    /// Its end.
    pub to_mono_ns: u64,
    /// The late wakeups in it.
    pub late: Vec<LateWakeup>,
    /// CPUs whose buffer had been overwritten past the window's beginning.
    pub overwritten: Vec<CpuId>,
    /// Policies by thread id when it was kept, of the real-time threads in it: a trace does not tell FIFO from RR.
    pub policies: BTreeMap<i32, punctual_units::Policy>,
    /// The fair server is on; `None`: the kernel does not tell, or has none.
    pub fair_server: Option<bool>,
    /// Tracer of the main trace, which another may have left on; `nop`: none.
    #[serde(default)]
    pub tracer: Option<String>,
    /// The kernel said in this phase that real-time throttling struck; `None`: its log could not be read.
    pub throttled: Option<bool>,
}

/// A late wakeup of a measuring thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LateWakeup {
    /// Where.
    pub cpu: CpuId,
    /// The measuring thread.
    pub tid: i32,
    /// CLOCK_MONOTONIC at which it should have woken.
    pub release_mono_ns: u64,
    /// How much later it did.
    pub latency_ns: u64,
}
