//! Result of `bound`: an upper bound on the scheduling latency, composed from the longest sections of a recording.

use crate::Outcome;
use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// A bound on the scheduling latency of the thread with the highest priority on each CPU, after Bristot de Oliveira,
/// Casini, Oliveira, Cucinotta, "Demystifying the Real-Time Linux Scheduling Latency" (ECRTS 2020), theorem 8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyBound {
    /// Outcome: `pass` if every CPU has a bound and it is below `deadline_ns` if given, `fail` if a bound is not below
    /// it, `inconclusive` if a CPU has no bound.
    pub outcome: Outcome,
    /// The largest bound of all CPUs; null if a CPU has none.
    pub bound_ns: Option<Nanos>,
    /// The CPU with that bound.
    pub cpu: Option<u32>,
    pub deadline_ns: Option<Nanos>,
    /// Time from the first to the last event of the CPU of which the least was recorded.
    pub recorded_ns: Nanos,
    /// Number of events read.
    pub events: u64,
    /// CPUs with a bound or with events that permit none, in ascending order.
    pub cpus: Vec<CpuBound>,
    /// Why there is no bound.
    pub problems: Vec<String>,
    /// What the bound assumes, and what was taken on the safe side.
    pub assumptions: Vec<String>,
}

/// The bound of one CPU and its composition: max(poid, dst) + paie + psd + interrupts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuBound {
    pub cpu: u32,
    /// The bound, with the interrupts of the worst window; null if it does not converge, or if a part is unknown.
    pub bound_ns: Option<Nanos>,
    /// The bound without interrupts: max(poid, dst) + paie + psd.
    pub without_interrupts_ns: Option<Nanos>,
    /// Largest time in interrupts and NMIs in a window of `bound_ns`.
    pub interrupts_ns: Option<Nanos>,
    /// The bound if each interrupt comes as often as its two closest occurrences and always lasts as long as its longest
    /// one (sporadic model); null if that does not converge.
    pub sporadic_ns: Option<Nanos>,
    /// The parts of the bound without interrupts.
    pub parts: Vec<BoundPart>,
    /// Interrupts, those with the largest share of the bound first.
    pub interrupts: Vec<BoundInterrupt>,
    /// The single place or interrupt whose removal lowers the bound most.
    pub without: Option<BoundWithout>,
    /// The latest wakeup in the recording whose thread had the highest priority on this CPU.
    pub seen: Option<BoundSeen>,
    /// Largest latency that the timerlat tracer measured in its thread on this CPU, from the expiry of its timer; null if
    /// it did not run.
    pub timerlat_ns: Option<Nanos>,
    /// Number of sections from which the parts are taken.
    pub sections: u64,
    /// Number of times that interrupts or preemption changed without an event; such a section is lengthened to the
    /// neighbouring events.
    pub uncertain: u64,
}

/// A part of the bound, as in table 1 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// Preemption or interrupts disabled, other than to schedule.
    Poid,
    /// From the interrupts being disabled for a context switch to the end of the scheduler.
    Dst,
    /// Preemption and interrupts enabled while a reschedule is pending.
    Paie,
    /// Preemption disabled to schedule, including the context switch.
    Psd,
}

/// The longest section of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundPart {
    pub part: PartKind,
    /// Its length without interrupts.
    pub longest_ns: Nanos,
    /// False for the smaller one of poid and dst, which is not in the sum.
    pub is_in_sum: bool,
    /// The section; null if none of this kind was seen.
    pub place: Option<BoundPlace>,
}

/// A section of the recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundPlace {
    /// Time of its end on the clock of the recording.
    pub at_ns: Nanos,
    /// The thread that was running at its end.
    pub thread: Option<String>,
    pub tid: Option<i32>,
    /// Function in which it begins; null if the recording does not name it.
    pub begins: Option<String>,
    /// Function in which it ends.
    pub ends: Option<String>,
}

/// An interrupt, or NMIs as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundInterrupt {
    pub name: String,
    pub count: u64,
    /// Longest time from the CPU's first event of an occurrence to its last one, and the time before it if it was
    /// pending.
    pub longest_ns: Nanos,
    /// Largest time in a window of the bound.
    pub in_window_ns: Nanos,
}

/// What the bound would be without one place or interrupt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundWithout {
    /// The place or interrupt.
    pub what: String,
    /// The bound without it, on this CPU.
    pub bound_ns: Nanos,
}

/// A wakeup in the recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoundSeen {
    /// Time from sched_waking to the end of the scheduler.
    pub latency_ns: Nanos,
    pub at_ns: Nanos,
    pub thread: Option<String>,
    pub tid: i32,
}
