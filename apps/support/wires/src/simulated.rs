//! A wire in memory: what one end drives the other reads, and every edge is kept with its time.

use crate::{In, Out};
use punctual_rt::{CapacityError, Nanos, Overflow, Receiver, Sender, monotonic, queue};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// An edge of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeAt {
    /// When it was driven, CLOCK_MONOTONIC.
    pub at: Nanos,
    /// The level from then on.
    pub level: bool,
}

/// The driven end.
#[derive(Debug)]
pub struct SimOut {
    level: Arc<AtomicBool>,
    edges: Sender<EdgeAt>,
}

impl SimOut {
    pub(crate) fn set(&mut self, level: bool) {
        if self.level.swap(level, Release) != level {
            // With DropNewest it refuses nothing, and counts what finds no room.
            let _ = self.edges.send(EdgeAt { at: monotonic(), level });
        }
    }
}

/// The sampled end.
#[derive(Debug)]
pub struct SimIn {
    level: Arc<AtomicBool>,
}

impl SimIn {
    pub(crate) fn value(&self) -> bool {
        self.level.load(Acquire)
    }
}

/// A wire, low at first: its driven end, its sampled end, and its edges, of which `capacity` wait for their reader; those that find no
/// room are dropped, and its counts tell how many.
///
/// # Errors
/// A capacity of 0.
pub fn wire(capacity: usize) -> Result<(Out, In, Receiver<EdgeAt>), CapacityError> {
    let (sender, edges) = queue(capacity, Overflow::DropNewest)?;
    let level = Arc::new(AtomicBool::new(false));
    let out = Out::Simulated(SimOut { level: level.clone(), edges: sender });
    Ok((out, In::Simulated(SimIn { level }), edges))
}
