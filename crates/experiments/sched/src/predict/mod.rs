//! Predicts from theory when threads begin and end.
//!
//! [`simulate`] covers all policies on one or several CPUs. [`formula`] contains closed forms with which the simulation
//! is compared in tests, and bounds that hold for all offsets. No function here reads the state of the machine.

mod balance;
mod cpu;
mod fair;
mod fair_server;
pub mod formula;
mod lots;
mod migrate;
mod pick;
mod server;
mod sim;
mod thread;
mod throttle;

use crate::body::Body;
use punctual_model::RtLimit;
use punctual_units::{CpuId, CpuList, Nanos, Priority, Scheduling};
pub use sim::simulate;

#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    /// The CPU on which it waits for its release.
    pub home: CpuId,
    pub release: Nanos,
    /// Body of the task, with work in time on a CPU.
    pub body: Body,
    /// Share of the time on a CPU that it is charged: the rest is steal, and interrupts.
    pub charged: f64,
}

impl Task {
    /// The thread on this CPU that releases others, the first of them at `first`.
    fn releasing(cpu: CpuId, first: Nanos, scheduling: Scheduling) -> Task {
        Task {
            scheduling,
            cpus: CpuList::from_iter([cpu]),
            home: cpu,
            release: first,
            body: Body::run(Nanos::ZERO),
            charged: 1.0,
        }
    }
}

/// Policy of the thread that releases threads of these policies.
pub(crate) fn releasing(mut all: impl Iterator<Item = Scheduling>) -> Scheduling {
    match all.any(|scheduling| scheduling.policy().is_real_time()) {
        true => Scheduling::Fifo { priority: Priority::MAX },
        false => Scheduling::Other { nice: 0 },
    }
}

/// An interval in which a task outside the experiment has a CPU, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    pub cpu: CpuId,
    pub from: Nanos,
    pub to: Nanos,
    /// False if it is a real-time task.
    pub is_ordinary: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler<'a> {
    pub quantum: Nanos,
    /// CPU time of real-time threads in each period of a CPU: the limit of RT throttling, or the time that the fair
    /// server leaves if ordinary threads are runnable as well. `None` means unlimited.
    pub limit: Option<RtLimit>,
    /// Time from the start of the limit's period, on all CPUs at once, to the start: RT throttling accounts for
    /// all real-time threads of the machine in periods of one timer (sched_rt_period_timer() in kernel/sched/rt.c). If
    /// `None`, the period begins with the first real-time thread.
    pub phase: Option<Nanos>,
    /// Period of the tick.
    pub tick: Nanos,
    /// Time from the start to the first tick.
    pub first_tick: Nanos,
    /// Request of an ordinary thread (base_slice_ns).
    pub slice: Nanos,
    /// True for PREEMPT_RT.
    pub realtime: bool,
    /// True if the threads are in a group of ordinary threads: a cgroup, or a session (sched_autogroup of sched(7)).
    pub grouped: bool,
    /// Selects one of the possible outcomes of what the kernel leaves to chance.
    pub seed: u64,
    /// The CPU of the thread that releases the threads. If `None`, they are released without one.
    pub releaser: Option<CpuId>,
    /// What other tasks took, in order of time.
    pub foreign: &'a [Foreign],
    /// End of the simulation, and of threads that do not end before.
    pub horizon: Nanos,
}
