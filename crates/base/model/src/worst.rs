//! The worst wakeups, with possible causes from counters.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// One of the worst wakeups, with exact values; a line of `worst.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    pub phase: String,
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC time of the release.
    pub release_mono_ns: u64,
    pub latency_ns: u64,
    /// Number of the period in the phase, counted from 0.
    pub cycle: u64,
    /// Number of periods skipped because this wakeup was late.
    pub skipped: u64,
    /// Offset in bytes into the trace that contains the wakeup; null if no trace was recorded.
    pub trace_offset: Option<u64>,
    /// Possible causes derived from counters, most likely first.
    pub suspicions: Vec<Suspicion>,
}

/// A possible cause of one late wakeup, derived from counters. It is only a hint, because counters have a resolution of
/// seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suspicion {
    pub class: SuspicionClass,
    /// Description that includes the counter values.
    pub text: String,
}

/// Possible causes that counters can reveal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SuspicionClass {
    /// The thread was runnable while another task had the CPU.
    OtherTask,
    /// The hypervisor ran something else on the CPU.
    Steal,
    /// An interrupt occurred unusually often.
    Irq,
    /// A burst of softirq work occurred.
    Softirq,
    Migration,
    PageFault,
    Throttling,
    FrequencyStep,
    /// Firmware used the CPU (system management interrupt).
    Smi,
    /// The wakeup was late although no other task ran: interrupts may have been disabled, the CPU may have left an idle
    /// state, or firmware may have run.
    LateWakeup,
    /// The counters show nothing unusual.
    Unknown,
}
