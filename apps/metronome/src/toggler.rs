use punctual_rt::{Cycle, Next, Sender, monotonic};
use punctual_units::Nanos;
use punctual_wires::{GpioError, Out};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Number of the beat, counted from 0 over all measurements of a run of the program.
    pub number: u64,
    /// Scheduled time, CLOCK_MONOTONIC.
    pub scheduled: Nanos,
    /// Clock reading (CLOCK_MONOTONIC) just before the line was driven; the edge is never earlier.
    pub before: Nanos,
    pub level: bool,
}

#[derive(Debug)]
pub struct Toggler {
    out: Out,
    level: bool,
    number: u64,
    beats: Sender<Beat>,
    failure: Arc<Mutex<Option<GpioError>>>,
}

impl Toggler {
    /// Creates a toggler for a line that is low. Each beat is sent before the line changes, so that the listener has it
    /// before its edge.
    pub fn new(out: Out, beats: Sender<Beat>) -> Toggler {
        Toggler { out, level: false, number: 0, beats, failure: Arc::default() }
    }

    /// Returns a shared reference to the error that ended the toggler, if any.
    pub fn failure(&self) -> Arc<Mutex<Option<GpioError>>> {
        self.failure.clone()
    }

    pub fn beat(&mut self, cycle: &Cycle) -> Next {
        self.level = !self.level;
        let beat = Beat { number: self.number, scheduled: cycle.scheduled, before: monotonic(), level: self.level };
        self.number += 1;
        // A full queue drops and counts the beat.
        let _ = self.beats.send(beat);
        match self.out.set(self.level) {
            Ok(()) => Next::Continue,
            Err(error) => {
                // This is the last thing the task does, so it may lock and free memory.
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Next::Stop
            }
        }
    }

    pub fn beats(&self) -> u64 {
        self.number
    }

    pub fn unreported(&self) -> u64 {
        self.beats.counts().dropped
    }

    /// Drives the line low.
    ///
    /// # Errors
    /// The line cannot be driven.
    pub fn rest(&mut self) -> Result<(), GpioError> {
        self.level = false;
        self.out.set(false)
    }
}
