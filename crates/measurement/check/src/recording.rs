//! The observations before they are judged.

use crate::calls::What;
use crate::system::Facts;
use punctual_cycles::Wait;
use punctual_model::CheckFrame;
use punctual_units::Scheduling;

/// One occurrence of a possible violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Time of the occurrence, CLOCK_MONOTONIC, ns.
    pub time: u64,
    pub what: What,
    pub place: u32,
    pub duration: Option<u64>,
    /// Index of the file in [`Recording::files`].
    pub file: Option<u32>,
}

/// What woke a thread.
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

/// A wait, and its classification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub wait: Wait,
    pub waker: Option<Waker>,
    /// True if the timeout of the wait may be late by the timer slack.
    pub has_slack: bool,
    /// CPU time that the thread had used before the wait, ns.
    pub cpu_before: u64,
    pub cpu_after: u64,
}

/// CPU time from which on a run without a wait is kept, ns: kernel.sched_rt_runtime_us, after which RT throttling begins.
pub const LONG_RUN: u64 = 950_000_000;

/// A time in which a real-time thread did not wait; it may have been preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// CLOCK_MONOTONIC, ns.
    pub from: u64,
    pub to: u64,
    /// CPU time used in it, ns.
    pub cpu: u64,
}

/// Origin of a thread's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Set before the observation, or by another process.
    Unknown,
    /// Set by a system call at this place.
    At(u32),
    /// Inherited from `parent`, which created the thread at this place.
    Inherited { parent: i32, place: Option<u32> },
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub tid: i32,
    pub pid: i32,
    pub name: String,
    pub scheduling: Option<Scheduling>,
    /// Time at which the thread became real-time, CLOCK_MONOTONIC, ns.
    pub real_time_since: Option<u64>,
    pub asked: Asked,
    pub facts: Facts,
    pub waits: Vec<Waited>,
    pub occurrences: Vec<Occurrence>,
    /// Times at which the thread continued on another CPU.
    pub migrations: Vec<u64>,
    pub ended: Option<u64>,
    /// Time of the last execve(2) of this thread that was seen.
    pub executed: Option<u64>,
    /// Runs of at least [`LONG_RUN`].
    pub long_runs: Vec<Run>,
    /// True if some of the thread's events were dropped because there were too many.
    pub is_cut: bool,
}

/// A place in a program, and the activity there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The call, for example `write(2)` or `malloc`.
    pub call: Option<String>,
    /// Frames, innermost first.
    pub stack: Vec<CheckFrame>,
    pub is_cut: bool,
    /// True if the stack contains the outermost function.
    pub is_whole: bool,
}

/// A thread that took a mutex.
#[derive(Clone, Debug)]
pub struct Taker {
    pub tid: i32,
    pub urgency: u8,
    /// Place at which the thread took the mutex; `None` for ordinary threads.
    pub place: Option<u32>,
    /// Times at which the thread took the mutex; only for real-time threads.
    pub times: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub threads: Vec<Thread>,
    pub places: Vec<Place>,
    /// For each mutex without a protocol: who took it.
    pub locks: Vec<Vec<Taker>>,
    /// Names of files; `None` if the name is not known.
    pub files: Vec<Option<String>>,
}
