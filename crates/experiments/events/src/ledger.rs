//! Accounts for events by their sequence numbers. All functions are pure.

use punctual_model::EventCounts;
use punctual_units::{BINS, Histogram, Nanos, bin_index};

/// What happened to each event of one source: received alone, received together with another event, lost, …
///
/// Events are numbered from 0 in the order in which they are sent. The receiver reports arrivals and lateness; the
/// number of events sent is given at the end. Memory is allocated only when the ledger is created, so a real-time
/// thread may own one.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Events that arrived, alone or together with others; one bit per event.
    seen: Vec<u64>,
    /// Events that arrived together with an earlier one.
    merged: Vec<u64>,
    capacity: u64,
    deadline: u64,
    /// Highest event number that has arrived, plus one.
    next: u64,
    overflowed: u64,
    doubled: u64,
    late: u64,
    reordered: u64,
    strays: u64,
    bins: Vec<u64>,
    min: u64,
    max: u64,
    sum: u128,
}

impl Ledger {
    /// Creates a ledger for at most `capacity` events. An event received more than `deadline` after it was sent is
    /// late. Allocates 2 bits per event plus 15 KiB, and writes to all of this memory.
    pub fn new(capacity: u64, deadline: Nanos) -> Ledger {
        let words = usize::try_from(capacity.div_ceil(64)).unwrap_or(usize::MAX);
        // The pages of `vec![0; n]` would not be mapped until they are written.
        let written = |words: usize| {
            let mut all = vec![u64::MAX; words];
            all.iter_mut().for_each(|word| *std::hint::black_box(word) = 0);
            all
        };
        Ledger {
            seen: written(words),
            merged: written(words),
            capacity,
            deadline: deadline.0,
            next: 0,
            overflowed: 0,
            doubled: 0,
            late: 0,
            reordered: 0,
            strays: 0,
            bins: written(BINS),
            min: u64::MAX,
            max: 0,
            sum: 0,
        }
    }

    /// Records that event `number` arrived alone, and its lateness.
    #[inline]
    pub fn arrived(&mut self, number: u64, lateness: Nanos) {
        self.one(number, lateness.0, false);
    }

    /// Records that `count` events arrived together, the first of which is `first`. `lateness` returns the lateness of
    /// each event.
    #[inline]
    pub fn arrived_together(&mut self, first: u64, count: u64, lateness: impl Fn(u64) -> Nanos) {
        let end = first.saturating_add(count).min(self.capacity.max(first));
        for number in first..end {
            self.one(number, lateness(number).0, number > first);
        }
        self.strays = self.strays.saturating_add(count - (end - first));
    }

    /// Like [`Ledger::arrived_together`], for a source that only counts: records the next `count` events.
    #[inline]
    pub fn counted(&mut self, count: u64, lateness: impl Fn(u64) -> Nanos) {
        self.arrived_together(self.next, count, lateness);
    }

