use punctual_units::Policy;
use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Victims {
    /// Threads of a known measuring tool with real-time priority; if the trace has none, all real-time threads.
    #[default]
    Measuring,
    AllRealTime,
    Tid(i32),
    Comm(String),
}

/// Facts known in addition to the trace; more facts give more certain results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Policies of threads when the trace was taken: a trace does not distinguish FIFO from RR.
    pub policies: HashMap<i32, Policy>,
    /// Kernel release; `None` means the release that the trace states, if any.
    pub kernel: Option<String>,
    /// True if the fair server is on (debugfs sched/fair_server), or is known to have run.
    pub fair_server: Option<bool>,
    /// True if real-time threads are scheduled in groups (CONFIG_RT_GROUP_SCHED), for which throttling was not removed
    /// in 6.12.
    pub rt_group_sched: Option<bool>,
    /// True if the kernel reported real-time throttling.
    pub throttled: Option<bool>,
    /// True in a virtual machine.
    pub guest: Option<bool>,
    /// True if steal time in /proc/stat increased while the trace was taken.
    pub steal_rose: Option<bool>,
    /// True if the wakeups in [`ExplainOptions::measured`] count as released when another thread read the clock before
    /// it woke the thread, not when a timer was due.
    pub sent: bool,
    /// Times of timer interrupts that are known to have followed a section with interrupts off.
    pub released: Vec<u64>,
    /// Tracer of the top instance (current_tracer) while the trace was taken; `nop` means none.
    pub tracer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    pub victims: Victims,
    /// Maximum number of wakeups to explain, the worst ones.
    pub most: usize,
    /// Minimum latency of a late wakeup; `None`: the worst wakeups are always shown, and groups contain the wakeups
    /// with at least a quarter of the worst latency.
    pub threshold_ns: Option<u64>,
    /// Wakeups known from the threads themselves: if there are any, only these are explained.
    pub measured: Vec<Measured>,
    /// Also follow whole cycles, from release to end of work.
    pub cycles: bool,
    pub facts: Facts,
}

/// A wakeup as its thread measured it, on the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    pub tid: i32,
    /// Time at which the wakeup was due, ns.
    pub due_ns: u64,
    /// Time at which the thread read its clock, ns.
    pub woke_ns: u64,
}

impl Default for ExplainOptions {
    fn default() -> ExplainOptions {
        ExplainOptions {
            victims: Victims::default(),
            most: 10,
            threshold_ns: None,
            measured: Vec::new(),
            cycles: false,
            facts: Facts::default(),
        }
    }
}
