//! A simulated line: one end is driven, the other is read, and every edge is recorded with its time.

use crate::{In, Out};
use punctual_rt::{CapacityError, Nanos, Overflow, Receiver, Sender, monotonic, queue};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeAt {
    /// Time at which the wire was driven, CLOCK_MONOTONIC.
    pub at: Nanos,
    pub level: bool,
}

#[derive(Debug)]
pub struct SimOut {
    level: Arc<AtomicBool>,
    edges: Sender<EdgeAt>,
}

impl SimOut {
    pub(crate) fn set(&mut self, level: bool) {
        if self.level.swap(level, Release) != level {
            // DropNewest never fails; it counts edges that do not fit.
            let _ = self.edges.send(EdgeAt { at: monotonic(), level });
        }
    }
}

#[derive(Debug)]
pub struct SimIn {
    level: Arc<AtomicBool>,
}

impl SimIn {
    pub(crate) fn value(&self) -> bool {
        self.level.load(Acquire)
    }
}

/// Creates a wire that is initially low. Returns its driven end, its sampled end, and its edges. At most `capacity`
/// edges wait for their reader; further edges are dropped and counted.
///
/// # Errors
/// `capacity` is 0.
pub fn wire(capacity: usize) -> Result<(Out, In, Receiver<EdgeAt>), CapacityError> {
    let (sender, edges) = queue(capacity, Overflow::DropNewest)?;
    let level = Arc::new(AtomicBool::new(false));
    let out = Out::Simulated(SimOut { level: level.clone(), edges: sender });
    Ok((out, In::Simulated(SimIn { level }), edges))
}
