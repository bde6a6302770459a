//! Watches an application's cycles until it is stopped, and keeps the events before the moments at which it is late.

use super::App;
use super::breach::Breaches;
use super::engine::{Engine, Keeps, REMEMBERED, Span};
use super::lane::Lane;
use crate::capture::{Cutter, Saver};
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
    /// Ends of cycles that had been reported before they ended; they are no further moments.
    pub completed: Vec<AppLate>,
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
        AppKeeper::check(claims, window)?;
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

    /// Checks what does not depend on the application, so that it need not be started in vain.
    ///
    /// # Errors
    /// Events cannot be kept for so short or so long; one cycle cannot break a claim.
    pub fn check(claims: &[Claim], window: Nanos) -> Result<(), ProofError> {
        if window < SHORTEST || window > LONGEST {
            return Err(ProofError::Usage(format!("--keep {window}: events can be kept for {SHORTEST} to {LONGEST}")));
        }
        App::refuse(claims)?;
        Breaches::check(claims)
    }

    /// Raises the calling thread to nice -20 for reading the events, because the buffers would otherwise overflow
    /// beside busy ordinary threads. If that is refused, lost events are counted.
    pub fn enter(&self) {
        let _ = uapi::set_scheduling(0, Scheduling::Other { nice: -20 }, false);
    }

    /// Reads the events up to now. Returns the moments at which the application was late. A cycle that is late already
    /// and has not ended is one of them if it is by half of the window or, with `is_last`, at all.
    ///
    /// # Errors
    /// The trace cannot be read, or a program ended.
    pub fn take(&mut self, is_last: bool) -> Result<Lates, String> {
        let taken = self.engine.take();
        if is_last {
            self.engine.look_at_running(0);
        }
        let breaches = self.engine.keeps.as_mut().map(|keeps| &mut keeps.breaches);
        let ((late, left_out), completed) = breaches.map(|all| (all.take(), all.completed())).unwrap_or_default();
        // Late cycles before the end count.
        match taken {
            Err(why) if late.is_empty() && completed.is_empty() => Err(why),
            _ => Ok(Lates { late, left_out, completed }),
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
            completes: false,
        };
        if let Some(keeps) = &mut self.engine.keeps {
            keeps.breaches.push(late);
        }
    }

    /// Saves the events before these moments, which the last call of [`AppKeeper::take`] returned, as a file in `dir`,
    /// with the cycles that explain them.
    ///
    /// # Errors
    /// A file could not be written. Nothing is left behind.
    pub fn save(&mut self, dir: &Dir, name: (&str, String), window: AppWindow) -> std::io::Result<Capture> {
        let moments = || window.late.iter().map(|late| late.at_mono_ns);
        let now = monotonic().0;
        let from = moments().min().unwrap_or(now).saturating_sub(self.window.0);
        let to = moments().max().unwrap_or(now).saturating_add(AFTER.0);
        let file = name.1.clone();
        let saved = self.engine.recorder.save(&mut self.saver, dir, name, (from, to), window);
        if saved.is_err() {
            Cutter::forget(dir, &file);
        }
        saved
    }

    /// Returns the cycle that explains a moment: the one that broke the claim, the one in which the thread said that it
    /// is late, or the longest one in the window, relative to its period. It does not depend on the saved events.
    ///
    /// # Errors
    /// No cycle was recorded completely, with the reason.
    pub fn explain(&mut self, late: &AppLate) -> Result<Cycle, &'static str> {
        if late.by == LateBy::Claim && late.tid.is_some() && late.value_ns.is_none() {
            return Err("the cycle before the releases without a cycle had ended in time");
        }
        self.cycle(late).ok_or_else(|| match self.is_before_all(late) {
            true => "the cycle at that moment had begun before the recording did",
            false => "no cycle at that moment was recorded completely",
        })
    }

    /// Returns true if all recorded cycles of the thread, or of all threads if it is none of them, began after the moment.
    fn is_before_all(&self, late: &AppLate) -> bool {
        let all = || self.engine.lanes.iter();
        let is_own = |lane: &Lane| Some(lane.learned.thread.tid) == late.tid;
        let has_own = all().any(is_own);
        self.lost() == 0
            && all().filter(|lane| is_own(lane) || !has_own).all(|lane| {
                let (tid, attribution) = (lane.learned.thread.tid, &self.engine.attribution);
                let first =
                    attribution.recent(tid).map(|(release, _)| release).chain(attribution.running_since(tid)).min();
                // If there are more cycles, the first ones have been dropped.
                lane.so_far().cycles < REMEMBERED as u64 && first.is_none_or(|first| first > late.at_mono_ns)
            })
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
        self.engine.lanes.iter().map(Lane::so_far).collect()
    }

    /// Returns the number of events that the kernel overwrote before they were read.
    pub fn lost(&self) -> u64 {
        self.engine.recorder.lost()
    }

    /// Returns the reason why the kernel does not show now what the application writes to trace_marker; `None` if it
    /// does.
    pub fn no_marks(&self) -> Option<&'static str> {
        match self.engine.recorder.has_marks {
            true => self.engine.recorder.marks_off(),
            false => Some(
                "this kernel does not show what programs write to trace_marker (this requires Linux 7.0, 6.19.11 or 6.18.21)",
            ),
        }
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
