//! A thread for which the system call in which it waits for its release is known.

use super::Open;
use super::calls::{Closed, Given};
use super::pending::{Pending, Released};
use punctual_cycles::Awaited;
use punctual_model::Cycle;
use std::collections::VecDeque;

/// Maximum number of releases of other threads that are recorded for one cycle of a thread; further ones are ignored.
const GIVEN: usize = 256;

#[derive(Debug)]
pub(super) struct Followed {
    pub pending: Pending,
    pub waiting: Option<Waiting>,
    /// The timer that last woke the thread.
    pub timer: Option<u64>,
    /// Due time of that timer's first expiry since the last wait, if it expired while the thread was not waiting.
    pub missed: Option<u64>,
    /// The cycle that ended when the thread entered its wait. Its releases are complete only when the thread sleeps in
    /// that wait or returns from it.
    pub closing: Option<Closed>,
    /// Threads that this thread has released since its last wait.
    given: Vec<Given>,
    pub longest: Vec<Cycle>,
    /// The last cycles and their ends, oldest first.
    pub recent: VecDeque<(Open, u64)>,
    /// Number of cycles that were only partly observed.
    pub broken: u64,
    /// True if a cycle was only partly observed since the last complete one, or if no cycle has ended yet.
    pub has_gap: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub entered: u64,
    /// True if the thread has started a timer in the call; `due` is when that timer is due.
    pub has_timer: bool,
    pub due: Option<u64>,
    /// True if the thread sleeps in the call and has not been woken.
    pub is_asleep: bool,
    /// Time since which the thread has had the CPU in the call: the start of the call, or the end of its last sleep.
    pub ran: u64,
}

impl Followed {
    pub fn new(awaited: Awaited) -> Followed {
        Followed {
            pending: Pending::new(awaited),
            waiting: None,
            timer: None,
            missed: None,
            closing: None,
            given: Vec::new(),
            longest: Vec::new(),
            recent: VecDeque::new(),
            broken: 0,
            has_gap: true,
        }
    }

    /// Discards everything that is unreliable after lost events. Returns the cycle that had already ended, if any.
    pub fn forget(&mut self) -> Option<Closed> {
        self.broken += u64::from(self.waiting.take().is_some());
        (self.missed, self.has_gap) = (None, true);
        self.pending.forget();
        self.given.clear();
        self.closing.take()
    }

    pub fn remember(&mut self, open: Open, end: u64, most: usize) {
        if self.recent.len() >= most {
            self.recent.pop_front();
        }
        if most > 0 {
            self.recent.push_back((open, end));
        }
    }

    pub fn is_asleep(&self) -> bool {
        self.waiting.is_some_and(|waiting| waiting.is_asleep)
    }

    /// Records that this thread has released the thread `to`.
    pub fn gives(&mut self, at_ns: u64, to: i32) {
        if self.given.len() < GIVEN {
            self.given.push(Given { at_ns, to });
        }
    }

    pub fn given(&mut self) -> Vec<Given> {
        std::mem::take(&mut self.given)
    }

    /// Returns the cycle that had ended, after adding these releases, which it consumed as well.
    pub fn closed(&mut self, before: Vec<Released>) -> Option<Closed> {
        let mut closed = self.closing.take()?;
        closed.releases.extend(before);
        Some(closed)
    }
}
