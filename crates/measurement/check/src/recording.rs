//! What was seen, before it is judged.

use crate::calls::What;
use crate::system::Facts;
use punctual_cycles::Wait;
use punctual_model::CheckFrame;
use punctual_units::Scheduling;

/// Something that may be wrong, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// CLOCK_MONOTONIC, ns.
    pub time: u64,
    pub what: What,
    pub place: u32,
    pub duration: Option<u64>,
}

/// Who made a thread runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A timer or device.
    Interrupt,
    Thread {
        tid: i32,
        urgency: u8,
        is_kernel: bool,
    },
}

/// A wait, and what is judged of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub wait: Wait,
    pub waker: Option<Waker>,
    /// Its timeout may be late by the timer slack.
    pub has_slack: bool,
    /// CPU time of the thread when it began to wait, and when it went on.
    pub cpu_before: u64,
    pub cpu_after: u64,
}

/// Where a thread's policy comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It was there before it was observed, or another process set it.
    Unknown,
    /// By a system call at this place.
    At(u32),
    /// From the thread that created it, there.
    Inherited { parent: i32, place: Option<u32> },
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    pub scheduling: Option<Scheduling>,
    /// Since when it has a real-time policy.
    pub real_time_since: Option<u64>,
    pub asked: Asked,
    pub facts: Facts,
    pub waits: Vec<Waited>,
    pub occurrences: Vec<Occurrence>,
    /// When it continued on another CPU.
    pub migrations: Vec<u64>,
    pub ended: Option<u64>,
    /// Something of it was not kept, because there was too much.
    pub is_cut: bool,
}

/// A place in a program, with what is done there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// `write(2)`, `malloc`.
    pub call: Option<String>,
    /// What the call worked on.
    pub file: Option<String>,
    /// Innermost first.
    pub stack: Vec<CheckFrame>,
    pub is_cut: bool,
}

/// A thread that took a mutex.
#[derive(Clone, Debug)]
pub struct Taker {
    pub tid: i32,
    pub urgency: u8,
    /// `None` for ordinary threads.
    pub place: Option<u32>,
    /// Only of real-time threads.
    pub times: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub threads: Vec<Thread>,
    pub places: Vec<Place>,
    /// For each mutex without a protocol: who took it.
    pub locks: Vec<Vec<Taker>>,
}
