//! Accounts for edges by sequence number and direction.

use crate::event::{Edge, Event};

/// Counts the events of one line since its request, in the order in which they are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of events read.
    pub received: u64,
    /// Number of events dropped from the kernel's full queue, known from gaps in `line_seqno`. Events dropped after the
    /// last one read are not yet known.
    pub dropped: u64,
    /// Number of repetitions of the same edge without a gap. If both edges were requested, each repetition means that
    /// an edge in between was coalesced; otherwise a repetition has no meaning.
    pub repeated: u64,
    /// Sequence number and direction of the last event.
    last: Option<(u32, Edge)>,
}

impl Tally {
    /// Accounts for one event.
    pub fn add(&mut self, event: &Event) {
        let before = self.last.map_or(0, |(number, _)| number);
        // Wraps at 2³²; the kernel only increments by one.
        let missing = event.line_seqno.wrapping_sub(before).wrapping_sub(1);
        if missing == 0 && self.last.is_some_and(|(_, edge)| edge == event.edge) {
            self.repeated += 1;
        }
        self.received += 1;
        self.dropped += u64::from(missing);
        self.last = Some((event.line_seqno, event.edge));
    }

    /// Returns how many of the `sent` edges left neither an event nor a gap; `None` if more events were received than
    /// sent.
    pub fn coalesced(&self, sent: u64) -> Option<u64> {
        sent.checked_sub(self.received.checked_add(self.dropped)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(line_seqno: u32, edge: Edge) -> Event {
        Event { line_seqno, seqno: line_seqno, edge, ..Event::default() }
    }

    proptest! {
        /// For a queue of any length that drops its oldest event and is emptied at any time, every lost event is
        /// counted.
        #[test]
        fn every_edge_is_accounted_for(
            steps in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..300),
            room in 1usize..20,
            first in prop_oneof![Just(0u32), Just(u32::MAX - 5)],
        ) {
            let (mut queue, mut tally) = (std::collections::VecDeque::new(), Tally::default());
            if first != 0 {
                tally.last = Some((first, Edge::Falling));
            }
            let (mut sent, mut coalesced, mut number) = (0u64, 0u64, first);
            for (merges, reads) in steps {
                sent += 1;
                if merges {
                    coalesced += 1;
                } else {
                    number = number.wrapping_add(1);
                    if queue.len() == room {
                        queue.pop_front();
                    }
                    queue.push_back(event(number, Edge::Rising));
                }
                if reads {
                    queue.drain(..).for_each(|e| tally.add(&e));
                }
            }
            queue.drain(..).for_each(|e| tally.add(&e));
            prop_assert_eq!(tally.received + tally.dropped, sent - coalesced);
            prop_assert_eq!(tally.coalesced(sent), Some(coalesced));
        }
    }

    #[test]
    fn a_repeated_edge_without_a_gap_is_reported() {
        let mut tally = Tally::default();
        for (number, edge) in [(1, Edge::Rising), (2, Edge::Rising), (3, Edge::Falling), (5, Edge::Falling)] {
            tally.add(&event(number, edge));
        }
        assert_eq!((tally.received, tally.dropped, tally.repeated), (4, 1, 1));
        assert_eq!((tally.coalesced(5), tally.coalesced(4), tally.coalesced(7)), (Some(0), None, Some(2)));
    }
}
