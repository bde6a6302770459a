//! Passes gaps from the thread that detects them to the thread that explains them. It has one writer, one reader and no
//! lock.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Number of slots, sufficient for a gap every 50 µs if the ring is read five times a second.
const SLOTS: usize = 4096;

/// Start and length of each gap, ns. If the ring is full, further gaps are dropped and counted.
#[repr(C)]
pub(crate) struct Ring {
    head: AtomicU64,
    tail: AtomicU64,
    lost: AtomicU64,
    slots: [[AtomicU64; 2]; SLOTS],
}

impl Ring {
    pub fn new() -> Ring {
        let zero = || AtomicU64::new(0);
        let slots = [const { [const { AtomicU64::new(0) }; 2] }; SLOTS];
        Ring { head: zero(), tail: zero(), lost: zero(), slots }
    }

    /// Writes to every page, so that the ring is resident even if its memory may not be locked.
    pub fn touch(&self) {
        self.slots.iter().flatten().for_each(|word| word.store(word.load(Relaxed), Relaxed));
    }

    /// Adds a gap. Only the writer may call this.
    pub fn put(&self, start: u64, length: u64) {
        let head = self.head.load(Relaxed);
        if head - self.tail.load(Acquire) >= SLOTS as u64 {
            return self.lost.store(self.lost.load(Relaxed) + 1, Relaxed);
        }
        let slot = &self.slots[head as usize % SLOTS];
        slot[0].store(start, Relaxed);
        slot[1].store(length, Relaxed);
        self.head.store(head + 1, Release);
    }

    /// Calls `each` with every gap and frees its slot. Only the reader may call this.
    pub fn take(&self, mut each: impl FnMut(u64, u64)) {
        let head = self.head.load(Acquire);
        for at in self.tail.load(Relaxed)..head {
            let slot = &self.slots[at as usize % SLOTS];
            each(slot[0].load(Relaxed), slot[1].load(Relaxed));
        }
        self.tail.store(head, Release);
    }

    /// Returns the number of dropped gaps.
    pub fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn every_pair_arrives_in_order_or_is_counted() {
        let ring = Arc::new(Ring::new());
        ring.touch();
        let writer = Arc::clone(&ring);
        let thread = std::thread::spawn(move || (1..=100_000).for_each(|n| writer.put(n, 2 * n)));
        let (mut got, mut last) = (0, 0);
        let mut ended = false;
        while !ended {
            ended = thread.is_finished();
            ring.take(|start, length| {
                assert!(start > last && length == 2 * start);
                (got, last) = (got + 1, start);
            });
        }
        assert_eq!(got + ring.lost(), 100_000);
    }
}
