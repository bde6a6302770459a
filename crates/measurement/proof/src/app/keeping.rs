//! Watches an application's cycles until it is stopped, and keeps the events before the moments at which it is late.

use super::App;
use super::breach::Breaches;
use super::engine::{Engine, Keeps, Span};
use crate::capture::Saver;
use crate::error::ProofError;
use punctual_directory::Dir;
use punctual_model::{AppLate, AppValue, AppWindow, Capture, Claim, Cycle, LateBy, WatchAppThread};
use punctual_rt::monotonic;
use punctual_uapi as uapi;
use punctual_units::{Nanos, Scheduling};
use std::sync::PoisonError;
use std::time::Duration;

/// Time by which a window extends beyond the last moment that it covers.
const AFTER: Nanos = Nanos::from_millis(1);
/// Minimum length of a window. `LONGEST` is the maximum, because the events are held in memory.
const SHORTEST: Nanos = Nanos::from_millis(1);
const LONGEST: Nanos = Nanos::from_secs(10);

/// Moments at which the application was late.
#[derive(Debug, Default)]
pub struct Lates {
    pub late: Vec<AppLate>,
    /// Number of further moments, about which nothing else is known.
    pub left_out: u64,
}

/// Watches the cycles of an application. Recording ends when the keeper is dropped.
pub struct AppKeeper {
    engine: Engine,
    saver: Saver,
    window: Nanos,
}

impl App {
    /// Starts to record the cycles. Each claim must be one that a single cycle can break. `window` is the time before
    /// the breach for which events are kept.
    ///
    /// # Errors
    /// The kernel's events cannot be recorded; a claim is of another kind, or names a thread that was not found.
    pub fn keeper(&self, claims: &[Claim], window: Nanos) -> Result<AppKeeper, ProofError> {
        if window < SHORTEST || window > LONGEST {
            return Err(ProofError::Usage(format!("--keep {window}: events can be kept for {SHORTEST} to {LONGEST}")));
        }
        self.check(claims)?;
        let breaches = Breaches::new(claims, &self.application().threads)?;
        let span = Span { warmup: Nanos::ZERO, duration: Nanos(u64::MAX / 4), keep: 1 };
        let engine = Engine::new(&self.0, &span, claims, "watch", Some(Keeps { breaches, window }))?;
        Ok(AppKeeper { engine, saver: Saver::new(), window })
    }
}

impl AppKeeper {
    /// Interval at which [`AppKeeper::take`] is to be called.
    pub const EVERY: Duration = super::engine::EVERY;

    /// Raises the calling thread to nice -20 for reading the events, because the buffers would otherwise overflow
    /// beside busy ordinary threads. If that is refused, lost events are counted.
    pub fn enter(&self) {
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: -20 }, false);
    }

    /// Reads the events up to now. Returns the moments at which the application was late.
    ///
    /// # Errors
    /// The trace cannot be read, or a program ended.
    pub fn take(&mut self) -> Result<Lates, String> {
        let taken = self.engine.take();
        let (late, left_out) = self.engine.keeps.as_mut().map(|keeps| keeps.breaches.take()).unwrap_or_default();
        // What was late before the end counts.
        match taken {
            Err(why) if late.is_empty() => Err(why),
            _ => Ok(Lates { late, left_out }),
        }
    }

    /// Makes the next [`AppKeeper::take`] return a moment for a signal that arrived at `at`.
    pub fn signalled(&mut self, at: Nanos) {
        let late = AppLate {
            by: LateBy::Signal,
            at_mono_ns: at.0,
            thread: None,
            tid: None,
            name: None,
            claim: None,
            value_ns: None,
            release_mono_ns: None,
            is_open: false,
        };
        if let Some(keeps) = &mut self.engine.keeps {
            keeps.breaches.push(late);
        }
    }

    /// Saves the events before these moments, which the last call of [`AppKeeper::take`] returned, as a file in `dir`,
    /// with the cycles that explain them.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn save(&mut self, dir: &Dir, name: (&str, String), late: Vec<AppLate>) -> std::io::Result<Capture> {
        let moments = || late.iter().map(|late| late.at_mono_ns);
        let now = monotonic().0;
        let from = moments().min().unwrap_or(now).saturating_sub(self.window.0);
        let to = moments().max().unwrap_or(now).saturating_add(AFTER.0);
        let cycles = late.iter().map(|late| self.cycle(late)).collect();
        self.engine.recorder.save(&mut self.saver, dir, name, (from, to), AppWindow { late, cycles })
    }

    /// Returns the cycle that explains a moment: the one that broke the claim, the one in which the thread said that it
    /// is late, or the longest one in the window, relative to its period. Returns `None` if there is none, or if it was
    /// not recorded completely.
    fn cycle(&mut self, late: &AppLate) -> Option<Cycle> {
        let at = late.at_mono_ns;
        let threads = || self.engine.lanes.iter().map(|lane| &lane.learned.thread);
        let own = threads().map(|thread| thread.tid).find(|tid| Some(*tid) == late.tid);
        let broken = late.by == LateBy::Claim;
        if let (true, Some(tid)) = (broken, own) {
            let release = late.release_mono_ns.filter(|_| late.value_ns.is_some())?;
            return self.engine.attribution.cycle_of(tid, release);
        }
        let points = points(late);
        let has_points = threads().any(|thread| points.contains(&thread.name));
        let from = late.release_mono_ns.unwrap_or(at.saturating_sub(self.window.0));
        let mut longest: Option<(f64, i32, u64)> = None;
        for thread in threads().filter(|thread| !has_points || points.contains(&thread.name)) {
            let tid = thread.tid;
            let from = if own == Some(tid) { at } else { from };
            if own.is_some_and(|own| own != tid) {
                continue;
            }
            let period = thread.period_ns.map_or(1e9, |period| period.0.max(1) as f64);
            let attribution = &self.engine.attribution;
            let running = attribution.running_since(tid).map(|release| (release, at.max(release)));
            for (release, end) in attribution.recent(tid).chain(running) {
                let length = end.saturating_sub(release) as f64 / period;
                if release <= at && end >= from && longest.is_none_or(|(known, ..)| length > known) {
                    longest = Some((length, tid, release));
                }
            }
        }
        let (_, tid, release) = longest?;
        self.engine.attribution.cycle_of(tid, release)
    }

    pub fn cycles(&self) -> Vec<WatchAppThread> {
        self.engine.lanes.iter().map(super::lane::Lane::so_far).collect()
    }

    /// Returns the number of events that the kernel overwrote before they were read.
    pub fn lost(&self) -> u64 {
        self.engine.recorder.lost()
    }

    /// Returns true if the kernel shows what the application writes to trace_marker.
    pub fn sees_marks(&self) -> bool {
        self.engine.recorder.has_marks
    }

    /// Returns the names of real-time threads that appeared after the cycles were found, and are therefore not watched.
    pub fn unwatched(&self) -> Vec<String> {
        let state = self.engine.shared.lock().unwrap_or_else(PoisonError::into_inner);
        state.unmeasured().into_iter().map(|thread| thread.name).collect()
    }

    /// Ends recording. Returns what could not be removed.
    pub fn end(mut self) -> Vec<String> {
        self.engine.recorder.end()
    }
}

/// Returns the points of the chain that a claim is about.
fn points(late: &AppLate) -> Vec<String> {
    let claim = late.claim.as_ref().and_then(|claim| claim.parse::<Claim>().ok());
    match claim.and_then(|claim| claim.of) {
        Some(AppValue::Chain(names)) => names,
        _ => Vec::new(),
    }
}
