//! What to explain, and what is known besides the trace.

use punctual_units::Policy;
use std::collections::HashMap;

/// Whose wakeups to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Victims {
    /// Threads of a known measuring tool with real-time priority; if the trace has none, all real-time threads.
    #[default]
    Measuring,
    /// All real-time threads.
    AllRealTime,
    /// This thread.
    Tid(i32),
    /// All threads of this name.
    Comm(String),
}

/// What is known besides the trace; the more, the surer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Policies of threads when the trace was taken: a trace does not tell FIFO from RR.
    pub policies: HashMap<i32, Policy>,
    /// Kernel release; `None`: as the trace says, if it does.
    pub kernel: Option<String>,
    /// The fair server is on (debugfs sched/fair_server), or is known to have run.
    pub fair_server: Option<bool>,
    /// The kernel reported that real-time throttling struck.
    pub throttled: Option<bool>,
    /// Steal time in /proc/stat rose while the trace was taken.
    pub steal_rose: Option<bool>,
    /// [`ExplainOptions::measured`] are released by another thread's clock reading before it sent what woke them, not by timers.
    pub sent: bool,
    /// Tracer of the top instance (current_tracer) while the trace was taken; `nop` is none.
    pub tracer: Option<String>,
}

/// What to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Whose wakeups.
    pub victims: Victims,
    /// How many of the latest wakeups.
    pub most: usize,
    /// Wakeups below this many nanoseconds are not late; `None`: the latest are shown whatever they are, and groups hold
    /// those of at least a quarter of the worst.
    pub threshold_ns: Option<u64>,
    /// Wakeups known from the threads themselves: if there are any, these are explained and no others.
    pub measured: Vec<Measured>,
    /// Follow whole cycles too, from release to end of work.
    pub cycles: bool,
    /// What is known besides the trace.
    pub facts: Facts,
}

/// A wakeup as its thread measured it, on the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The thread.
    pub tid: i32,
    /// When it was to wake, ns.
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
