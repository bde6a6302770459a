//! A thread with its current state.

use crate::calls::Meaning;
use crate::recording::{LONG_RUN, Run, Thread, Waker};
use punctual_cycles::Release;

/// A timer that was set. Times are CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy)]
pub(super) struct Set {
    /// The time for which it was set.
    pub(super) due: u64,
    /// When it was set.
    pub(super) at: u64,
}

/// A system call that has not returned.
pub(super) struct Open {
    pub(super) time: u64,
    pub(super) place: u32,
    pub(super) meaning: Meaning,
    /// Index of the file in [`super::Recorder::names`].
    pub(super) file: Option<u32>,
    pub(super) slept: bool,
    pub(super) cpu: u64,
    /// The call's own timeout.
    pub(super) timeout: Option<Set>,
    /// Another timer that ended the call, and the kind of release.
    pub(super) timer: Option<(Set, Release)>,
}

/// A thread with its current state.
pub(super) struct Running {
    pub(super) thread: Thread,
    /// True while the thread has a real-time policy.
    pub(super) is_urgent: bool,
    pub(super) open: Option<Open>,
    pub(super) fault_since: Option<u64>,
    pub(super) woken: Option<(u64, Waker)>,
    /// Timeout that was given to io_uring.
    pub(super) uring: Option<(Set, Release)>,
    /// Time since which the thread has been running; `None` if it is not running.
    pub(super) on_cpu: Option<u64>,
    pub(super) last_cpu: Option<u32>,
    pub(super) cpu_time: u64,
    /// Time and `cpu_time` at which the thread last began to run after a wait, as a real-time thread.
    pub(super) run_since: Option<(u64, u64)>,
    /// Time from which on the thread has been observed without a context switch, and the CPU time that it had then.
    pub(super) unswitched: Option<(u64, u64)>,
    /// Number of probes hit since the last read.
    pub(super) probes: u64,
}

impl Running {
    pub(super) fn cpu_at(&self, time: u64) -> u64 {
        self.cpu_time + self.on_cpu.map_or(0, |since| time.saturating_sub(since))
    }

    pub(super) fn is_real_time(&self) -> bool {
        self.is_urgent
    }

    /// Handles that a real-time thread began to run after a wait, or became real-time while it runs.
    pub(super) fn begin_run(&mut self, time: u64) {
        if self.is_urgent && self.run_since.is_none() {
            self.run_since = Some((time, self.cpu_at(time)));
        }
    }

    /// Handles that the thread waits, ends, or is real-time no more.
    pub(super) fn end_run(&mut self, time: u64) {
        if let Some((from, before)) = self.run_since.take() {
            self.ran(Run { from, to: time, cpu: self.cpu_at(time).saturating_sub(before) });
        }
    }

    /// Handles a run, which may go on.
    pub(super) fn ran(&mut self, run: Run) {
        if run.cpu < LONG_RUN {
            return;
        }
        match self.thread.long_runs.last_mut() {
            Some(last) if last.from == run.from => *last = run,
            _ => self.thread.long_runs.push(run),
        }
    }
}
