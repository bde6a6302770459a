//! What took CPU time from threads that never sleep: the result of `punctual explain --hardware`.

use crate::{Confidence, Reading, SpanKind};
use punctual_units::{CpuId, CpuList, Scheduling};
use serde::{Deserialize, Serialize};

/// A gap between two successive clock readings on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    pub cpu: CpuId,
    /// Last reading before the gap, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Time until the next reading.
    pub length_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GapClass {
    /// Linux, as shown by its trace: interrupts, softirqs, NMI handlers, other threads.
    Linux,
    Hypervisor,
    /// Firmware: a system management interrupt (SMI).
    Firmware,
    /// Hardware or firmware below Linux; there is no hypervisor.
    Hardware,
    /// Not Linux; hardware and hypervisor cannot be told apart.
    BeyondLinux,
    /// It is not known whether Linux or something below it is the cause.
    Unknown,
}

/// One named cause of gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapPart {
    /// For example `local_timer`, `irq 24 eth0`, `NET_RX`, `NMI` or `stress-ng (FIFO 99, pid 712)`.
    pub what: String,
    pub kind: SpanKind,
    pub gaps: u64,
    /// The largest part of a single gap that it caused, ns.
    pub worst_ns: u64,
    /// Sum of its parts, ns.
    pub total_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapFinding {
    pub class: GapClass,
    pub gaps: u64,
    /// Gaps that occurred on all reading CPUs at the same time.
    pub at_once: u64,
    /// Longest time taken in one gap, ns.
    pub worst_ns: u64,
    pub worst_cpu: CpuId,
    /// Sum over all gaps, ns.
    pub total_ns: u64,
    pub confidence: Confidence,
    /// Linux activities by name, largest total first.
    pub parts: Vec<GapPart>,
    /// What the classification is based on.
    pub evidence: Vec<String>,
    /// The finding as one sentence.
    pub verdict: String,
    /// The next step, with the command; null if there is nothing to do.
    pub advice: Option<String>,
}

/// One gap, compared with the trace. Its length is `linux_ns + beyond_ns + edge_ns + unknown_ns`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedGap {
    #[serde(flatten)]
    pub gap: Gap,
    /// Time in which the trace shows Linux at work, ns.
    pub linux_ns: u64,
    /// Time in which the trace shows only the reading thread, in intervals of at least the threshold, ns.
    pub beyond_ns: u64,
    /// The same in shorter intervals: entry to and return from activities of Linux, ns.
    pub edge_ns: u64,
    /// Time that the trace does not cover, ns.
    pub unknown_ns: u64,
    /// What Linux did, longest first: name, ns.
    pub did: Vec<(String, u64)>,
    /// Whether every reading CPU stalled at that time; null if there was no other CPU to compare with.
    pub at_once: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapCpu {
    pub cpu: CpuId,
    pub scheduling: Scheduling,
    /// Time its windows should have taken, ns.
    pub due_ns: u64,
    /// Time it read the clock, ns.
    pub looked_ns: u64,
    pub readings: u64,
    pub gaps: u64,
    /// Longest gap, ns; null if there was none.
    pub worst_ns: Option<u64>,
    /// Gaps by length. An entry is the shortest length, the longest length (both in ns) and the number of gaps.
    pub histogram: Vec<(u64, u64, u64)>,
    /// Steal time, ns, in steps of 10 ms; null if not counted.
    pub steal_ns: Option<u64>,
    /// System management interrupts; null if they cannot be counted.
    pub smi: Option<u64>,
    /// Time the thread was runnable but not running (schedstat), ns; null if unknown.
    pub run_delay_ns: Option<u64>,
    /// Times another thread preempted it; null if unknown.
    pub preempted: Option<u64>,
    /// Interrupts by name and count, largest first; null if unknown.
    pub interrupts: Option<Vec<(String, u64)>>,
}

/// Result of the kernel's hwlat detector. It runs with interrupts disabled, so nothing it sees is Linux, except NMIs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hwlat {
    /// How long it ran, ns; it reads half of the time.
    pub ran_ns: u64,
    /// Windows of one second in which it saw a gap; it reports the longest of each.
    pub windows: u64,
    /// Longest gap, ns, with a resolution of 1 µs.
    pub worst_ns: u64,
    pub worst_cpu: Option<CpuId>,
    /// NMIs during gaps; null if no line reported them.
    pub nmis: Option<u64>,
    /// The result as one sentence.
    pub verdict: String,
}

/// Gaps attributed to hardware, hypervisor and Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hardware {
    /// By class, longest first; empty if there was no gap.
    pub findings: Vec<GapFinding>,
    pub cpus: Vec<GapCpu>,
    /// The kernel's detector; null if it was not run.
    pub hwlat: Option<Hwlat>,
    pub worst: Vec<ExplainedGap>,
    /// Name of the hypervisor, or `none`; null if it cannot be determined.
    pub virtualisation: Option<String>,
    /// Throttling events in that time.
    pub throttled: Vec<Reading>,
    /// Hottest sensor at the end, m°C.
    pub hottest: Option<Reading>,
    /// CPUs that were examined.
    pub on: CpuList,
    pub took_ns: u64,
    /// Clock readings at least this far apart count as a gap, ns.
    pub threshold_ns: u64,
    /// Each CPU reads for this long, ns,
    pub window_ns: u64,
    /// in each cycle of this length, ns.
    pub cycle_ns: u64,
    /// Trace events that the gaps were compared with; null if nothing was traced.
    pub events: Option<u64>,
    /// What was not examined, or examined with less than requested. Unless it is empty, the result is not a clean bill of
    /// health.
    pub narrowed: Vec<String>,
    pub notes: Vec<String>,
}

impl GapClass {
    pub fn name(self) -> &'static str {
        match self {
            GapClass::Linux => "Linux",
            GapClass::Hypervisor => "hypervisor",
            GapClass::Firmware => "firmware (SMI)",
            GapClass::Hardware => "hardware or firmware",
            GapClass::BeyondLinux => "hardware or hypervisor, cannot be told apart",
            GapClass::Unknown => "Linux, hardware or hypervisor, cannot be told apart",
        }
    }
}
