//! What happened on the machine while it was measured; lines of `events.jsonl`.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// One line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The machine's counters over the last interval.
    Context(ContextSample),
    /// The worst wakeup of each CPU over the last interval.
    Window(WindowMax),
    /// A load's heartbeats so far.
    Load {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Which load.
        load: String,
        /// Heartbeats since it started.
        beats: u64,
    },
    /// A phase began to record.
    PhaseStart {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Its id.
        phase: String,
    },
    /// A phase ended.
    PhaseEnd {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Its id.
        phase: String,
    },
    /// CLOCK_REALTIME was set: measuring is not affected, time stamps of other logs are.
    ClockStep {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// By how much, ns.
        step_ns: i64,
    },
    /// The machine slept.
    Suspend {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// For how long, ns.
        asleep_ns: u64,
    },
    /// A measured CPU went offline, or its thread was moved.
    CpuLost {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Which.
        cpu: CpuId,
        /// What was seen.
        text: String,
    },
    /// Frequencies, read between phases only (reading another CPU's disturbs it).
    Frequency {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// CPU and kHz.
        khz: Vec<(CpuId, u64)>,
    },
    /// System Management Interrupts counted by the processor, read between phases only.
    Smi {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// CPU and count since boot.
        counts: Vec<(CpuId, u64)>,
    },
    /// A signal ended the run.
    Signal {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Its number.
        number: i32,
    },
    /// The user marked this instant in the live view.
    Mark {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Counts from 1 through the run.
        number: u64,
    },
    /// The user ended a phase before its time, to go on with the next load. What it recorded is whole; its length was
    /// chosen by somebody who saw the results.
    EndedEarly {
        /// CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Phase id.
        phase: String,
    },
}

impl Event {
    /// When, on CLOCK_MONOTONIC.
    pub fn mono_ns(&self) -> u64 {
        match self {
            Event::Context(c) => c.mono_ns,
            Event::Window(w) => w.mono_ns,
            Event::Load { mono_ns, .. }
            | Event::PhaseStart { mono_ns, .. }
            | Event::PhaseEnd { mono_ns, .. }
            | Event::ClockStep { mono_ns, .. }
            | Event::Suspend { mono_ns, .. }
            | Event::CpuLost { mono_ns, .. }
            | Event::Frequency { mono_ns, .. }
            | Event::Smi { mono_ns, .. }
            | Event::Signal { mono_ns, .. }
            | Event::Mark { mono_ns, .. }
            | Event::EndedEarly { mono_ns, .. } => *mono_ns,
        }
    }
}

/// The machine's counters over one interval. What could not be read is `None`, or missing from its list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextSample {
    /// CLOCK_MONOTONIC at the end of the interval.
    pub mono_ns: u64,
    /// Its length.
    pub interval_ns: u64,
    /// Temperatures now, m°C.
    pub temperatures: Vec<Reading>,
    /// Throttling and under-voltage counters: events within the interval. `[]` where nothing can be read.
    pub throttling: Vec<Reading>,
    /// Frequency transitions within the interval, all policies.
    pub frequency_transitions: Option<u64>,
    /// Context switches within the interval, all CPUs.
    pub context_switches: Option<u64>,
    /// Page faults within the interval, all processes.
    pub page_faults: Option<u64>,
    /// Those that had to read from disk.
    pub major_faults: Option<u64>,
    /// The measured CPUs.
    pub cpus: Vec<CpuContext>,
}

/// A named figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Where it comes from: `thermal_zone0 cpu-thermal`.
    pub name: String,
    /// The figure; its unit is the list's.
    pub value: i64,
}

/// One measured CPU over one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuContext {
    /// Which.
    pub cpu: CpuId,
    /// Interrupts handled, all sources.
    pub irqs: Option<u64>,
    /// The busiest sources with their names, the busiest first (up to 4, zero left out).
    pub top_irqs: Vec<Reading>,
    /// Softirqs by name (zero left out).
    pub softirqs: Vec<Reading>,
    /// Time the hypervisor ran something else, ns (resolution 1/USER_HZ).
    pub steal_ns: Option<u64>,
    /// Time the measuring thread was runnable but not running, ns.
    pub run_delay_ns: Option<u64>,
    /// Times the measuring thread was preempted.
    pub involuntary_switches: Option<u64>,
    /// Page faults of the measuring thread.
    pub page_faults: Option<u64>,
    /// Throttling events of this CPU.
    pub throttle_events: Option<u64>,
    /// Times the measuring thread moved to another CPU.
    pub migrations: Option<u64>,
    /// Other real-time tasks that ran on this CPU in the interval: `rogue99 (FIFO 99, pid 144)` and their ns, the
    /// longest first.
    pub rt_tasks: Vec<Reading>,
}

/// The worst wakeup of each CPU over one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowMax {
    /// CLOCK_MONOTONIC at the end of the interval.
    pub mono_ns: u64,
    /// Its length.
    pub interval_ns: u64,
    /// Phase id.
    pub phase: String,
    /// CPU and its worst latency, ns (0: no wakeup in the interval).
    pub max_ns: Vec<(CpuId, u64)>,
}
