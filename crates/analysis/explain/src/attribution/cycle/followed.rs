//! A thread for which the system call in which it waits for its release is known.

use super::Open;
use super::calls::{Closed, Culprit, Given};
use super::pending::{Pending, Released};
use super::sentences;
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
    /// Release of the cycle with which the current backlog began: the last one that did not begin late.
    backlog: Option<u64>,
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
    /// The interrupt or softirq that woke the thread last.
    pub woken_in: Option<Culprit>,
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
            backlog: None,
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

    /// Records a cycle that has ended, and is among the longest by now if it is one of them.
    pub fn remember(&mut self, mut open: Open, end: u64, most: usize) {
        let is_next = self.closing.as_ref().is_some_and(|closing| closing.is_next);
        match open.behind {
            0 => self.backlog = Some(open.release),
            _ => {
                self.backlog = self.backlog.filter(|_| is_next);
                open.backlog = self.backlog;
                self.explain_backlog(&open);
            }
        }
        if self.recent.len() >= most {
            self.recent.pop_front();
        }
        if most > 0 {
            self.recent.push_back((open, end));
        }
    }

    /// Adds to the sentence of one of the longest cycles what delayed the first cycle of its backlog, if that is one of
    /// the longest as well.
    fn explain_backlog(&mut self, open: &Open) {
        let first = self.longest.iter().find(|cycle| Some(cycle.release_ns) == open.backlog);
        let Some(cause) = first.map(sentences::backlog) else { return };
        if let Some(own) = self.longest.iter_mut().find(|cycle| cycle.release_ns == open.release) {
            own.verdict += &cause;
        }
    }

    /// Returns the release of the cycle with which the backlog of a cycle began: a remembered one, or the current one.
    pub fn backlog_of(&self, release: u64) -> Option<u64> {
        match self.recent.iter().rev().find(|(open, _)| open.release == release) {
            Some((open, _)) => open.backlog,
            None => self.backlog.filter(|_| !self.has_gap),
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
