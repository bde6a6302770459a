//! The task's body: the line changes at every release.

use punctual_rt::{Cycle, Next, Sender, monotonic};
use punctual_units::Nanos;
use punctual_wires::{GpioError, Out};
use std::sync::{Arc, Mutex, PoisonError};

/// One change of the line, as the task made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Its number, from 0 on, over all measurements of the program.
    pub number: u64,
    /// When it should have been, CLOCK_MONOTONIC.
    pub scheduled: Nanos,
    /// When the line was about to be driven, CLOCK_MONOTONIC: its edge is not earlier.
    pub before: Nanos,
    /// The level from then on.
    pub level: bool,
}

/// Drives a line up and down.
#[derive(Debug)]
pub struct Toggler {
    out: Out,
    level: bool,
    number: u64,
    beats: Sender<Beat>,
    failure: Arc<Mutex<Option<GpioError>>>,
}

impl Toggler {
    /// Of a line that is low. Each beat is sent before the line changes, so that whoever has seen an edge has its beat.
    pub fn new(out: Out, beats: Sender<Beat>) -> Toggler {
        Toggler { out, level: false, number: 0, beats, failure: Arc::default() }
    }

    /// Where it leaves the error that ended it.
    pub fn failure(&self) -> Arc<Mutex<Option<GpioError>>> {
        self.failure.clone()
    }

    /// One change. For the body of a periodic task.
    pub fn beat(&mut self, cycle: &Cycle) -> Next {
        self.level = !self.level;
        let beat = Beat { number: self.number, scheduled: cycle.scheduled, before: monotonic(), level: self.level };
        self.number += 1;
        // A full queue drops and counts it.
        let _ = self.beats.send(beat);
        match self.out.set(self.level) {
            Ok(()) => Next::Continue,
            Err(error) => {
                // The last thing it does: it may lock and free.
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Next::Stop
            }
        }
    }

    /// How many changes were made so far.
    pub fn beats(&self) -> u64 {
        self.number
    }

    /// Beats that found no room in the queue.
    pub fn untold(&self) -> u64 {
        self.beats.counts().dropped
    }

    /// Leaves the line low.
    ///
    /// # Errors
    /// The line cannot be driven any more.
    pub fn rest(&mut self) -> Result<(), GpioError> {
        self.level = false;
        self.out.set(false)
    }
}
