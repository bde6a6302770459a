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

/// What is known besides the trace; the more, the surer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Policies of threads when the trace was taken: a trace does not distinguish FIFO from RR.
    pub policies: HashMap<i32, Policy>,
    /// Kernel release; `None`: as in the trace, if it is there.
    pub kernel: Option<String>,
    /// The fair server is on (debugfs sched/fair_server), or is known to have run.
    pub fair_server: Option<bool>,
    /// Real-time threads are scheduled by groups (CONFIG_RT_GROUP_SCHED): throttling outlived 6.12 there.
    pub rt_group_sched: Option<bool>,
    /// The kernel reported that real-time throttling struck.
    pub throttled: Option<bool>,
    /// A hypervisor runs the machine.
    pub guest: Option<bool>,
    /// Steal time in /proc/stat rose while the trace was taken.
    pub steal_rose: Option<bool>,
    /// [`ExplainOptions::measured`] are released by another thread's clock reading before it sent what woke them, not
    /// by timers.
    pub sent: bool,
    /// Times of timer interrupts that are known to have come right after a section with interrupts off.
    pub released: Vec<u64>,
    /// Tracer of the top instance (current_tracer) while the trace was taken; `nop` is none.
    pub tracer: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    pub victims: Victims,
    /// Number of wakeups, worst first.
    pub most: usize,
    /// Wakeups shorter than this are not late; `None`: the worst are shown whatever they are, and groups hold those of
    /// at least a quarter of the worst.
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
    /// When it was due, ns.
    pub due_ns: u64,
    /// When it read its clock, ns.
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
