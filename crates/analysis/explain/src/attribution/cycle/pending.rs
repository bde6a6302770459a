//! Releases of a thread that none of its cycles has consumed yet.

use punctual_cycles::{Awaited, Takes};
use std::collections::VecDeque;

/// Maximum number of pending releases; no program that works has more.
const MOST: usize = 1024;
/// -EAGAIN: futex(2) did not wait, since the word had changed.
const CHANGED: i64 = -11;

/// When and by whom a thread was released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// When the thread was woken; if it did not sleep, when the call that released it began.
    pub at_ns: u64,
    /// ID of the releasing thread; 0: a timer or an interrupt; `None`: unknown.
    pub by: Option<i32>,
}

#[derive(Debug)]
struct Entry {
    released: Released,
    bytes: Option<u64>,
    /// Time at which the releasing call returned; `None` if it has not returned yet.
    returned: Option<u64>,
    woke: bool,
}

impl Entry {
    fn is_open(&self) -> bool {
        self.returned.is_none()
    }
}

#[derive(Debug)]
pub(super) struct Pending {
    awaited: Awaited,
    entries: VecDeque<Entry>,
    /// True if something other than the known calls has woken the thread.
    has_others: bool,
    /// True if the futex word had changed before the thread called futex(2), and the call that belongs to that change
    /// has not been seen yet.
    is_owed: bool,
}

/// Releases that a wait consumed, determined when it returned.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub own: Vec<Released>,
    /// Releases that the previous cycle consumed.
    pub before: Vec<Released>,
    /// For a thread that did not sleep: true if it is known when the thread was released.
    pub is_sure: bool,
}

/// Meaning of another thread's call for the followed thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    Nothing,
    Releases,
    /// The call is the release of the cycle that has already begun, because the futex word had changed before this
    /// call.
    Began,
}

impl Pending {
    pub fn new(awaited: Awaited) -> Pending {
        Pending { awaited, entries: VecDeque::new(), has_others: false, is_owed: false }
    }

    pub fn is_wait(&self, number: i64, arguments: &[u64]) -> bool {
        self.awaited.call.is(number, arguments)
    }

    /// Handles the start of a system call of thread `by`. Returns what the call means for the followed thread.
    pub fn called(&mut self, by: i32, number: i64, arguments: &[u64], at_ns: u64) -> Called {
        if !self.awaited.by.iter().any(|(tid, call)| *tid == by && call.is(number, arguments)) {
            return Called::Nothing;
        }
        if std::mem::take(&mut self.is_owed) {
            return Called::Began;
        }
        self.push(Entry { released: Released { at_ns, by: Some(by) }, bytes: None, returned: None, woke: false });
        Called::Releases
    }

    /// Handles the return of a system call of thread `by`. If the followed thread sleeps and this call did not wake it,
    /// the call was meant for another thread and is removed.
    pub fn call_returned(&mut self, by: i32, at_ns: u64, result: i64, is_asleep: bool) {
        let is_its = |entry: &Entry| entry.is_open() && entry.released.by == Some(by);
        let Some(at) = self.entries.iter().rposition(is_its) else { return };
        let Some(entry) = self.entries.get_mut(at) else { return };
        (entry.returned, entry.bytes) = (Some(at_ns), u64::try_from(result).ok());
        if !entry.woke && (result < 0 || is_asleep) {
            self.entries.remove(at);
        }
    }

    /// Handles a wakeup of the waiting thread by thread `by`, or by an interrupt (0). Returns true if none of the known
    /// calls caused it.
    pub fn woken(&mut self, at_ns: u64, by: i32) -> bool {
        // The thread has slept again since the previous wakeup.
        self.entries.retain(|entry| !entry.woke);
        let by = Some(by);
        let is_its = |entry: &&mut Entry| entry.is_open() && entry.released.by == by;
        if let Some(entry) = self.entries.iter_mut().rev().find(is_its) {
            (entry.woke, entry.released.at_ns) = (true, at_ns);
            return false;
        }
        self.has_others = true;
        self.push(Entry { released: Released { at_ns, by }, bytes: None, returned: Some(at_ns), woke: true });
        true
    }

