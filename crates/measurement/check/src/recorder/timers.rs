//! Determines when timers that release threads were due, from the expiry with which they were set
//! (timer:hrtimer_start).

use super::running::Set;
use super::{Recorder, Running};
use crate::calls::What;
use crate::sources::TimerKind;
use crate::system::System;
use punctual_cycles::Release;
use punctual_perf::Sample;
use punctual_units::Nanos;
use std::collections::HashMap;

/// Clocks with timers of their own, in addition to CLOCK_MONOTONIC.
const CLOCKS: [i32; 3] = [libc::CLOCK_REALTIME, libc::CLOCK_TAI, libc::CLOCK_BOOTTIME];
/// Expiry times from this value (the year 2001) on are taken to be on CLOCK_REALTIME.
const IS_REAL: u64 = 1_000_000_000_000_000_000;
/// A clock that moves by more than this (ns) relative to CLOCK_MONOTONIC between two checks is assumed to have been
/// set.
const STEP: u64 = 1_000_000;
/// Number of most recent waits that are searched for the one that a timer ended.
const BACK: usize = 16;

/// Timers of timerfds and signals by their address in the kernel.
#[derive(Default)]
pub(super) struct Timers {
    set: HashMap<u64, Set>,
    /// How far each of [`CLOCKS`] is ahead of CLOCK_MONOTONIC.
    ahead: [Option<i64>; CLOCKS.len()],
    last_look: u64,
}

impl<S: System> Recorder<S> {
    /// Reads how far the clocks are ahead of CLOCK_MONOTONIC. If one was set, discards the times at which timers were
    /// due, back to a short time before the previous reading.
    pub(super) fn look_at_clocks(&mut self, now: u64) {
        let mut is_stepped = false;
        for (clock, known) in CLOCKS.into_iter().zip(&mut self.timers.ahead) {
            let ahead = self.system.ahead(clock);
            is_stepped |= known.replace(ahead).is_some_and(|before| ahead.abs_diff(before) > STEP);
        }
        if is_stepped {
            self.timers.set.clear();
            // A record may be read up to one look later than it was written.
            let since = self.timers.last_look.saturating_sub(now - self.timers.last_look.min(now));
            for running in self.threads.values_mut() {
                let recent = running.thread.waits.iter_mut().rev().take_while(|waited| waited.wait.end.0 >= since);
                recent.for_each(|waited| waited.wait.due = None);
            }
        }
        self.timers.last_look = now;
    }

    /// Handles the event that the running thread sets a timer, or sets it again after it expired.
    pub(super) fn timer_set(&mut self, sample: &Sample) {
        let Some((kind, timer, expiry, is_relative)) = self.tags.timer(sample.raw) else { return };
        let Some(running) = self.threads.get_mut(&sample.meta.tid) else { return };
        let meaning = running.open.as_ref().map(|open| &open.meaning);
        let clock = meaning.and_then(|meaning| meaning.clock).filter(|clock| CLOCKS.contains(clock));
        let clock = clock.or((expiry >= IS_REAL).then_some(libc::CLOCK_REALTIME));
        let ahead = match clock.and_then(|clock| CLOCKS.iter().position(|known| *known == clock)) {
            // The kernel measures relative times by CLOCK_MONOTONIC.
            Some(at) if at == 2 || expiry >= IS_REAL => {
                *self.timers.ahead[at].get_or_insert_with(|| self.system.ahead(CLOCKS[at]))
            }
            _ => 0,
        };
        let Some(due) = expiry.checked_add_signed(-ahead) else { return };
        let set = Set { due, at: sample.meta.time };
        match kind {
            TimerKind::Sleep => {
                let sleeps = |release: Release| matches!(release, Release::AbsoluteSleep | Release::RelativeSleep);
                if let Some(open) = running.open.as_mut() {
                    let is_own = open.meaning.timeout.is_some() || sleeps(open.meaning.release);
                    open.timeout = is_own.then_some(set);
                }
            }
            TimerKind::Uring => {
                let release = if is_relative { Release::RelativeSleep } else { Release::AbsoluteSleep };
                running.uring = Some((set, release));
            }
            TimerKind::Timerfd => {
                if let Some(before) = self.timers.set.insert(timer, set) {
                    running.expired(before, Release::Timerfd, sample.meta.time);
                }
            }
            TimerKind::Signal => {
                if let Some(before) = self.timers.set.insert(timer, set) {
                    running.expired(before, Release::PosixTimer, sample.meta.time);
                }
            }
        }
    }
}

impl Running {
    /// Handles a timer that was due and that this thread sets again: the timer ended the first wait that it can have
    /// ended.
    fn expired(&mut self, set: Set, release: Release, now: u64) {
        if set.due > now {
            return;
        }
        let open = self.open.as_mut().filter(|open| open.meaning.is_wait);
        if let Some(open) = open.filter(|open| open.slept) {
            open.timer = Some((set, release));
            return;
        }
        let may_be = |kind: Release| kind == release || matches!(kind, Release::Signal | Release::Descriptors);
        let recent = self.thread.waits.iter_mut().rev().take(BACK).take_while(|waited| waited.wait.end.0 >= set.due);
        let first = recent.filter(|waited| waited.wait.due.is_none() && may_be(waited.wait.release)).last();
        match (first, self.open.as_mut().filter(|open| open.meaning.is_wait)) {
            (Some(first), _) => {
                (first.wait.due, first.wait.set) = (Some(Nanos(set.due)), Some(Nanos(set.at)));
                first.wait.release = release;
                // The thread waited for its own timer, not for anybody else.
                let begin = first.wait.begin.0;
                let recent = self.thread.occurrences.iter().rposition(|one| one.time <= begin);
                let wait = recent.filter(|at| self.thread.occurrences[*at].time == begin);
                if let Some(at) = wait.filter(|at| self.thread.occurrences[*at].what == What::Blocking) {
                    self.thread.occurrences.remove(at);
                }
            }
            (None, Some(open)) => open.timer = Some((set, release)),
            (None, None) => {}
        }
    }
}
