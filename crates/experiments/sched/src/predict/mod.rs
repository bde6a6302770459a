//! Predicts from theory when threads begin and end.
//!
//! [`simulate`] covers all policies on one or several CPUs. [`formula`] contains closed forms with which the simulation
//! is compared in tests, and bounds that hold for all offsets. No function here reads the state of the machine.

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
    /// CPU time of real-time threads in each period of a CPU: the limit of RT throttling, or the time that the fair
    /// server leaves if ordinary threads are runnable as well. `None` means unlimited.
    pub limit: Option<RtLimit>,
    /// Time from the start of the limit's period, on all CPUs at once, to the first release: RT throttling accounts for
    /// all real-time threads of the machine in periods of one timer (sched_rt_period_timer() in kernel/sched/rt.c). If
    /// `None`, the period begins with the first use of each CPU.
    pub phase: Option<Nanos>,
    /// End of the simulation, and of threads that do not end before.
    pub horizon: Nanos,
    /// Resolution. Events within a step take effect at its end.
    pub step: Nanos,
}

impl Scheduler {
    /// Returns `true` if real-time threads are throttled even if no other task is runnable.
    fn is_always_limited(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.always)
    }
}
