//! A thread that runs a body on every event and accounts for each event.

use crate::interrupt::Source;
use crate::task::{Cycle, End, Finished, Next, RESET, Shared, SpawnError, Task, TaskUsage, WorstCycle, launch};
use crate::{Attributes, Rt, monotonic};
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The argument of an interrupt task's body: one wakeup for one or more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Number of the event, from 0; coalesced and lost events are counted, too.
    pub sequence: u64,
    /// Time at which the kernel saw the event, CLOCK_MONOTONIC; `None` if its source has no time stamps.
    pub at: Option<Nanos>,
    /// Time at which the thread woke for the event, CLOCK_MONOTONIC.
    pub woke: Nanos,
    /// Number of further events that arrived before the thread woke, and for which the body does not run.
    pub coalesced: u64,
    /// Number of events that the source dropped before this one.
    pub lost: u64,
    /// Value of the event: the edge of a GPIO line (1 rising, 0 falling), otherwise 0.
    pub value: u64,
}

/// An interrupt task that has not been started; created by [`Rt::interrupt`].
#[must_use = "a task does not run until spawn() is called"]
pub struct InterruptTask<'a, S> {
    rt: &'a Rt,
    name: String,
    scheduling: Scheduling,
    source: S,
    cpu: Option<CpuId>,
    prepare: Option<Box<dyn FnOnce() + Send>>,
}

/// Number of events by outcome.
#[derive(Debug, Default)]
struct Events {
    coalesced: AtomicU64,
    lost: AtomicU64,
    /// Number of events with a time stamp.
    stamped: AtomicU64,
    /// The errno that ended the task, or 0.
    failed: AtomicU64,
}

/// Handle of a started interrupt task.
pub struct InterruptHandle {
    task: Task,
    events: Arc<Events>,
}

/// Statistics of an interrupt task. `events == handled + coalesced + lost`.
#[derive(Clone)]
pub struct InterruptStats {
    /// Name of the task.
    pub name: String,
    /// Time at which the statistics were read, CLOCK_MONOTONIC.
    pub at: Nanos,
    /// Total number of events.
    pub events: u64,
    /// Number of wakeups for which the body ran.
    pub handled: u64,
    /// Number of events that arrived together with a handled one.
    pub coalesced: u64,
    /// Number of events that the source dropped.
    pub lost: u64,
    /// Time from the kernel's time stamp to the wakeup, ns; empty if the source has no time stamps ([`Interrupt::at`]).
    pub latency: Histogram,
    /// Time from the wakeup to the body's return, ns.
    pub execution: Histogram,
    /// The event with the largest latency: its number, and the time at which the kernel saw it. `None` if no latency
    /// above zero was recorded.
    pub worst: Option<WorstCycle>,
    /// Counters that the kernel keeps for the task's thread.
    pub usage: TaskUsage,
    /// The error of the task's event source, if one ended the task.
    pub failed: Option<Errno>,
}

impl<'a, S: Source + 'static> InterruptTask<'a, S> {
    pub(crate) fn new(rt: &'a Rt, name: &str, scheduling: Scheduling, source: S) -> InterruptTask<'a, S> {
        InterruptTask { rt, name: name.into(), scheduling, source, cpu: None, prepare: None }
    }

    /// Pins the task to this CPU.
    pub fn cpu(mut self, cpu: CpuId) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Runs `prepare` once in the task's thread before its first event; see [`crate::PeriodicTask::prepare`].
    pub fn prepare(mut self, prepare: impl FnOnce() + Send + 'static) -> Self {
        self.prepare = Some(Box::new(prepare));
        self
    }

    /// Starts the task. `body` runs in its thread on every event; the rules of [`crate::PeriodicTask::spawn`] apply to
    /// it.
    ///
    /// # Errors
    /// [`SpawnError`]; in this case nothing was started.
    pub fn spawn<F>(self, body: F) -> Result<InterruptHandle, SpawnError>
    where
        F: FnMut(&Interrupt) -> Next + Send + 'static,
    {
        let shared = Arc::new(Shared::new(&self.name, Nanos::ZERO));
        let events = Arc::new(Events::default());
        let attributes = Attributes { scheduling: self.scheduling, cpu: self.cpu, lock_stack: true };
        let (source, theirs, prepare) = (self.source, events.clone(), self.prepare);
        let prepare = || prepare.into_iter().for_each(|prepare| prepare());
        let work = move |shared: &Shared, _, ()| run(shared, &theirs, source, body);
        let task = launch(self.rt, (attributes, RESET), shared, prepare, monotonic, work)?;
        Ok(InterruptHandle { task, events })
    }
}

