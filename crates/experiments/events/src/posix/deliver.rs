//! Runs a sending and a receiving real-time task, and records what happens to each event.

use super::Posix;
use crate::Ledger;
use crate::backend::{Answer, NotRun, Observed, Plan};
use punctual_rt::{Arrival, InterruptHandle, Next, Source, monotonic};
use punctual_units::{Nanos, Scheduling};
use rustix::io::Errno;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of send times kept. It exceeds the capacity of every source (the largest is RLIMIT_SIGPENDING).
const KEPT: usize = 1 << 17;
/// If nothing arrives for this time after the last event was sent, no more events are expected.
const QUIET: Nanos = Nanos::from_millis(1000);
/// Polling interval of the main thread.
const LOOK: Duration = Duration::from_millis(10);

/// Send times of events, CLOCK_MONOTONIC.
#[derive(Clone)]
pub(super) enum Times {
    /// The most recent send times, which the sender records.
    Sent(Arc<Vec<AtomicU64>>),
    Due {
        first: Nanos,
        interval: Nanos,
    },
}

impl Times {
    pub fn new() -> Times {
        // Written to, so that the pages are mapped.
        let times: Vec<AtomicU64> = (0..KEPT).map(|_| AtomicU64::new(1)).collect();
        Times::Sent(Arc::new(times))
    }

    fn sent(&self, number: u64) {
        if let Times::Sent(times) = self {
            times[number as usize % KEPT].store(monotonic().0, Release);
        }
    }

    /// Returns the number of the last event, starting with `next`, that had been sent by the time `at`; `next` if none
    /// had been sent.
    pub fn number_at(&self, next: u64, at: Nanos) -> u64 {
        let Times::Sent(times) = self else { return next };
        let sent = |number: u64| times[number as usize % KEPT].load(Acquire);
        let mut number = next;
        // A slot that is not yet written has an earlier time than the slot before it.
        while (sent(number)..=at.0).contains(&sent(number + 1)) {
            number += 1;
        }
        number
    }

    fn lateness(&self, number: u64, now: Nanos) -> Nanos {
        now.saturating_sub(match self {
            Times::Sent(times) => Nanos(times[number as usize % KEPT].load(Acquire)),
            Times::Due { first, interval } => *first + Nanos(number * interval.0),
        })
    }
}

/// An arrival: the number of the event, if events have numbers, and how many arrived together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub number: Option<u64>,
    pub count: u64,
    /// Number of events before this event that the source reports as lost.
    pub dropped: u64,
}

impl Came {
    pub fn numbered(number: u64) -> Came {
        Came { number: Some(number), count: 1, dropped: 0 }
    }

    pub fn counted(count: u64) -> Came {
        Came { number: None, count, dropped: 0 }
    }
}

pub(super) trait Taker: Send + 'static {
    /// Sleeps until events arrive, then calls `came` for each arrival. Returns `INTR` if no event arrived for some
    /// time, or if a signal interrupted the wait.
    fn take(&mut self, came: &mut dyn FnMut(Came)) -> Result<(), Errno>;
}

/// A source whose arrivals are recorded in a ledger. The ledger belongs to the real-time thread: no other thread locks
/// it until that thread has ended.
struct Taking<T> {
    taker: T,
    ledger: Arc<Mutex<Ledger>>,
    times: Times,
    arrivals: Arc<AtomicU64>,
}

impl<T: Taker> Source for Taking<T> {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        let Taking { taker, ledger, times, arrivals } = self;
        let mut events = 0;
        let mut now = Nanos::ZERO;
        taker.take(&mut |came| {
            if events == 0 {
                now = monotonic();
            }
            events += came.count;
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.overflowed(came.dropped);
            match came.number {
                Some(number) => ledger.arrived_together(number, came.count, |n| times.lateness(n, now)),
                None => ledger.counted(came.count, |n| times.lateness(n, now)),
            }
        })?;
        arrivals.fetch_add(events, Relaxed);
        Ok(Arrival { at: None, events, lost: 0, value: 0 })
    }
}

pub(super) struct Receiver {
    handle: InterruptHandle,
    ledger: Arc<Mutex<Ledger>>,
    arrivals: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub sent: u64,
    pub refused: u64,
}

impl Posix {
    pub(super) fn receive(
        &self,
        plan: &Plan<'_>,
        scheduling: Scheduling,
        times: &Times,
        taker: impl Taker,
    ) -> Result<Receiver, NotRun> {
        let ledger = Arc::new(Mutex::new(plan.ledger()));
        let arrivals = Arc::new(AtomicU64::new(0));
        let source = Taking { taker, ledger: ledger.clone(), times: times.clone(), arrivals: arrivals.clone() };
        let mut task = self.rt.interrupt("events-receive", scheduling, source);
        if let Some(cpu) = plan.cpu {
            task = task.cpu(cpu);
        }
        let handle = task.spawn(|_| Next::Continue).map_err(|e| NotRun::Failed(e.to_string()))?;
        Ok(Receiver { handle, ledger, arrivals })
    }