    /// Records that the source refused or dropped this many events.
    pub fn overflowed(&mut self, events: u64) {
        self.overflowed += events;
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    fn one(&mut self, number: u64, lateness: u64, merged: bool) {
        let Some(seen) = usize::try_from(number / 64).ok().filter(|_| number < self.capacity) else {
            self.strays = self.strays.saturating_add(1);
            return;
        };
        let bit = 1 << (number % 64);
        let word = &mut self.seen[seen];
        if *word & bit != 0 {
            self.doubled += 1;
            return;
        }
        *word |= bit;
        if merged {
            self.merged[seen] |= bit;
        }
        if number < self.next {
            self.reordered += 1;
        } else {
            self.next = number + 1;
        }
        self.late += u64::from(lateness > self.deadline);
        self.bins[bin_index(lateness)] += 1;
        self.min = self.min.min(lateness);
        self.max = self.max.max(lateness);
        self.sum += u128::from(lateness);
    }

    /// Ends the accounting. Returns the counts of the `sent` events, and the lateness of those that arrived.
    ///
    /// Arrivals with numbers beyond `sent` count as strays, but their lateness is included.
    pub fn close(self, sent: u64) -> (EventCounts, Histogram) {
        let arrived = ones(&self.seen, sent);
        let coalesced = ones(&self.merged, sent);
        let unsent = ones(&self.seen, self.capacity) - arrived;
        let missing = sent - arrived;
        let overflowed = self.overflowed.min(missing);
        let counts = EventCounts {
            sent,
            received: arrived - coalesced,
            coalesced,
            overflowed,
            lost: missing - overflowed,
            doubled: self.doubled,
            late: self.late,
            reordered: self.reordered,
            strays: self.strays.saturating_add(unsent),
        };
        (counts, Histogram::from_bins(self.bins, self.min, self.max, self.sum))
    }
}

/// Returns the number of bits set among the first `end` bits.
fn ones(words: &[u64], end: u64) -> u64 {
    let part = |(at, word): (usize, &u64)| {
        let bits = end.saturating_sub(at as u64 * 64).min(64);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        u64::from((word & mask).count_ones())
    };
    words.iter().enumerate().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_source_without_numbers_is_counted() {
        let mut ledger = Ledger::new(10, Nanos(5));
        ledger.counted(1, |_| Nanos(3));
        ledger.counted(3, |number| Nanos(8 - number));
        ledger.counted(1, |_| Nanos(1));
        let (counts, lateness) = ledger.close(6);
        let expected = EventCounts { sent: 6, received: 3, coalesced: 2, late: 2, lost: 1, ..EventCounts::default() };
        assert_eq!(counts, expected);
        assert_eq!((lateness.count(), lateness.min(), lateness.max()), (5, Some(1), Some(7)));
    }

    #[test]
    fn more_than_was_sent_are_strays() {
        let mut ledger = Ledger::new(4, Nanos(5));
        ledger.counted(3, |_| Nanos(0));
        ledger.counted(1000, |_| Nanos(0));
        ledger.arrived(u64::MAX, Nanos(0));
        let (counts, _) = ledger.close(2);
        assert_eq!((counts.received, counts.coalesced, counts.lost), (1, 1, 0));
        assert_eq!(counts.strays, 2 + 999 + 1);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Alone(u64, u64),
        Together(u64, u64, u64),
        Overflow(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0u64..150, 0u64..40).prop_map(|(n, late)| Step::Alone(n, late)),
            2 => (0u64..150, 1u64..6, 0u64..40).prop_map(|(n, count, late)| Step::Together(n, count, late)),
            1 => (0u64..4).prop_map(Step::Overflow),
        ]
    }

    proptest! {
        /// The counts equal those from a plain list of arrivals, and every event sent is counted once.
        #[test]
        fn it_agrees_with_a_plain_list(steps in proptest::collection::vec(step(), 0..200), sent in 0u64..=140) {
            let (capacity, deadline) = (140, 20);
            let mut ledger = Ledger::new(capacity, Nanos(deadline));
            let (mut first, mut expected) = (BTreeMap::new(), EventCounts { sent, ..EventCounts::default() });
            let mut reported = 0;
            for step in steps {
                let (from, count, late) = match step {
                    Step::Alone(n, late) => { ledger.arrived(n, Nanos(late)); (n, 1, late) }
                    Step::Together(n, count, late) => {
                        ledger.arrived_together(n, count, |_| Nanos(late));
                        (n, count, late)
                    }
                    Step::Overflow(n) => { ledger.overflowed(n); reported += n; continue }
                };
                for n in from..from + count {
                    if n >= capacity {
                        expected.strays += 1;
                    } else if first.contains_key(&n) {
                        expected.doubled += 1;
                    } else {
                        expected.reordered += u64::from(first.keys().any(|other| *other > n));
                        expected.late += u64::from(late > deadline);
                        first.insert(n, n > from);
                    }
                }
            }
            let merged = |wanted: bool| first.iter().filter(|(n, m)| **n < sent && **m == wanted).count() as u64;
            (expected.received, expected.coalesced) = (merged(false), merged(true));
            expected.strays += first.keys().filter(|n| **n >= sent).count() as u64;
            let missing = sent - expected.received - expected.coalesced;
            expected.overflowed = missing.min(reported);
            expected.lost = missing - expected.overflowed;
            let (counts, lateness) = ledger.close(sent);
            prop_assert_eq!(counts, expected);
            prop_assert_eq!(lateness.count(), first.len() as u64);
        }
    }
}
