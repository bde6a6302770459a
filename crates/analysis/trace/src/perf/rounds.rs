//! Orders events: perf writes the events of each CPU in turn, and marks the end of each round.

use crate::event::Event;
use std::collections::VecDeque;

/// Maximum number of events kept in memory for ordering, which take about 32 MiB.
const HELD: usize = 1 << 18;

/// Events of the last two rounds. Whatever follows the end of a round is not older than the newest event of the
/// preceding round (tools/perf/util/ordered-events.c).
#[derive(Default)]
pub(super) struct Rounds {
    held: VecDeque<(u64, Event)>,
    /// Number of events ready to be released; if it is not 0, `held` is sorted.
    ready: usize,
    arrived: u64,
    newest: u64,
    /// Newest event of the preceding round.
    before: u64,
}

impl Rounds {
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.ready = self.ready.checked_sub(1)?;
        self.held.pop_front().map(|(_, event)| event)
    }

    /// Adds an event. Returns `false` if the round has too many events, so that the older half is released before its
    /// end.
    pub(super) fn push(&mut self, event: Event) -> bool {
        self.newest = self.newest.max(event.t_ns);
        self.held.push_back((self.arrived, event));
        self.arrived += 1;
        if self.held.len() < HELD {
            return true;
        }
        self.sort();
        self.ready = HELD / 2;
        false
    }

    pub(super) fn round(&mut self) {
        self.sort();
        self.ready = self.held.partition_point(|(_, event)| event.t_ns <= self.before);
        self.before = self.newest;
    }

    /// Ends the input; returns `false` if there was no event.
    pub(super) fn end(&mut self) -> bool {
        self.sort();
        self.ready = self.held.len();
        self.ready > 0
    }

    fn sort(&mut self) {
        self.held.make_contiguous().sort_unstable_by_key(|(arrived, event)| (event.t_ns, *arrived));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::restart;

    fn times(rounds: &mut Rounds) -> Vec<u64> {
        std::iter::from_fn(|| rounds.pop()).map(|event| event.t_ns).collect()
    }

    #[test]
    fn two_rounds_are_held() {
        let mut rounds = Rounds::default();
        [5, 9, 2, 7].map(restart).into_iter().for_each(|e| assert!(rounds.push(e)));
        rounds.round();
        assert!(times(&mut rounds).is_empty());
        [12, 8, 15].map(restart).into_iter().for_each(|e| assert!(rounds.push(e)));
        rounds.round();
        assert_eq!(times(&mut rounds), [2, 5, 7, 8, 9]);
        assert!(rounds.end());
        assert_eq!(times(&mut rounds), [12, 15]);
        assert!(!rounds.end());
    }

    #[test]
    fn a_round_without_an_end_is_cut() {
        let mut rounds = Rounds::default();
        let most = HELD as u64;
        assert!((1..most).all(|t| rounds.push(restart(most - t))));
        assert!(!rounds.push(restart(most)));
        assert_eq!(times(&mut rounds).len(), HELD / 2);
        assert_eq!(rounds.held.len(), HELD / 2);
    }
}
