//! Predicts when threads begin and end, by theory alone.
//!
//! [`simulate`] covers every policy on one CPU or several; [`formula`] has the closed forms it is tested by, and the
//! bounds that hold for all offsets. Nothing here reads the machine.

pub mod formula;
pub mod replay;
mod sim;
mod state;

use crate::body::Body;
use punctual_model::RtLimit;
use punctual_units::{CpuList, Nanos, Scheduling};
pub use sim::simulate;

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    pub release: Nanos,
    /// The lengths of its work are CPU time.
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    pub quantum: Nanos,
    /// CPU time of real-time threads in each period of a CPU: the limit of RT throttling, or what the fair server
    /// leaves if ordinary threads want the CPU as well. `None`: unlimited.
    pub limit: Option<RtLimit>,
    /// How long before the first release the period of the limit began, on all CPUs at once: RT throttling counts all
    /// real-time threads of the machine in periods of one timer (kernel/sched/rt.c, sched_rt_period_timer). `None`: it
    /// begins with the first use of each CPU.
    pub phase: Option<Nanos>,
    /// End of the simulation, and of threads without an end.
    pub horizon: Nanos,
    /// Resolution: what happens within a step takes effect at its end.
    pub step: Nanos,
}

impl Scheduler {
    /// Are real-time threads throttled even if nobody else wants the CPU?
    fn is_always_limited(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.always)
    }
}
