//! A GPIO line as a source of events.

use crate::interrupt::{Arrival, Source};
use punctual_gpio::{Edge, Event, GpioError, Line, Tally};
use punctual_units::Nanos;
use rustix::io::Errno;

/// Number of edges read from the kernel at once.
const CHUNK: usize = 16;

/// The edges of a line that was requested with [`Line::edges`] and CLOCK_MONOTONIC. [`Arrival::value`] is 1 for a
/// rising edge and 0 for a falling one.
///
/// Edges that the kernel drops because its queue is full count as lost; they leave a gap in the sequence numbers. An
/// edge that arrives before the kernel's interrupt thread has handled the previous one leaves no gap. If both edges
/// were requested, such an edge shows as the same edge twice and counts as coalesced.
#[derive(Debug)]
pub struct Gpio {
    line: Line,
    both: bool,
    events: [Event; CHUNK],
    next: usize,
    end: usize,
    tally: Tally,
}

impl Gpio {
    /// Wraps a requested line; `both` is true if both edges were requested.
    pub fn new(line: Line, both: bool) -> Gpio {
        Gpio { line, both, events: [Event::default(); CHUNK], next: 0, end: 0, tally: Tally::default() }
    }

    fn fetch(&mut self) -> Result<(), Errno> {
        let count = self.line.read_until_signal(&mut self.events).map_err(|error| match error {
            GpioError::Removed { .. } => Errno::NODEV,
            _ => Errno::IO,
        })?;
        (self.next, self.end) = (0, count);
        if count == 0 { Err(Errno::INTR) } else { Ok(()) }
    }
}

impl Source for Gpio {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        if self.next == self.end {
            self.fetch()?;
        }
        let Some(event) = self.events.get(self.next).copied() else { return Err(Errno::IO) };
        self.next += 1;
        Ok(account(&mut self.tally, &event, self.both))
    }
}

/// Converts an edge to an arrival, which includes the number of events lost or coalesced before it.
fn account(tally: &mut Tally, event: &Event, both: bool) -> Arrival {
    let before = *tally;
    tally.add(event);
    let repeated = tally.repeated - before.repeated;
    Arrival {
        at: Some(Nanos(event.timestamp_ns)),
        events: 1 + if both { repeated } else { 0 },
        lost: tally.dropped - before.dropped,
        value: u64::from(event.edge == Edge::Rising),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_lost_and_repeats_coalesced() {
        let mut tally = Tally::default();
        let mut edge = |line_seqno, edge, both| {
            let event = Event { line_seqno, seqno: line_seqno, edge, timestamp_ns: 7, offset: 0 };
            let arrival = account(&mut tally, &event, both);
            (arrival.events, arrival.lost, arrival.value)
        };
        assert_eq!(edge(1, Edge::Rising, true), (1, 0, 1));
        assert_eq!(edge(2, Edge::Falling, true), (1, 0, 0));
        assert_eq!(edge(3, Edge::Falling, true), (2, 0, 0));
        assert_eq!(edge(9, Edge::Falling, true), (1, 5, 0));
        assert_eq!(edge(10, Edge::Falling, false), (1, 0, 0));
    }
}
