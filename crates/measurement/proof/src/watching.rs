//! Observes and controls a phase while it is measured.

use crate::meter::Meter;
use punctual_measure::{Cell, Plan, Recorder};
use punctual_model::{ContextSample, Event};
use punctual_rt::monotonic;
use punctual_units::{CpuId, Nanos};
use rustix::process::{Signal, getpid, kill_process};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A running phase. Reading the cells takes no lock and makes no system call. Only ending the phase affects a measuring
/// thread.
#[derive(Clone)]
pub struct Watching {
    /// CLOCK_MONOTONIC of the first recorded release.
    pub start: Nanos,
    /// CLOCK_MONOTONIC of the planned end.
    pub end: Nanos,
    pub cells: Vec<(CpuId, Arc<Cell>)>,
    next: Arc<AtomicBool>,
    recorder: Arc<Mutex<dyn Recorder>>,
    seen: Arc<Mutex<Seen>>,
}

/// The latest values of the context thread; empty without a context thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Values of the counters over the last interval.
    pub context: Option<ContextSample>,
    /// Frequencies before the phase, kHz. Reading them during the phase would disturb it.
    pub khz: Vec<(CpuId, u64)>,
    pub marks: u64,
}

impl Seen {
    pub(crate) fn take(&mut self, event: &Event) {
        match event {
            Event::Context(sample) => self.context = Some(sample.clone()),
            Event::Frequency { khz, .. } => self.khz.clone_from(khz),
            _ => {}
        }
    }
}

impl Watching {
    pub(crate) fn new(
        plan: &Plan,
        meter: &dyn Meter,
        recorder: Arc<Mutex<dyn Recorder>>,
        seen: Arc<Mutex<Seen>>,
    ) -> Watching {
        // The last release of the last CPU may be later by a fraction of a period.
        let end = meter.end().max(meter.start() + plan.duration);
        Watching { start: meter.start(), end, cells: meter.cells(), next: Arc::default(), recorder, seen }
    }

    /// Returns the latest counters. Takes a lock that is never held while writing to disk.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Marks the current time in `events.jsonl`, and returns the number of the mark. It is written to disk with the
    /// next checkpoint.
    pub fn mark(&self) -> u64 {
        let mono_ns = monotonic().0;
        let number = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.marks += 1;
            seen.marks
        };
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).event(&Event::Mark { mono_ns, number });
        number
    }

    /// Ends this phase, so that the next load starts. The phase is recorded as ended early by the user. No effect if it
    /// has already ended.
    pub fn next(&self) {
        self.next.store(true, Relaxed);
        // Any SIGCHLD makes the waiting thread check the request (sigtimedwait(2)). The signal is blocked in all
        // threads.
        let _ = kill_process(getpid(), Signal::CHILD);
    }

    pub(crate) fn next_wanted(&self) -> bool {
        self.next.load(Relaxed)
    }
}
