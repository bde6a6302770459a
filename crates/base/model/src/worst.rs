//! The worst wakeups, and what the counters say of them.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// One of the worst wakeups, exact; a line of `worst.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Worst {
    /// Phase id.
    pub phase: String,
    /// Where.
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC at which it should have woken.
    pub release_mono_ns: u64,
    /// How much later it did.
    pub latency_ns: u64,
    /// Which period of the phase it was, counting from 0.
    pub cycle: u64,
    /// Periods skipped because of it.
    pub skipped: u64,
    /// Byte offset of the trace that covers it, where one was recorded.
    pub trace_offset: Option<u64>,
    /// What the counters say about its cause, the likeliest first.
    pub suspicions: Vec<Suspicion>,
}

/// What the counters say about one late wakeup. A hint: the counters know the second, not the instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suspicion {
    /// For programs.
    pub class: SuspicionClass,
    /// For people, with the figures.
    pub text: String,
}

/// What may have been the cause, as far as counters can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SuspicionClass {
    /// The thread was runnable and another held the CPU.
    OtherTask,
    /// The hypervisor ran something else.
    Steal,
    /// A burst of one interrupt.
    Irq,
    /// A burst of softirq work.
    Softirq,
    /// The thread was moved between CPUs.
    Migration,
    /// The thread took a page fault.
    PageFault,
    /// The processor throttled.
    Throttling,
    /// The frequency changed.
    FrequencyStep,
    /// The firmware took the CPU (System Management Interrupt).
    Smi,
    /// The wakeup itself came late although nothing ran instead: interrupts off, idle exit, firmware.
    LateWakeup,
    /// The counters show nothing unusual.
    Unknown,
}
