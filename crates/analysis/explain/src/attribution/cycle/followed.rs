//! A thread of which the call is known in which it waits for its release.

use super::Open;
use super::calls::{Closed, Given};
use super::pending::{Pending, Released};
use punctual_cycles::Awaited;
use punctual_model::Cycle;
use std::collections::VecDeque;

/// Maximum number of wakeups by one thread that are followed in a cycle. A thread that wakes others more often is not
/// followed further.
const GIVEN: usize = 256;

#[derive(Debug)]
pub(super) struct Followed {
    pub pending: Pending,
    pub waiting: Option<Waiting>,
    /// The timer that woke it last.
    pub timer: Option<u64>,
    /// When that timer was first due since the last wait, while the thread did not wait.
    pub missed: Option<u64>,
    /// The cycle that has ended with the call: what it took is known when the thread sleeps in it, or returns.
    pub closing: Option<Closed>,
    /// Whom it has released since its last wait.
    given: Vec<Given>,
    pub longest: Vec<Cycle>,
    /// The last cycles and their ends, oldest first.
    pub recent: VecDeque<(Open, u64)>,
    /// Cycles that were seen in part.
    pub broken: u64,
    /// One was, or none has ended yet.
    pub has_gap: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub entered: u64,
    /// It has started a timer in the call, and when that is due.
    pub has_timer: bool,
    pub due: Option<u64>,
    /// It sleeps in it, and was not woken.
    pub is_asleep: bool,
    /// Since when it has the CPU in it, after a sleep.
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

    /// Returns the cycle that had ended.
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

    /// It has released that thread.
    pub fn gives(&mut self, at_ns: u64, to: i32) {
        if self.given.len() < GIVEN {
            self.given.push(Given { at_ns, to });
        }
    }

    pub fn given(&mut self) -> Vec<Given> {
        std::mem::take(&mut self.given)
    }

    /// The cycle that had ended, which took these releases as well.
    pub fn closed(&mut self, before: Vec<Released>) -> Option<Closed> {
        let mut closed = self.closing.take()?;
        closed.releases.extend(before);
        Some(closed)
    }
}
