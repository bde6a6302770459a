//! When threads begin and end, by theory alone.
//!
//! [`simulate`] covers every policy on one CPU or several; [`formula`] has the closed forms it is tested by, and the bounds that hold
//! for all offsets. Nothing here reads the machine.

pub mod formula;
pub mod replay;
mod sim;
mod state;

use crate::body::Body;
use punctual_model::RtLimit;
use punctual_units::{CpuList, Nanos, Scheduling};
pub use sim::simulate;

/// A thread to be scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Policy with its parameters.
    pub scheduling: Scheduling,
    /// CPUs it may run on.
    pub cpus: CpuList,
    /// When it is released.
    pub release: Nanos,
    /// What it does; the lengths of its work are CPU time.
    pub body: Body,
}

/// The scheduler it is given to.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// Slice of SCHED_RR.
    pub quantum: Nanos,
    /// CPU time that real-time threads may have in each period of a CPU: RT throttling, or, where ordinary threads want it as well,
    /// what the fair server leaves. `None`: all of it.
    pub limit: Option<RtLimit>,
    /// How long before the first release the period of the limit had begun, on all CPUs at once: RT throttling counts all real-time
    /// threads of the machine in periods of one timer (kernel/sched/rt.c, sched_rt_period_timer). `None`: it begins with the first use of
    /// each CPU.
    pub phase: Option<Nanos>,
    /// Nothing is simulated beyond; threads without an end stop here.
    pub horizon: Nanos,
    /// Resolution. What happens within a step happens at its end.
    pub step: Nanos,
}

impl Scheduler {
    /// Are real-time threads throttled where nobody else wants the CPU, too?
    fn is_always_limited(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.always)
    }
}
