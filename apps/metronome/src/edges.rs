//! Where edges come from: a line of the kernel, or the wire in memory.

use punctual_gpio::{self as gpio, EventClock, GpioError, Line, MOST_BUFFERED, Tally};
use punctual_rt::Receiver;
use punctual_units::Nanos;
use punctual_wires::{EdgeAt, Place};

/// An edge that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// When: CLOCK_MONOTONIC, taken by the kernel in the hard interrupt, or where the wire in memory was driven.
    pub at: Nanos,
    /// The level from then on.
    pub level: bool,
}

/// What a source of edges knows to have lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Edges for which there was no room before they were read.
    pub dropped: u64,
}

/// Gives edges in their order.
#[derive(Debug)]
pub enum EdgeSource {
    /// A line requested for both edges.
    Line(Box<Line>, Tally),
    /// A wire in memory.
    Wire(Receiver<EdgeAt>),
}

impl EdgeSource {
    /// Requests a line for its edges, with the largest buffer the kernel has.
    ///
    /// # Errors
    /// No such line, no permission, it is in use, it raises no interrupts; a place that has no edges.
    pub fn open(place: &Place) -> Result<EdgeSource, GpioError> {
        let none = || GpioError::Usage(format!("{place} has no edges of its own: listen on a GPIO line"));
        let (chip, offset) = place.open()?.ok_or_else(none)?;
        let line = Line::edges(&chip, offset, gpio::Edges::Both, MOST_BUFFERED, EventClock::Monotonic)?;
        Ok(EdgeSource::Line(Box::new(line), Tally::default()))
    }

    /// Edges that have come, to `each`; waits for the first at most `limit`.
    ///
    /// # Errors
    /// The chip was removed.
    pub fn read(&mut self, limit: Nanos, mut each: impl FnMut(Edge)) -> Result<(), GpioError> {
        match self {
            EdgeSource::Line(line, tally) => {
                if !line.wait(Some(limit))? {
                    return Ok(());
                }
                let mut events = [gpio::Event::default(); 64];
                let count = line.read(&mut events)?;
                for event in events.iter().take(count) {
                    tally.add(event);
                    each(Edge { at: Nanos(event.timestamp_ns), level: event.edge == gpio::Edge::Rising });
                }
            }
            EdgeSource::Wire(edges) => {
                if edges.waiting() == 0 {
                    std::thread::sleep(limit.min(Nanos::from_millis(5)).into());
                }
                while let Some(EdgeAt { at, level }) = edges.receive() {
                    each(Edge { at, level });
                }
            }
        }
        Ok(())
    }

    /// What it has lost so far.
    pub fn lost(&self) -> Lost {
        match self {
            EdgeSource::Line(_, tally) => Lost { dropped: tally.dropped },
            EdgeSource::Wire(edges) => Lost { dropped: edges.counts().dropped },
        }
    }
}
