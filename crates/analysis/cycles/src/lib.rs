//! Finds the cycles of a thread from its waits.
//!
//! A control thread waits, works, and waits again at the same place in its code. The place where it slept longest in
//! total is taken as its release; a cycle lasts from a release to the next wait there. A timer releases at the time for
//! which it was set, not when the thread wakes. If the releases fit a grid, they have a period, a phase and a jitter.
//! Where two places are about equally likely, [`Cycles::ambiguous_with`] names the other one.
//!
//! [`response_times`] bounds the responses of threads with fixed priorities from their periods and CPU times.
//!
//! Architecture invariant: pure functions; the caller describes each wait and its place.

#![forbid(unsafe_code)]

mod call;
mod grid;
mod lengths;
mod rta;

pub use call::{Awaited, Takes, WaitCall};
pub use grid::Grid;
pub use lengths::Lengths;
pub use rta::{Periodic, response_time, response_times};

use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Minimum number of waits at a place that form cycles.
pub const FEWEST: usize = 4;

/// The event that ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// clock_nanosleep(2) with TIMER_ABSTIME, or a timeout at an absolute time.
    AbsoluteSleep,
    /// nanosleep(2), clock_nanosleep(2) without TIMER_ABSTIME, or a relative timeout, such as that of poll(2).
    RelativeSleep,
    /// A timerfd, also through poll(2), epoll(7) or io_uring(7).
    Timerfd,
    /// A timer of timer_create(2) or setitimer(2), through its signal.
    PosixTimer,
    /// Any other signal: sigtimedwait(2), or pause(2) and a handler.
    Signal,
    /// The end of a SCHED_DEADLINE job: sched_yield(2).
    Deadline,
    Futex,
    Eventfd,
    Pipe,
    Socket,
    /// A character device, such as a GPIO line or an interrupt of uio.
    Device,
    MessageQueue,
    /// A request of io_uring(7).
    Uring,
    /// One of several descriptors, or a descriptor of unknown type.
    Descriptors,
}

impl Release {
    pub fn is_timer(self) -> bool {
        use Release::{AbsoluteSleep, Deadline, PosixTimer, RelativeSleep, Timerfd};
        matches!(self, AbsoluteSleep | RelativeSleep | Timerfd | PosixTimer | Deadline)
    }

    pub fn name(self) -> &'static str {
        match self {
            Release::AbsoluteSleep => "absolute sleep",
            Release::RelativeSleep => "relative sleep",
            Release::Timerfd => "timerfd",
            Release::PosixTimer => "POSIX timer",
            Release::Signal => "signal",
            Release::Deadline => "SCHED_DEADLINE",
            Release::Futex => "futex",
            Release::Eventfd => "eventfd",
            Release::Pipe => "pipe",
            Release::Socket => "socket",
            Release::Device => "device",
            Release::MessageQueue => "message queue",
            Release::Uring => "io_uring",
            Release::Descriptors => "poll",
        }
    }
}

/// A wait for an event is long from this part of the mean wait for the release on, percent.
const LONG_PERCENT: u64 = 3;
/// Events count if one of so many timers is set after one.
const MANY: usize = 50;

/// A completed wait. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Identifier of the call chain; equal chains have equal values.
    pub place: u32,
    pub release: Release,
    /// Time at which the system call began.
    pub begin: Nanos,
    /// The time for which the timer that ended the wait was set; `None` if no timer ended it, or the trace does not
    /// show the timer.
    pub due: Option<Nanos>,
    /// When that timer was set; `None` if `due` is.
    pub set: Option<Nanos>,
    /// When the thread was made runnable again; `None` if it did not sleep.
    pub woken: Option<Nanos>,
    /// Time at which the system call returned.
    pub end: Nanos,
}

impl Wait {
    fn slept(&self) -> u64 {
        self.woken.map_or(0, |woken| woken.0.saturating_sub(self.begin.0))
    }

    fn woken_or_end(&self) -> Nanos {
        self.woken.unwrap_or(self.end)
    }
}

/// A cycle, from a release to the next wait at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The time for which its timer was set, which may be before the end of the previous cycle. Without a timer: when
    /// the thread was made runnable or, if it had not slept, when its wait returned.
    pub release: Nanos,
    /// True if `release` is the time for which a timer was set.
    pub is_due: bool,
    /// When the thread was made runnable; `None` if it had not slept.
    pub woken: Option<Nanos>,
    /// When the wait for the release returned.
    pub start: Nanos,
    /// Time of the next wait at the same place.
    pub end: Nanos,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cycles {
    pub place: u32,
    pub release: Release,
    /// Cycles in chronological order, without the last one, whose end was not observed.
    pub cycles: Vec<Cycle>,
    /// Grid of the releases; `None` if they are not periodic.
    pub grid: Option<Grid>,
    /// True for relative sleeps that are not known to hold their grid ([`Lengths::HoldGrid`]), and for times that are
    /// computed from the present time.
    pub may_drift: bool,
    /// Another place that may be the release.
    pub ambiguous_with: Option<u32>,
}

