//! Result of `punctual explain --hardware`: causes of gaps in the execution of threads that never sleep.

use crate::{Confidence, Reading, SpanKind};
use punctual_units::{CpuId, CpuList, Scheduling};
use serde::{Deserialize, Serialize};

/// A gap between two successive clock readings on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC time of the last reading before the gap.
    pub start_ns: u64,
    /// Time until the next reading.
    pub length_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GapClass {
    /// An activity of Linux that the trace shows: an interrupt, a softirq, an NMI handler or another thread.
    Linux,
    Hypervisor,
    /// Firmware: a system management interrupt (SMI).
    Firmware,
    /// Hardware or firmware; the machine has no hypervisor.
    Hardware,
    /// Hardware or hypervisor, which cannot be distinguished, but not Linux.
    BeyondLinux,
    /// It is unknown whether Linux caused the gap.
    Unknown,
}

/// One named cause of gaps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapPart {
    /// Name of the cause, for example `local_timer`, `irq 24 eth0`, `NET_RX`, `NMI` or `stress-ng (FIFO 99, pid 712)`.
    pub what: String,
    pub kind: SpanKind,
    pub gaps: u64,
    /// Largest contribution of this cause to a single gap, ns.
    pub worst_ns: u64,
    /// Sum of the contributions of this cause to all gaps, ns.
    pub total_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapFinding {
    pub class: GapClass,
    pub gaps: u64,
    /// Number of gaps that occurred at the same time on all CPUs that read the clock.
    pub at_once: u64,
    /// Longest time within one gap that this class caused, ns.
    pub worst_ns: u64,
    pub worst_cpu: CpuId,
    /// Time that this class caused, summed over all gaps, ns.
    pub total_ns: u64,
    pub confidence: Confidence,
    /// Linux activities by name, largest total first.
    pub parts: Vec<GapPart>,
    /// Evidence for the classification.
    pub evidence: Vec<String>,
    /// The finding as one sentence.
    pub verdict: String,
    /// The next step, with the command; null if none is needed.
    pub advice: Option<String>,
}

/// A gap, divided according to the trace. Its length is `linux_ns + beyond_ns + edge_ns + unknown_ns`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedGap {
    #[serde(flatten)]
    pub gap: Gap,
    /// Time during which the trace shows an activity of Linux, ns.
    pub linux_ns: u64,
    /// Time during which the trace shows only the thread that reads the clock, in intervals of at least the threshold,
    /// ns.
    pub beyond_ns: u64,
    /// Time during which the trace shows only the thread that reads the clock, in intervals shorter than the threshold,
    /// ns. These intervals are entries to and returns from activities of Linux.
    pub edge_ns: u64,
    /// Time that the trace does not cover, ns.
    pub unknown_ns: u64,
    /// Names of the activities of Linux with their durations in ns, longest first.
    pub did: Vec<(String, u64)>,
    /// True if every CPU that read the clock had a gap at that time; null if there was no other CPU to compare with.
    pub at_once: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapCpu {
    pub cpu: CpuId,
    pub scheduling: Scheduling,
    /// Time for which the clock should have been read, ns.
    pub due_ns: u64,
    /// Time for which the clock was actually read, ns.
    pub looked_ns: u64,
    pub readings: u64,
    pub gaps: u64,
    /// Longest gap, ns; null if none occurred.
    pub worst_ns: Option<u64>,
    /// Histogram of gap lengths. Each entry holds the smallest length (ns), the largest length (ns) and the number of
    /// gaps.
    pub histogram: Vec<(u64, u64, u64)>,
    /// Steal time, ns, in steps of 10 ms; null if not counted.
    pub steal_ns: Option<u64>,
    /// Number of system management interrupts; null if they cannot be counted.
    pub smi: Option<u64>,
    /// Time for which the thread was runnable but not running (schedstat), ns; null if unknown.
    pub run_delay_ns: Option<u64>,
    /// Number of times that another thread preempted the thread that reads the clock; null if unknown.
    pub preempted: Option<u64>,
    /// Names and counts of interrupts, largest count first; null if unknown.
    pub interrupts: Option<Vec<(String, u64)>>,
}

/// Result of the kernel's hwlat detector. The detector runs with interrupts disabled, so Linux does not cause the gaps
/// that it reports, except through NMIs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hwlat {
    /// Time for which the detector ran, ns. It reads the clock for half of that time.
    pub ran_ns: u64,
    /// Number of one-second windows with a gap. The detector reports the longest gap of each window.
    pub windows: u64,
    /// Longest gap, ns, with a resolution of 1 µs.
    pub worst_ns: u64,
    pub worst_cpu: Option<CpuId>,
    /// Number of NMIs during gaps; null if the tracer does not report them.
    pub nmis: Option<u64>,
    /// The result as one sentence.
    pub verdict: String,
}

/// Result of `explain --hardware`: gaps attributed to hardware, hypervisor or Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hardware {
    /// Findings by class, longest gap first; empty if no gap occurred.
    pub findings: Vec<GapFinding>,
    pub cpus: Vec<GapCpu>,
    /// Result of the kernel's detector; null if it was not run.
    pub hwlat: Option<Hwlat>,
    pub worst: Vec<ExplainedGap>,
    /// Name of the hypervisor, or `none`; null if it cannot be determined.
    pub virtualisation: Option<String>,
    /// Throttling events during the measurement.
    pub throttled: Vec<Reading>,
    /// Hottest sensor at the end of the measurement, m°C.
    pub hottest: Option<Reading>,
    /// CPUs that were searched for gaps.
    pub on: CpuList,
    pub took_ns: u64,
    /// Minimum time between two clock readings that counts as a gap, ns.
    pub threshold_ns: u64,
    /// Time per cycle for which the clock is read on each CPU, ns.
    pub window_ns: u64,
    /// Length of a cycle, ns.
    pub cycle_ns: u64,
    /// Number of trace events compared with the gaps; null if no events were traced.
    pub events: Option<u64>,
    /// Parts of the measurement that were left out or reduced. Unless the list is empty, the absence of gaps proves
    /// nothing about those parts.
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
            GapClass::BeyondLinux => "hardware or hypervisor (cannot be distinguished)",
            GapClass::Unknown => "Linux, hardware or hypervisor (cannot be distinguished)",
        }
    }
}