/// Runs the loop, which makes one system call per event, and neither allocates nor locks.
fn run<S: Source, F>(shared: &Shared, events: &Events, mut source: S, mut body: F) -> End
where
    F: FnMut(&Interrupt) -> Next,
{
    let mut next_sequence = 0;
    loop {
        if shared.stop.load(Relaxed) {
            return End::Stopped;
        }
        let arrival = match source.wait() {
            Ok(arrival) if arrival.events > 0 => arrival,
            Ok(_) | Err(Errno::INTR) => continue,
            Err(errno) => {
                events.failed.store(errno.raw_os_error() as u64, Relaxed);
                return End::Failed;
            }
        };
        let woke = monotonic();
        let (coalesced, lost) = (arrival.events - 1, arrival.lost);
        let sequence = next_sequence + lost;
        next_sequence = sequence + arrival.events;
        let interrupt = Interrupt { sequence, at: arrival.at, woke, coalesced, lost, value: arrival.value };
        count(&events.coalesced, coalesced);
        count(&events.lost, lost);
        count(&events.stamped, u64::from(arrival.at.is_some()));
        let scheduled = arrival.at.unwrap_or(woke);
        let cycle = Cycle { index: sequence, scheduled, woke, skipped: coalesced + lost, pending: 0, overruns: 0 };
        if cycle.skipped == 0 {
            shared.record.run(&cycle)
        } else {
            shared.record.run_late(&cycle)
        }
        let next = body(&interrupt);
        shared.record.executed(&cycle, monotonic(), u64::MAX);
        if next == Next::Stop {
            return End::Returned;
        }
    }
}

/// Adds `n` to a counter. The caller must be its only writer.
fn count(word: &AtomicU64, n: u64) {
    if n > 0 {
        word.store(word.load(Relaxed) + n, Relaxed);
    }
}

impl InterruptHandle {
    /// Returns the underlying task, which provides the attributes and the name.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Returns the current statistics. Do not call this from a real-time thread.
    pub fn stats(&self) -> InterruptStats {
        self.of(self.task.stats())
    }

    /// Asks the task to end and waits until it has ended. Returns how it ended, and its final statistics.
    pub fn stop(self) -> (End, InterruptStats) {
        let InterruptHandle { task, events } = self;
        finished(task.stop(), &events)
    }

    /// Waits until the task ends on its own. Returns how it ended, and its final statistics.
    pub fn join(self) -> (End, InterruptStats) {
        let InterruptHandle { task, events } = self;
        finished(task.join(), &events)
    }

    fn of(&self, stats: crate::TaskStats) -> InterruptStats {
        with(stats, &self.events)
    }
}

fn finished(finished: Finished, events: &Events) -> (End, InterruptStats) {
    (finished.end, with(finished.stats, events))
}

fn with(stats: crate::TaskStats, events: &Events) -> InterruptStats {
    let failed = events.failed.load(Relaxed) as i32;
    let counted = stats.counted;
    let is_stamped = events.stamped.load(Relaxed) > 0;
    InterruptStats {
        name: stats.name,
        at: stats.at,
        events: counted.released,
        handled: counted.ran,
        coalesced: counted.skipped - events.lost.load(Relaxed).min(counted.skipped),
        lost: events.lost.load(Relaxed).min(counted.skipped),
        latency: if is_stamped { counted.lateness } else { Histogram::new() },
        execution: counted.execution,
        worst: counted.worst.filter(|_| is_stamped),
        usage: stats.usage,
        failed: (failed != 0).then(|| Errno::from_raw_os_error(failed)),
    }
}
