use crate::train::Reason;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counters of one line. Only one thread may write them.
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub samples: u64,
    /// Samples that could not be taken, because reading the line failed, or the loop was preempted for more than 2 ms
    /// during the read.
    pub unread: u64,
    pub digits: u64,
    /// Pulse trains that yielded no digit, by reason, in the order of [`Reason::ALL`].
    pub rejected: [u64; Reason::ALL.len()],
    /// Number of times that samples were missing while the dial was at rest, so that a pulse may have been missed.
    pub blind: u64,
    pub lifted: u64,
    pub hung_up: u64,
    pub commands: u64,
    pub unknown: u64,
    /// Numbers that were started but not completed: the caller hung up or paused, or a digit was rejected.
    pub dropped: u64,
}

/// Adds one, without an atomic read-modify-write instruction. The caller must be the only writer.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

impl LineCounts {
    pub(crate) fn reject(&self, reason: Reason) {
        if let Some(counter) = self.rejected.get(reason as usize) {
            count(counter);
        }
    }

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
