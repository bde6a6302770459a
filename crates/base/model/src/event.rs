//! Events on the machine during a measurement: the lines of `events.jsonl`.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Counters of the machine over the last interval.
    Context(ContextSample),
    /// The worst wakeup of each CPU over the last interval.
    Window(WindowMax),
    /// Number of heartbeats that a load has sent so far.
    Load {
        /// CLOCK_MONOTONIC time of the sample.
        mono_ns: u64,
        load: String,
        /// Number of heartbeats since the load started.
        beats: u64,
    },
    PhaseStart {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        phase: String,
    },
    PhaseEnd {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        phase: String,
    },
    /// CLOCK_REALTIME was set. This affects time stamps in other logs, but not the measurement.
    ClockStep {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Size of the step, ns.
        step_ns: i64,
    },
    Suspend {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Time spent suspended, ns.
        asleep_ns: u64,
    },
    /// A measured CPU went offline, or the measuring thread on it was migrated.
    CpuLost {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        cpu: CpuId,
        text: String,
    },
    /// CPU frequencies, read between phases only, because reading the frequency of another CPU disturbs that CPU.
    Frequency {
        /// Time of the reading, CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Pairs of CPU and frequency in kHz.
        khz: Vec<(CpuId, u64)>,
    },
    /// System management interrupts counted by the processor; read between phases only.
    Smi {
        /// Time of the reading, CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Pairs of CPU and SMI count since boot.
        counts: Vec<(CpuId, u64)>,
    },
    Signal {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        number: i32,
    },
    /// The user marked this instant in the live view.
    Mark {
        /// Time of the mark, CLOCK_MONOTONIC.
        mono_ns: u64,
        /// Number of the mark in the run, counted from 1.
        number: u64,
    },
    /// The user ended a phase early to continue with the next load. Its recording is valid, but its length was chosen
    /// by someone who had seen the results.
    EndedEarly {
        /// Time of the event, CLOCK_MONOTONIC.
        mono_ns: u64,
        phase: String,
    },
}

impl Event {
    /// Returns the time of the event, CLOCK_MONOTONIC in ns.
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

/// Counters of the machine over one interval. Values that could not be read are null or omitted from their list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextSample {
    /// CLOCK_MONOTONIC time at the end of the interval.
    pub mono_ns: u64,
    pub interval_ns: u64,
    /// Temperatures at the end of the interval, m°C.
    pub temperatures: Vec<Reading>,
    /// Throttling and under-voltage events in the interval. Empty if they cannot be read.
    pub throttling: Vec<Reading>,
    /// Number of frequency transitions in the interval, summed over all policies.
    pub frequency_transitions: Option<u64>,
    /// Number of context switches in the interval, summed over all CPUs.
    pub context_switches: Option<u64>,
    /// Number of page faults in the interval, summed over all processes.
    pub page_faults: Option<u64>,
    /// Number of page faults in the interval that read from disk.
    pub major_faults: Option<u64>,
    /// One entry per measured CPU.
    pub cpus: Vec<CpuContext>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// Source of the value, for example `thermal_zone0 cpu-thermal`.
    pub name: String,
    /// Value in the unit of the containing list.
    pub value: i64,
}

/// Counters of one measured CPU over one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuContext {
    pub cpu: CpuId,
    /// Number of interrupts handled, from all sources.
    pub irqs: Option<u64>,
    /// The most frequent interrupt sources (at most 4) with their counts, largest first. Sources without interrupts are
    /// omitted.
    pub top_irqs: Vec<Reading>,
    /// Softirq counts by name; softirqs that did not run are omitted.
    pub softirqs: Vec<Reading>,
    /// Steal time, ns (resolution 1/USER_HZ).
    pub steal_ns: Option<u64>,
    /// Time for which the measuring thread was runnable but not running, ns.
    pub run_delay_ns: Option<u64>,
    /// Number of involuntary context switches of the measuring thread.
    pub involuntary_switches: Option<u64>,
    /// Number of page faults of the measuring thread.
    pub page_faults: Option<u64>,
    /// Number of throttling events of this CPU.
    pub throttle_events: Option<u64>,
    /// Number of migrations of the measuring thread to another CPU.
    pub migrations: Option<u64>,
    /// Other real-time tasks that ran on this CPU in the interval, for example `rogue99 (FIFO 99, pid 144)`, with their
    /// run time in ns, longest first.
    pub rt_tasks: Vec<Reading>,
}

/// The worst wakeup of each CPU over one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowMax {
    /// CLOCK_MONOTONIC time at the end of the interval.
    pub mono_ns: u64,
    pub interval_ns: u64,
    pub phase: String,
    /// Each CPU with its largest latency, ns; 0 if the CPU had no wakeup in the interval.
    pub max_ns: Vec<(CpuId, u64)>,
}
