//! What took CPUs from threads that never sleep: the result of `punctual explain --hardware`.

use crate::{Confidence, Reading, SpanKind};
use punctual_units::{CpuId, CpuList, Scheduling};
use serde::{Deserialize, Serialize};

/// Two successive readings of one CPU's clock that lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// Where.
    pub cpu: CpuId,
    /// The reading before it, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Until the next one.
    pub length_ns: u64,
}

/// Who took the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GapClass {
    /// Linux: interrupts, softirqs, NMI handlers, other threads, as its own trace shows.
    Linux,
    /// The hypervisor of this guest.
    Hypervisor,
    /// Firmware: a system management interrupt (SMI).
    Firmware,
    /// Hardware or firmware below Linux; no hypervisor is there.
    Hardware,
    /// Not Linux; whether hardware or a hypervisor cannot be told.
    BeyondLinux,
    /// Not even whether it was Linux can be told.
    Unknown,
}

/// What took the CPU, of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapPart {
    /// `local_timer`, `irq 24 eth0`, `NET_RX`, `NMI`, `stress-ng (FIFO 99, pid 712)`.
    pub what: String,
    /// Its kind.
    pub kind: SpanKind,
    /// Gaps that it had a part in.
    pub gaps: u64,
    /// Its longest part in one gap, ns.
    pub worst_ns: u64,
    /// Its parts together, ns.
    pub total_ns: u64,
}

/// All gaps of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapFinding {
    /// Whose they are.
    pub class: GapClass,
    /// How many.
    pub gaps: u64,
    /// How many of them came on every reading CPU at once.
    pub at_once: u64,
    /// The longest time taken in one, ns.
    pub worst_ns: u64,
    /// Where that was.
    pub worst_cpu: CpuId,
    /// All of them together, ns.
    pub total_ns: u64,
    /// How sure.
    pub confidence: Confidence,
    /// By name, the most time first; what Linux did.
    pub parts: Vec<GapPart>,
    /// What the class rests on.
    pub evidence: Vec<String>,
    /// The one sentence.
    pub verdict: String,
    /// What to do, with the command to type.
    pub advice: Option<String>,
}

/// One gap, compared with the trace. `linux_ns + beyond_ns + edge_ns + unknown_ns` is its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedGap {
    /// Where and when.
    #[serde(flatten)]
    pub gap: Gap,
    /// In which the trace shows Linux at work, ns.
    pub linux_ns: u64,
    /// In which it shows nothing but the reading thread, for at least the threshold at a stretch, ns.
    pub beyond_ns: u64,
    /// The same, shorter: entry to and return from what Linux did, ns.
    pub edge_ns: u64,
    /// That the trace does not cover, ns.
    pub unknown_ns: u64,
    /// What Linux did, the longest first: name, ns.
    pub did: Vec<(String, u64)>,
    /// Every reading CPU stood still then; `false`: another CPU went on; `None`: there was none to compare with.
    pub at_once: Option<bool>,
}

/// What one CPU's thread saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GapCpu {
    /// Where.
    pub cpu: CpuId,
    /// What the thread ran as.
    pub scheduling: Scheduling,
    /// Time its windows should have taken, ns.
    pub due_ns: u64,
    /// Time it read, ns.
    pub looked_ns: u64,
    /// Readings of the clock.
    pub readings: u64,
    /// Gaps.
    pub gaps: u64,
    /// The longest, ns.
    pub worst_ns: Option<u64>,
    /// Gaps by length: from, to (inclusive), how many.
    pub histogram: Vec<(u64, u64, u64)>,
    /// Steal time meanwhile, ns, in steps of 10 ms; `None`: not counted.
    pub steal_ns: Option<u64>,
    /// System management interrupts meanwhile; `None`: cannot be counted.
    pub smi: Option<u64>,
    /// Time the thread was runnable and did not run (schedstat), ns.
    pub run_delay_ns: Option<u64>,
    /// Times another thread took its CPU.
    pub preempted: Option<u64>,
    /// Interrupts meanwhile, the most frequent first; `None`: not known.
    pub interrupts: Option<Vec<(String, u64)>>,
}

/// What the kernel's own detector saw, with interrupts off: nothing of it is Linux but NMIs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hwlat {
    /// For how long it ran, ns; it reads half of the time.
    pub ran_ns: u64,
    /// Windows of a second each in which it saw a gap; it tells the longest of each.
    pub windows: u64,
    /// The longest, ns, to a microsecond.
    pub worst_ns: u64,
    /// Where that was.
    pub worst_cpu: Option<CpuId>,
    /// NMIs that came in gaps; `None`: no line told.
    pub nmis: Option<u64>,
    /// The one sentence.
    pub verdict: String,
}

/// Hardware, hypervisor and Linux told apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hardware {
    /// By class, the longest first; empty: no gap.
    pub findings: Vec<GapFinding>,
    /// By CPU.
    pub cpus: Vec<GapCpu>,
    /// The kernel's detector; `None`: not run.
    pub hwlat: Option<Hwlat>,
    /// The longest gaps.
    pub worst: Vec<ExplainedGap>,
    /// The hypervisor's name, or `none`; `None`: cannot be told.
    pub virtualisation: Option<String>,
    /// Throttling meanwhile.
    pub throttled: Vec<Reading>,
    /// The hottest sensor at the end, m°C.
    pub hottest: Option<Reading>,
    /// Where it was looked.
    pub on: CpuList,
    /// For how long, ns.
    pub took_ns: u64,
    /// Readings this far apart are a gap, ns.
    pub threshold_ns: u64,
    /// Each CPU reads this long…
    pub window_ns: u64,
    /// … in each of these, ns.
    pub cycle_ns: u64,
    /// Events of the trace that the gaps were compared with; `None`: nothing was traced.
    pub events: Option<u64>,
    /// What was not looked at, or with less than was wanted: with any of it this is no clean bill.
    pub narrowed: Vec<String>,
    /// What else is worth saying.
    pub notes: Vec<String>,
}

impl GapClass {
    /// Its name for people.
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
