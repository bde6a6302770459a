//! Follows the cycles of given threads; nothing else is explained then.

use super::Attribution;
use super::cycle::Closed;
use super::machine::{End, Window};
use punctual_cycles::Awaited;
use punctual_model::Cycle;
use punctual_trace::{Event, Kind};

impl Attribution {
    /// Follows the cycles of this thread, which waits for its release there, and of no thread but those given here.
    /// Nothing else is then explained.
    pub fn follow(&mut self, tid: i32, awaited: Awaited) {
        self.cycles.follow(tid, awaited);
    }

    /// Cycles of the followed threads that have ended since the last call; of each thread in the order of time.
    pub fn closed(&mut self) -> Vec<Closed> {
        self.cycles.closed()
    }

    /// The longest cycles of a followed thread, longest first, and how many were only partly observed.
    pub fn longest(&self, tid: i32) -> (&[Cycle], u64) {
        self.cycles.longest(tid)
    }

    /// Release of a followed thread's cycle that has not ended, or of which not everything is known, ns.
    pub fn open_since(&self, tid: i32) -> Option<u64> {
        self.cycles.open_since(tid)
    }

    /// Takes the cycle of a followed thread that has not ended by `now`, ns.
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
