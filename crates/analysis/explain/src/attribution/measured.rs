//! Handles wakeups whose start and end are known from the thread itself: when it was due, and when it read its clock.
//!
//! After the switch to a thread, an interrupt or another thread may still delay its return to user space. That time
//! counts too, so that the labels add up to the measured latency.

use super::label::Tally;
use super::machine::{End, Machine, Window};
use super::piece::{Place, pieces};
use super::view::View;
use super::walk::Walk;
use super::{ExplainOptions, Facts, Measured};

#[derive(Debug, Default)]
pub(super) struct Pending {
    open: Vec<(Measured, Window)>,
    /// Measured wakeups that were found, to count each wakeup once.
    found: Vec<Measured>,
}

impl Pending {
    pub fn forget(&mut self) {
        for (measured, _) in self.open.drain(..) {
            self.found.retain(|found| *found != measured);
        }
    }

    /// Handles a complete wakeup: a measured one is followed to its end.
    pub fn woken(&mut self, options: &ExplainOptions, mut window: Window) {
        let is = |m: &&Measured| {
            let had_it = if window.end == End::Switch { window.t3 } else { window.waking.t2 };
            m.tid == window.tid && had_it <= m.woke_ns && window.t3 > m.due_ns && window.waking.t2 >= m.due_ns
        };
        let Some(measured) = options.measured.iter().find(is) else { return };
        // A second wakeup within the same delay (by a signal) is part of that delay.
        if !self.found.contains(measured) {
            self.found.push(*measured);
            // Without the switch, the clock reading may be the first known event of the thread.
            window.t3 = window.t3.min(measured.woke_ns);
            window.waking.t0 = measured.due_ns;
            let timer = window.waking.t1.filter(|_| !options.facts.sent);
            window.waking.t1 = timer.map(|t1| t1.max(measured.due_ns));
            window.waking.due_unknown = false;
            self.open.push((*measured, window));
        }
    }

    pub fn ended(&mut self, now: u64) -> Vec<(Measured, Window)> {
        if self.open.iter().all(|(measured, _)| measured.woke_ns > now) {
            return Vec::new();
        }
        let (ended, open) = std::mem::take(&mut self.open).into_iter().partition(|(m, _)| m.woke_ns <= now);
        self.open = open;
        ended
    }
}

/// Labels time from T0 to the thread's own clock reading at `end`; the second result is the number of pieces examined.
pub(super) fn walk(machine: &Machine, window: &Window, facts: &Facts, end: u64) -> (Tally, u64) {
    let mut walk = Walk::new(View { machine, window, facts });
    walk.run();
    after(&mut walk, end);
    (walk.tally, walk.steps)
}

/// Labels the time between the switch to the thread and `end`.
pub(super) fn after(walk: &mut Walk, end: u64) {
    let View { machine, window, .. } = walk.view;
    let place = Place { cpu: window.cpu, early: false, released: true, wanted: true, passed_over: None };
    for piece in pieces(machine.cpu(place.cpu), window.t3, end) {
        walk.after(&piece, place);
    }
}
