//! Follows the cycles of given threads. Nothing else is explained while threads are followed.

use super::Attribution;
use super::cycle::{Closed, Culprit};
use super::machine::{End, Window};
use super::sentences;
use punctual_cycles::Awaited;
use punctual_model::Cycle;
use punctual_trace::{Event, Kind};

impl Attribution {
    /// Follows the cycles of thread `tid`, which waits for its release as `awaited` describes. From then on, only
    /// threads given to this function are followed, and nothing else is explained.
    pub fn follow(&mut self, tid: i32, awaited: Awaited) {
        self.cycles.follow(tid, awaited);
    }

    /// Returns the cycles of the followed threads that have ended since this function was last called, in chronological
    /// order for each thread.
    pub fn closed(&mut self) -> Vec<Closed> {
        self.cycles.closed()
    }

    /// Returns the longest cycles of a followed thread, longest first, and the number of its cycles that were only
    /// partly observed.
    pub fn longest(&self, tid: i32) -> (&[Cycle], u64) {
        self.cycles.longest(tid)
    }

    /// Returns the release time, ns, of a followed thread's cycle that has not ended, or that has ended but whose
    /// releases are not all known yet.
    pub fn open_since(&self, tid: i32) -> Option<u64> {
        self.cycles.open_since(tid)
    }

    /// Returns the release time, ns, of a followed thread's current cycle, in which the thread has not called its wait
    /// again.
    pub fn running_since(&self, tid: i32) -> Option<u64> {
        self.cycles.running_since(tid)
    }

    /// Returns the name of an interrupt that delayed a cycle; `None` for a thread or a state of the CPU.
    pub fn interrupt(&self, culprit: Culprit) -> Option<String> {
        culprit.what.map(|what| sentences::busy(&self.machine, what))
    }

    /// Sets how many of the last cycles of each followed thread are remembered.
    pub fn remember(&mut self, cycles: usize) {
        self.cycles.remembered = cycles;
    }

    /// Returns the releases and ends, ns, of a followed thread's remembered cycles, oldest first.
    pub fn recent(&self, tid: i32) -> impl Iterator<Item = (u64, u64)> {
        self.cycles.recent(tid)
    }

    /// Returns the remembered cycle of a followed thread that was released at `release_ns`. If that cycle has not
    /// ended, returns the part so far.
    pub fn cycle_of(&mut self, tid: i32, release_ns: u64) -> Option<Cycle> {
        let (machine, facts) = (&self.machine, &self.options.facts);
        let ended = self.cycles.remembered(machine, facts, tid, release_ns);
        let cycle = match self.cycles.running_since(tid) == Some(release_ns) {
            true => ended.or_else(|| self.cycles.so_far(machine, facts, tid, machine.now)),
            false => ended,
        };
        cycle.map(|cycle| self.cycles.with_backlog(machine, facts, cycle))
    }

    /// Removes and returns the cycle of a followed thread that has not ended by `now`, ns.
    pub fn unfinished(&mut self, tid: i32, now: u64) -> Option<Cycle> {
        self.cycles.unfinished(&self.machine, &self.options.facts, tid, now)
    }

    pub(super) fn followed(&mut self, event: &Event) {
        self.cycles.before(&self.machine, event);
        let window = self.machine.apply(event);
        let is_next = |window: &Window| matches!(&event.kind, Kind::SchedSwitch { next, .. } if next.tid == window.tid);
        if let Some(tid) = event.tid.filter(|tid| self.cycles.is_preempted(*tid)) {
            let facts = &self.options.facts;
            let steps = self.cycles.back(&self.machine, facts, tid, event.t_ns, event.cpu, End::Event);
            self.work = self.work.saturating_sub(steps);
        }
        self.cycle(event, window.as_ref().is_some_and(is_next));
        if let Some(window) = window.filter(|window| self.cycles.follows(window.tid)) {
            let tally = self.walk(&window);
            self.cycles.woken(&self.machine, &self.options.facts, self.options.most, &window, tally);
        }
        self.cycles.event(&self.machine, &self.options.facts, self.options.most, event);
    }
}
