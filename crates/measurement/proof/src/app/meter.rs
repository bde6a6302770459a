//! Measures the cycles of an application under one load: an implementation of `Meter`.

use super::Shared;
use super::engine::{Engine, Flags, PATIENCE, Span};
use crate::error::ProofError;
use crate::meter::{Collected, Meter, Stop};
use punctual_measure::{Cell, Plan};
use punctual_model::{AppValue, Claim};
use punctual_rt::monotonic;
use punctual_units::{CpuId, Nanos};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Interval at which the meter checks whether reading has failed.
const LOOK: Nanos = Nanos::from_millis(200);

pub(super) struct AppMeter {
    start: Nanos,
    end: Nanos,
    value: Option<(AppValue, Option<Nanos>)>,
    cells: Vec<(CpuId, Arc<Cell>)>,
    stopped: Option<Stop>,
    flags: Arc<Flags>,
    thread: Option<JoinHandle<Engine>>,
}

/// # Errors
/// The kernel's events cannot be recorded, or no thread can be started.
pub(super) fn start(shared: &Shared, plan: &Plan, claims: &[Claim], load: &str) -> Result<Box<dyn Meter>, ProofError> {
    let span = Span { warmup: plan.warmup, duration: plan.duration, keep: plan.keep };
    let engine = Engine::new(shared, &span, claims, load, None)?;
    let (start, end) = (engine.start, engine.end);
    let first = engine.lanes.first();
    let value = first.map(|lane| (lane.response.value.clone(), lane.learned.thread.period_ns));
    let cells = first.map(|lane| (CpuId(0), Arc::clone(&lane.response.cell))).into_iter().collect();
    let flags = Arc::new(Flags::default());
    let own = Arc::clone(&flags);
    let thread = std::thread::Builder::new()
        .name("cycles".into())
        .spawn(move || engine.run(&own))
        .map_err(|e| ProofError::Environment(format!("cannot start the thread that reads the trace: {e}")))?;
    Ok(Box::new(AppMeter { start, end, value, cells, stopped: None, flags, thread: Some(thread) }))
}

impl Meter for AppMeter {
    fn start(&self) -> Nanos {
        self.start
    }

    fn end(&self) -> Nanos {
        self.end
    }

    fn value(&self) -> Option<(AppValue, Option<Nanos>)> {
        self.value.clone()
    }

    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        self.cells.clone()
    }

    fn tick(&self) -> Option<Nanos> {
        Some(LOOK)
    }

    fn step(&mut self) -> Result<(), String> {
        match self.flags.failed.load(Relaxed) {
            true => Err("the application or its trace ended".into()),
            false => Ok(()),
        }
    }

    fn stop(&mut self, why: Stop) {
        if monotonic() < self.end {
            self.stopped.get_or_insert(why);
        }
        self.flags.stop.store(true, Relaxed);
    }

    fn finished(&self) -> bool {
        self.flags.done.load(Relaxed)
    }

    fn collect(mut self: Box<Self>) -> Collected {
        self.flags.stop.store(monotonic() >= self.end + PATIENCE || self.stopped.is_some(), Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(mut engine)) => {
                // A signal from the terminal ends the program as well. That ends the measurement and is not a failure.
                engine.failed = engine.failed.filter(|_| !matches!(self.stopped, Some(Stop::Now | Stop::User)));
                engine.finish(self.stopped)
            }
            _ => Collected { end: self.end.min(monotonic()), ..Collected::default() },
        }
    }
}