    /// Handles a wakeup of another thread by thread `by`. futex(2) wakes only as many threads as requested, so that
    /// call did not release the followed thread.
    pub fn woke_another(&mut self, by: i32) {
        if self.awaited.takes == Takes::Seen {
            self.entries.retain(|entry| !entry.is_open() || entry.woke || entry.released.by != Some(by));
        }
    }

    /// Returns the time at which the thread was woken; `None` if it was not.
    pub fn woken_at(&self) -> Option<u64> {
        self.entries.iter().find(|entry| entry.woke).map(|entry| entry.released.at_ns)
    }

    /// Handles the thread falling asleep in its wait, which began at `entered`. Returns the releases from before the
    /// wait, which must have been consumed already, since otherwise the thread would not sleep.
    pub fn sleeps(&mut self, entered: u64) -> Vec<Released> {
        let is_left = |entry: &&Entry| !entry.is_open() && !entry.woke && entry.released.at_ns < entered;
        let left = self.entries.iter().filter(is_left).map(|entry| entry.released).collect();
        self.entries.retain(|entry| entry.is_open() && !entry.woke);
        left
    }

    /// Handles a sleep that was interrupted and then continues.
    pub fn interrupted(&mut self) {
        self.entries.retain(|entry| !entry.woke);
    }

    pub fn forget(&mut self) {
        self.entries.clear();
        self.is_owed = false;
    }

    /// Handles the return of the wait, which began at `entered`; the thread has had the CPU in it since `ran`. Returns
    /// the releases that the wait consumed.
    pub fn take(&mut self, entered: u64, ran: u64, result: i64) -> Taken {
        let mut taken = Taken { is_sure: !self.has_others, ..Taken::default() };
        if let Some(woke) = self.entries.iter().position(|entry| entry.woke).and_then(|at| self.entries.remove(at)) {
            self.entries.push_front(woke);
        }
        match self.awaited.takes {
            Takes::All => {
                // What arrived while the thread checked may be left over; its next wait then does not sleep.
                let is_there = |entry: &Entry| entry.woke || entry.returned.is_some_and(|returned| returned <= ran);
                taken.own = self.entries.iter().filter(|entry| is_there(entry)).map(|entry| entry.released).collect();
                self.entries.retain(|entry| !is_there(entry));
                if taken.own.is_empty() {
                    taken.own.extend(self.next());
                }
            }
            Takes::One => taken.own.extend(self.next()),
            Takes::Bytes => self.take_bytes(u64::try_from(result).unwrap_or(0), &mut taken.own),
            Takes::Seen => {
                let own = if result == CHANGED { self.entries.pop_back() } else { self.entries.pop_front() };
                let is_before = |entry: &Entry| entry.released.at_ns < entered;
                taken.before =
                    self.entries.iter().filter(|entry| is_before(entry)).map(|entry| entry.released).collect();
                self.entries.retain(|entry| !is_before(entry));
                taken.own.extend(own.map(|entry| entry.released));
                if taken.own.is_empty() && result == CHANGED {
                    self.is_owed = taken.is_sure && !self.awaited.by.is_empty();
                    taken.is_sure = self.is_owed;
                    return taken;
                }
            }
            Takes::Unknown => {
                taken.is_sure &= self.entries.len() == 1;
                taken.own.extend(self.next());
            }
        }
        taken.is_sure &= !taken.own.is_empty();
        taken
    }

    fn take_bytes(&mut self, mut left: u64, own: &mut Vec<Released>) {
        while let Some(first) = self.entries.front_mut() {
            if left == 0 && !own.is_empty() {
                return;
            }
            own.push(first.released);
            match first.bytes {
                Some(bytes) if bytes > left => {
                    first.bytes = Some(bytes - left);
                    first.woke = false;
                    return;
                }
                bytes => left = bytes.map_or(0, |bytes| left - bytes),
            }
            self.entries.pop_front();
        }
    }

    fn next(&mut self) -> Option<Released> {
        self.entries.pop_front().map(|entry| entry.released)
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() >= MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }
}
