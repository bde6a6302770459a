//! Predicts from theory when threads begin and end.
//!
//! [`simulate`] covers every policy on one or several CPUs. [`formula`] has the closed forms the simulation is tested
//! against, and the bounds that hold for all offsets. Nothing here reads the state of the machine.

pub mod formula;
pub mod replay;
mod server;
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
    /// Body of the task, with work in CPU time.
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    pub quantum: Nanos,
    /// CPU time that real-time threads get in each period of a CPU: the limit of RT throttling, or what the fair server
    /// leaves if ordinary threads want the CPU as well. `None` means unlimited.
    pub limit: Option<RtLimit>,
    /// How long before the first release the period of the limit began, on all CPUs at once: RT throttling accounts for
    /// all real-time threads of the machine in periods of one timer (sched_rt_period_timer() in kernel/sched/rt.c). If
    /// `None`, the period begins with the first use of each CPU.
    pub phase: Option<Nanos>,
    /// End of the simulation, and of threads that do not end on their own.
    pub horizon: Nanos,
    /// Resolution. What happens within a step takes effect at its end.
    pub step: Nanos,
}

impl Scheduler {
    /// Returns `true` if real-time threads are throttled even when nothing else wants the CPU.
    fn is_always_limited(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.always)
    }
}
