use super::{Tracer, Watch, Watched};
use crate::error::ProofError;
use crate::options::{Options, When};
use punctual_directory::Dir;
use punctual_measure::Bell;
use punctual_model::{Capture, PhaseTrace, Tracing};
use punctual_rt::monotonic;
use punctual_units::Nanos;

/// Minimum length of a warm-up during which tracing starts. Shorter warm-ups are extended.
pub(crate) const HIDING: Nanos = Nanos::from_millis(500);

pub(crate) enum State {
    Off,
    /// Tracing is requested but not started.
    Wanted(Bell, Dir),
    On(Box<Tracer>),
    Refused(String),
}

impl State {
    pub fn new(options: &Options, dir: &Dir) -> State {
        match (options.trace.when, Bell::new()) {
            (When::Never, _) => State::Off,
            (_, Ok(bell)) => State::Wanted(bell, dir.clone()),
            (_, Err(e)) => State::Refused(format!("no eventfd: {e}")),
        }
    }

    pub fn bell(&self) -> Option<Bell> {
        match self {
            State::Wanted(bell, _) => Some(bell.clone()),
            State::On(tracer) => Some(tracer.bell.clone()),
            State::Off | State::Refused(_) => None,
        }
    }

    pub fn wanted(&self) -> bool {
        matches!(self, State::Wanted(..))
    }

    /// Starts tracing if it is requested and not yet running. `recording_from` is the time at which it should be ready.
    /// Returns a note for the report, if any.
    ///
    /// # Errors
    /// Tracing cannot start, and the user requires it.
    pub fn start(&mut self, options: &Options, recording_from: Option<Nanos>) -> Result<Option<String>, ProofError> {
        let State::Wanted(bell, dir) = self else { return Ok(None) };
        match Tracer::start(options, dir, bell) {
            Ok(tracer) => *self = State::On(Box::new(tracer)),
            Err(e) if options.trace.when == When::Always => {
                return Err(ProofError::Environment(format!("late wakeups cannot be traced: {e}")));
            }
            Err(e) => *self = State::Refused(e.to_string()),
        }
        let late = recording_from.map(|from| monotonic().saturating_sub(from)).filter(|late| late.0 > 0);
        Ok(late
            .map(|late| format!("enabling the trace disturbed the first {late} of this phase: use a longer --warmup")))
    }

    pub fn watch(&mut self, phase: &str, watched: Vec<Watched>) -> Option<Watch> {
        match std::mem::replace(self, State::Off) {
            State::On(tracer) => {
                let watch = tracer.watch(phase.to_owned(), watched);
                let no_thread = |e| {
                    format!("cannot create a thread for the trace: {e}; see `ulimit -u` and pids.max of the cgroup")
                };
                watch.map_err(|e| *self = State::Refused(no_thread(e))).ok()
            }
            other => {
                *self = other;
                None
            }
        }
    }

    pub fn unwatch(&mut self, watch: Option<Watch>) -> Option<PhaseTrace> {
        match watch?.finish() {
            Some((tracer, result)) => {
                *self = State::On(Box::new(tracer));
                Some(result)
            }
            None => {
                *self = State::Refused("the thread that saved the traces panicked".into());
                None
            }
        }
    }

    /// Returns the saved windows of a phase that has ended, and the directory that contains them.
    pub fn captures(&self, phase: &str) -> Option<(&Dir, Vec<Capture>)> {
        match self {
            State::On(tracer) => Some((&tracer.dir, tracer.captures(phase))),
            State::Off | State::Wanted(..) | State::Refused(_) => None,
        }
    }

    /// Ends tracing. Returns its result, or `None` if tracing was not requested, and a message about errors.
    pub fn end(&mut self) -> (Option<Tracing>, Option<String>) {
        match std::mem::replace(self, State::Off) {
            State::Off => (None, None),
            State::Wanted(..) => (Some(refused("nothing was measured".into())), None),
            State::Refused(why) => (Some(refused(why)), None),
            State::On(tracer) => {
                let (tracing, left) = tracer.end();
                (Some(tracing), left)
            }
        }
    }
}

fn refused(why: String) -> Tracing {
    Tracing { why_not: Some(why), ..Tracing::default() }
}