    /// Sends event numbers at the plan's interval until all are sent or the user interrupts the test. `send` returns
    /// false if the source refused the number.
    pub(super) fn send(
        &self,
        plan: &Plan<'_>,
        times: &Times,
        mut send: impl FnMut(u64) -> Result<bool, Errno> + Send + 'static,
    ) -> Result<Sent, NotRun> {
        let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0), AtomicI32::new(0)));
        let (theirs, times, events) = (counts.clone(), times.clone(), plan.events);
        let task = self.rt.periodic("events-send", self.scheduling(plan, 1), plan.interval).cycles(plan.events);
        let task = task.spawn(move |_| {
            let (sent, refused, failed) = &*theirs;
            let number = sent.load(Relaxed);
            times.sent(number);
            match send(number) {
                Ok(true) => {}
                Ok(false) => refused.store(refused.load(Relaxed) + 1, Relaxed),
                Err(errno) => {
                    failed.store(errno.raw_os_error(), Relaxed);
                    return Next::Stop;
                }
            }
            sent.store(number + 1, Relaxed);
            if number + 1 < events { Next::Continue } else { Next::Stop }
        });
        let task = task.map_err(|e| NotRun::Failed(e.to_string()))?;
        while !task.is_finished() && !plan.stop.load(Relaxed) {
            std::thread::sleep(LOOK);
        }
        task.stop();
        let (sent, refused, failed) = &*counts;
        match failed.load(Relaxed) {
            0 => Ok(Sent { sent: sent.load(Relaxed), refused: refused.load(Relaxed) }),
            errno => Err(NotRun::Failed(format!(
                "{}: cannot send event {}: {}",
                plan.test,
                sent.load(Relaxed),
                Errno::from_raw_os_error(errno)
            ))),
        }
    }

    pub(super) fn deliver(
        &self,
        plan: &Plan<'_>,
        taker: impl Taker,
        send: impl FnMut(u64) -> Result<bool, Errno> + Send + 'static,
    ) -> Answer {
        self.deliver_at(plan, Times::new(), taker, send)
    }

    /// Like `deliver`, for a receiver that needs the send times.
    pub(super) fn deliver_at(
        &self,
        plan: &Plan<'_>,
        times: Times,
        taker: impl Taker,
        send: impl FnMut(u64) -> Result<bool, Errno> + Send + 'static,
    ) -> Answer {
        let receiver = self.receive(plan, self.scheduling(plan, 0), &times, taker)?;
        let sent = self.send(plan, &times, send);
        let observed = receiver.finish(plan, sent?)?;
        Ok(Observed { notes: self.narrowed(), ..observed })
    }
}

impl Receiver {
    /// Waits until all events have been received or no more arrive, then ends the receiver.
    ///
    /// # Errors
    /// [`NotRun::Failed`] if the source could not be read.
    pub(super) fn finish(self, plan: &Plan<'_>, sent: Sent) -> Answer {
        let mut before = self.arrivals.load(Relaxed);
        let mut since = monotonic();
        while before < sent.sent - sent.refused && monotonic().saturating_sub(since) < QUIET {
            std::thread::sleep(LOOK);
            let now = self.arrivals.load(Relaxed);
            if now != before {
                (before, since) = (now, monotonic());
            }
        }
        let (_, stats) = self.handle.stop();
        if let Some(errno) = stats.failed {
            return Err(NotRun::Failed(format!("{}: cannot receive its events: {errno}", plan.test)));
        }
        let ledger = Arc::try_unwrap(self.ledger).map_err(|_| NotRun::Failed("the receiver did not end".into()))?;
        let mut ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        ledger.overflowed(sent.refused);
        Ok(Observed { page_faults: stats.usage.page_faults, ..Observed::new(ledger, sent.sent) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrival belongs to the last event sent before it; earlier events that have not arrived yet count as arriving
    /// together with it.
    #[test]
    fn an_event_is_known_by_its_time() {
        let times = Times::Sent(Arc::new((0..KEPT).map(|_| AtomicU64::new(1)).collect()));
        let Times::Sent(slots) = &times else { unreachable!() };
        for (number, at) in [(0, 100), (1, 200), (2, 300), (3, 400)] {
            slots[number].store(at, Release);
        }
        assert_eq!(times.number_at(0, Nanos(150)), 0);
        assert_eq!(times.number_at(1, Nanos(399)), 2);
        assert_eq!(times.number_at(1, Nanos(400)), 3);
        assert_eq!(times.number_at(3, Nanos(9999)), 3, "nothing was sent after it");
        assert_eq!(times.number_at(2, Nanos(50)), 2, "an event from before: the next one");
        // The buffer wraps around: slot KEPT still has the time of the event KEPT numbers earlier.
        slots[KEPT - 1].store(1000, Release);
        assert_eq!(times.number_at(KEPT as u64 - 1, Nanos(2000)), KEPT as u64 - 1);
        slots[0].store(1100, Release);
        assert_eq!(times.number_at(KEPT as u64 - 1, Nanos(2000)), KEPT as u64);
    }
}