impl Cycles {
    /// Finds the cycles in the waits of one thread, given in chronological order. `None` if there is no place
    /// at which it waits at least [`FEWEST`] times.
    pub fn find(waits: &[Wait]) -> Option<Cycles> {
        let mut places: BTreeMap<u32, (u64, usize)> = BTreeMap::new();
        for wait in waits {
            let (slept, count) = places.entry(wait.place).or_default();
            *slept = slept.saturating_add(wait.slept());
            *count += usize::from(wait.woken.is_some());
        }
        let mut candidates: Vec<(u64, u32)> = places
            .iter()
            .filter(|(_, (_, count))| *count >= FEWEST)
            .map(|(place, (slept, _))| (*slept, *place))
            .collect();
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        let &(most, first) = candidates.first()?;
        let rivals: Vec<u32> =
            candidates[1..].iter().filter(|(slept, _)| *slept > most / 2).map(|(_, place)| *place).collect();
        // If timeouts end some waits and events end others, the more frequent kind counts.
        let release_at = |place: u32| {
            let mut counts: BTreeMap<Release, usize> = BTreeMap::new();
            for wait in waits.iter().filter(|wait| wait.place == place) {
                *counts.entry(wait.release).or_default() += 1;
            }
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(release, _)| release)
        };
        let timer = |place: u32| release_at(place).is_some_and(Release::is_timer);
        // If a thread waits for a timer and for events, the timer releases it, and the events are part of its cycle.
        let timers: Vec<u32> =
            [first].into_iter().chain(rivals.iter().copied()).filter(|place| timer(*place)).collect();
        let (place, ambiguous_with) = match (timers.as_slice(), rivals.first()) {
            (_, None) => (first, None),
            ([only], Some(_)) => (*only, None),
            ([one, other, ..], Some(_)) => (*one, Some(*other)),
            ([], Some(rival)) => (first, Some(*rival)),
        };
        let all: Vec<&Wait> = waits.iter().filter(|wait| wait.place == place).collect();
        let released = |wait: &&Wait| {
            let woken = wait.woken_or_end();
            (wait.due.is_some() || wait.woken.is_some()).then(|| (wait.due.unwrap_or(woken).0, woken.0))
        };
        let fitted = |at: &[&Wait]| Grid::fit(&at.iter().filter_map(released).collect::<Vec<_>>());
        // The same holds for an event loop, which waits for its timer and for events at one place.
        let loops = |kind: &Release| {
            let timed: Vec<&Wait> =
                all.iter().copied().filter(|wait| wait.release == *kind && wait.due.is_some()).collect();
            fitted(&timed).map(|grid| (timed, *kind, Some(grid)))
        };
        let timed = [Release::Timerfd, Release::PosixTimer].iter().find_map(loops);
        let (at, release, grid) = match timed {
            Some(timed) => timed,
            None => (all.clone(), release_at(place)?, fitted(&all)),
        };
        let cycle = |pair: &[&Wait]| Cycle {
            release: pair[0].due.unwrap_or(pair[0].woken_or_end()),
            is_due: pair[0].due.is_some(),
            woken: pair[0].woken,
            start: pair[0].end,
            end: pair[1].begin,
        };
        let cycles: Vec<Cycle> = at.windows(2).map(cycle).collect();
        let copied = || -> Vec<Wait> { at.iter().copied().copied().collect() };
        // A timer that is set after an event counts from it: a timeout, or a pulse that the event starts. Waits for locks
        // are short.
        let slept = at.iter().fold(0, |sum: u64, wait| sum.saturating_add(wait.slept()));
        let long = slept.saturating_mul(LONG_PERCENT) / 100 / at.len().max(1) as u64;
        let is_after_event = |wait: &&&Wait| {
            let before = wait.set.map_or(0, |set| waits.partition_point(|other| other.end <= set));
            let last = waits.iter().take(before).rev().find(|other| other.slept() >= long);
            last.is_some_and(|last| !last.release.is_timer())
        };
        let counts_alone = at.iter().filter(is_after_event).count().saturating_mul(MANY) < at.len();
        let may_drift = match release {
            Release::RelativeSleep => Lengths::of(&copied()) != Lengths::HoldGrid,
            _ => release.is_timer() && counts_alone && lengths::are_from_now(&copied()),
        };
        Some(Cycles { place, release, cycles, grid, may_drift, ambiguous_with })
    }

    /// Returns the cycle that contains this time; `None` before the first cycle, during waits, and after the last
    /// cycle.
    pub fn at(&self, time: Nanos) -> Option<usize> {
        // A release may be due before the previous cycle ends.
        let next = self.cycles.partition_point(|cycle| cycle.start <= time);
        let is_within = |at: &usize| self.cycles.get(*at).is_some_and(|one| one.release <= time && time <= one.end);
        next.checked_sub(1).filter(is_within).or_else(|| Some(next).filter(is_within))
    }

    /// Returns the time of the first release and of the last wait.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        Some((self.cycles.first()?.release, self.cycles.last()?.end))
    }
}

#[cfg(test)]
mod tests;
