//! Finds the cycles of a thread from its waits.
//!
//! A control thread waits, works, and waits again at the same place in its code. Among all places where it slept, the
//! one with the longest total sleep is its release. A cycle lasts from a release to the next wait at that place. If the
//! releases are periodic, they have a period, a phase and a jitter. If a second place is about equally likely,
//! [`Cycles::ambiguous_with`] names it.
//!
//! Architecture invariant: pure functions; the caller describes each wait and its place.

#![forbid(unsafe_code)]

mod grid;

pub use grid::Grid;

use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Minimum number of waits at a place that form cycles.
pub const FEWEST: usize = 4;

/// The event that ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Release {
    /// clock_nanosleep(2) with TIMER_ABSTIME.
    AbsoluteSleep,
    /// nanosleep(2), clock_nanosleep(2) without TIMER_ABSTIME.
    RelativeSleep,
    /// A timerfd, also through poll(2), epoll(7) or io_uring(7).
    Timerfd,
    /// A signal: sigtimedwait(2), or pause(2) and a handler.
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
    /// One of several descriptors, or a descriptor of unknown type.
    Descriptors,
}

impl Release {
    pub fn is_timer(self) -> bool {
        use Release::{AbsoluteSleep, Deadline, RelativeSleep, Timerfd};
        matches!(self, AbsoluteSleep | RelativeSleep | Timerfd | Deadline)
    }

    pub fn name(self) -> &'static str {
        match self {
            Release::AbsoluteSleep => "absolute sleep",
            Release::RelativeSleep => "relative sleep",
            Release::Timerfd => "timerfd",
            Release::Signal => "signal",
            Release::Deadline => "SCHED_DEADLINE",
            Release::Futex => "futex",
            Release::Eventfd => "eventfd",
            Release::Pipe => "pipe",
            Release::Socket => "socket",
            Release::Device => "device",
            Release::MessageQueue => "message queue",
            Release::Descriptors => "poll",
        }
    }
}

/// A completed wait. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Identifier of the call chain; equal chains have equal values.
    pub place: u32,
    pub release: Release,
    /// Time at which the system call began.
    pub begin: Nanos,
    /// Time at which the thread became runnable; `None` if it did not sleep.
    pub woken: Option<Nanos>,
    /// Time at which the system call returned.
    pub end: Nanos,
}

impl Wait {
    fn slept(&self) -> u64 {
        self.woken.map_or(0, |woken| woken.0.saturating_sub(self.begin.0))
    }
}

/// A cycle, from a release to the next wait at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Time at which the thread became runnable; if it did not sleep, the time at which its wait returned.
    pub release: Nanos,
    /// Time at which the wait returned.
    pub start: Nanos,
    /// Time of the next wait at this place.
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
    /// Another place that may be the release.
    pub ambiguous_with: Option<u32>,
}

impl Cycles {
    /// Finds the cycles in the waits of one thread, given in chronological order. `None` if it waits at no place at
    /// least [`FEWEST`] times.
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
        let timer = |place: u32| waits.iter().any(|wait| wait.place == place && wait.release.is_timer());
        // If a timer is among several events, it is the release; the other events occur within its cycle.
        let timers: Vec<u32> =
            [first].into_iter().chain(rivals.iter().copied()).filter(|place| timer(*place)).collect();
        let (place, ambiguous_with) = match (timers.as_slice(), rivals.first()) {
            (_, None) => (first, None),
            ([only], Some(_)) => (*only, None),
            ([one, other, ..], Some(_)) => (*one, Some(*other)),
            ([], Some(rival)) => (first, Some(*rival)),
        };
        let at: Vec<&Wait> = waits.iter().filter(|wait| wait.place == place).collect();
        let release =
            at.iter().map(|wait| wait.release).max_by_key(|kind| at.iter().filter(|w| w.release == *kind).count())?;
        let cycle = |pair: &[&Wait]| Cycle {
            release: pair[0].woken.unwrap_or(pair[0].end),
            start: pair[0].end,
            end: pair[1].begin,
        };
        let cycles: Vec<Cycle> = at.windows(2).map(cycle).collect();
        let releases: Vec<u64> = at.iter().filter_map(|wait| wait.woken).map(|woken| woken.0).collect();
        Some(Cycles { place, release, cycles, grid: Grid::fit(&releases), ambiguous_with })
    }

    /// The cycle that contains this time; `None` before the first cycle, during waits, and after the last cycle.
    pub fn at(&self, time: Nanos) -> Option<usize> {
        let at = self.cycles.partition_point(|cycle| cycle.release <= time).checked_sub(1)?;
        (time <= self.cycles[at].end).then_some(at)
    }

    /// Time of the first release and of the last wait.
    pub fn span(&self) -> Option<(Nanos, Nanos)> {
        Some((self.cycles.first()?.release, self.cycles.last()?.end))
    }
}

#[cfg(test)]
mod tests;
