//! The worst wakeups, with hints from counters.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// One of the worst wakeups, exact; a line of `worst.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    pub phase: String,
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC of the release.
    pub release_mono_ns: u64,
    pub latency_ns: u64,
    /// Number of the period in the phase, from 0.
    pub cycle: u64,
    /// Periods skipped because of this wakeup.
    pub skipped: u64,
    /// Byte offset in the trace that covers it; null if none was recorded.
    pub trace_offset: Option<u64>,
    /// Likely causes from counters, most likely first.
    pub suspicions: Vec<Suspicion>,
}

/// A possible cause of one late wakeup, derived from counters. Only a hint: counters resolve seconds, not instants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suspicion {
    pub class: SuspicionClass,
    /// Text for people, with the figures.
    pub text: String,
}

/// Possible causes that counters can reveal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SuspicionClass {
    /// The thread was runnable while another held the CPU.
    OtherTask,
    /// The hypervisor ran something else.
    Steal,
    /// Many occurrences of one interrupt.
    Irq,
    /// A burst of softirq work.
    Softirq,
    Migration,
    PageFault,
    Throttling,
    FrequencyStep,
    /// Firmware took the CPU (system management interrupt).
    Smi,
    /// The wakeup was late although nothing else ran: interrupts disabled, idle exit, firmware.
    LateWakeup,
    /// The counters show nothing unusual.
    Unknown,
}
