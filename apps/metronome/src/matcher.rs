use crate::edges::Edge;
use crate::toggler::Beat;
use punctual_units::{Histogram, Nanos};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    pub seen: u64,
    /// Beats without an edge: the edge was dropped before it was read, or coalesced with another, or the line is not
    /// connected.
    pub unseen: u64,
    /// Edges without a beat: contact bounce, noise, or a beat that was not reported.
    pub strays: u64,
    /// Time from the scheduled beat to its edge, ns.
    pub latency: Histogram,
    /// The edge with the largest latency: its scheduled time, and the latency.
    pub worst: Option<(Nanos, Nanos)>,
}

/// Matches beats with edges. Both must be added in order, and a beat must be added before the edges that follow it.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    /// The beat to which the next edge may belong, followed by the later beats. The flag is true once the beat's edge
    /// has been seen.
    beats: VecDeque<(Beat, bool)>,
    counts: EdgeCounts,
}

impl Matcher {
    pub fn beat(&mut self, beat: Beat) {
        self.beats.push_back((beat, false));
    }

    /// Matches an edge with the last beat that is not later than the edge, if their levels agree.
    pub fn edge(&mut self, edge: Edge) {
        while self.beats.get(1).is_some_and(|(next, _)| next.before <= edge.at) {
            self.leave();
        }
        match self.beats.front_mut() {
            Some((beat, seen)) if beat.before <= edge.at && beat.level == edge.level && !*seen => {
                *seen = true;
                let late = edge.at.saturating_sub(beat.scheduled);
                self.counts.seen += 1;
                self.counts.latency.record(late.0);
                if self.counts.worst.is_none_or(|(_, worst)| late > worst) {
                    self.counts.worst = Some((beat.scheduled, late));
                }
            }
            _ => self.counts.strays += 1,
        }
    }

    /// Removes the first beat, to which no later edge can belong, and counts it as unseen if it had no edge.
    fn leave(&mut self) {
        if let Some((_, false)) = self.beats.pop_front() {
            self.counts.unseen += 1;
        }
    }

    /// Returns the counts and resets the matcher for the next measurement.
    pub fn end(&mut self) -> EdgeCounts {
        while !self.beats.is_empty() {
            self.leave();
        }
        std::mem::take(&mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: u64 = 360_000;

    fn beat(number: u64, late: u64) -> Beat {
        let scheduled = Nanos((number + 1) * PERIOD);
        Beat { number, scheduled, before: scheduled + Nanos(late), level: number.is_multiple_of(2) }
    }

    proptest! {
        /// If some edges are lost, some are late, and beats come in bursts, each beat is still counted as seen or
        /// unseen, and each seen beat has its own latency.
        #[test]
        fn every_beat_is_accounted_for(
            beats in proptest::collection::vec((0u64..150_000, 0u64..150_000, any::<bool>()), 0..200),
            burst in 1usize..20,
        ) {
            let mut matcher = Matcher::default();
            let (mut latency, mut waiting) = (Histogram::new(), Vec::new());
            for (number, (late, later, lost)) in beats.iter().enumerate() {
                let beat = beat(number as u64, *late);
                matcher.beat(beat);
                if !lost {
                    latency.record(late + later);
                    waiting.push(Edge { at: beat.before + Nanos(*later), level: beat.level });
                }
                if waiting.len() >= burst {
                    waiting.drain(..).for_each(|edge| matcher.edge(edge));
                }
            }
            waiting.drain(..).for_each(|edge| matcher.edge(edge));
            let counts = matcher.end();
            prop_assert_eq!(counts.seen + counts.unseen, beats.len() as u64);
            prop_assert_eq!((counts.strays, &counts.latency), (0, &latency));
            prop_assert_eq!(counts.worst.map(|(_, late)| late.0), latency.max());
            prop_assert_eq!(matcher.end(), EdgeCounts::default());
        }
    }

    #[test]
    fn edges_nobody_made_are_strays() {
        let mut matcher = Matcher::default();
        let edge = |at, level| Edge { at: Nanos(at), level };
        matcher.edge(edge(5, true));
        matcher.beat(beat(0, 0));
        // One before its beat, one with the wrong level, the correct one, and a duplicate.
        for (at, level) in [(PERIOD - 1, true), (PERIOD + 1, false), (PERIOD + 2, true), (PERIOD + 3, true)] {
            matcher.edge(edge(at, level));
        }
        let counts = matcher.end();
        assert_eq!((counts.seen, counts.unseen, counts.strays), (1, 0, 4));
        assert_eq!(counts.worst, Some((Nanos(PERIOD), Nanos(2))));
    }
}
