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
    /// The CPU on which the task waits for its release.
    pub home: CpuId,
    pub release: Nanos,
    /// Body of the task, with work in time on a CPU.
    pub body: Body,
    /// Share of the task's time on a CPU that is charged to it; the rest is stolen or used by interrupts.
    pub charged: f64,
}

impl Task {
    /// Creates the thread on this CPU that releases the others, the first of them at `first`.
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

/// Returns the policy of the thread that releases threads with these policies.
pub(crate) fn releasing(mut all: impl Iterator<Item = Scheduling>) -> Scheduling {
    match all.any(|scheduling| scheduling.policy().is_real_time()) {
        true => Scheduling::Fifo { priority: Priority::MAX },
        false => Scheduling::Other { nice: 0 },
    }
}

/// An interval in which a task outside the experiment has a CPU, relative to the start of the experiment.
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
    /// Limit on the CPU time of real-time threads in each period of a CPU: the limit of RT throttling, or the time that
    /// the fair server leaves if ordinary threads are runnable as well. `None` means unlimited.
    pub limit: Option<RtLimit>,
    /// Time from the start of the limit's period, which is the same on all CPUs, to the start of the experiment: RT
    /// throttling accounts for all real-time threads of the machine in periods of one timer (sched_rt_period_timer() in
    /// kernel/sched/rt.c). If `None`, the period begins with the first real-time thread.
    pub phase: Option<Nanos>,
    /// Period of the scheduler tick.
    pub tick: Nanos,
    /// Time from the start of the experiment to the first tick.
    pub first_tick: Nanos,
    /// Length of an ordinary thread's request (base_slice_ns).
    pub slice: Nanos,
    /// True if the kernel has PREEMPT_RT.
    pub realtime: bool,
    /// True if the threads are in a group of ordinary threads: a cgroup, or a session (sched_autogroup of sched(7)).
    pub grouped: bool,
    /// Selects one of the possible outcomes of what the kernel leaves to chance.
    pub seed: u64,
    /// The CPU of the thread that releases the others. If `None`, they are released without such a thread.
    pub releaser: Option<CpuId>,
    /// Intervals in which tasks outside the experiment have a CPU, in order of time.
    pub foreign: &'a [Foreign],
    /// End of the simulation, and of threads that have not ended by then.
    pub horizon: Nanos,
}
