//! What a line has seen: written by the real-time loop, read by whoever reports.

use crate::train::Reason;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counters of one line, with one writer.
#[derive(Debug, Default)]
pub struct LineCounts {
    pub(crate) samples: AtomicU64,
    pub(crate) unread: AtomicU64,
    pub(crate) digits: AtomicU64,
    pub(crate) rejected: [AtomicU64; Reason::ALL.len()],
    pub(crate) blind: AtomicU64,
    pub(crate) lifted: AtomicU64,
    pub(crate) hung_up: AtomicU64,
    pub(crate) commands: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// Them, at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples taken.
    pub samples: u64,
    /// Samples that could not be taken: the line gave an error, or the loop was preempted for 2 ms while it read it.
    pub unread: u64,
    /// Digits decoded.
    pub digits: u64,
    /// Pulse trains that gave no digit, in the order of [`Reason::ALL`].
    pub rejected: [u64; Reason::ALL.len()],
    /// Times that samples were missing while the dial rested, so that a pulse may have been overlooked.
    pub blind: u64,
    /// Times the handset was lifted.
    pub lifted: u64,
    /// Times it was hung up.
    pub hung_up: u64,
    /// Numbers that stand for a command.
    pub commands: u64,
    /// Numbers that do not.
    pub unknown: u64,
    /// Numbers begun and not ended: hung up, paused, or with a rejected digit.
    pub dropped: u64,
}

/// Adds one as the only writer: no locked instruction.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

impl LineCounts {
    /// Adds a rejected train.
    pub(crate) fn reject(&self, reason: Reason) {
        if let Some(counter) = self.rejected.get(reason as usize) {
            count(counter);
        }
    }

    /// All counters now.
    pub fn now(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        Counts {
            samples: get(&self.samples),
            unread: get(&self.unread),
            digits: get(&self.digits),
            rejected: self.rejected.each_ref().map(get),
            blind: get(&self.blind),
            lifted: get(&self.lifted),
            hung_up: get(&self.hung_up),
            commands: get(&self.commands),
            unknown: get(&self.unknown),
            dropped: get(&self.dropped),
        }
    }
}
