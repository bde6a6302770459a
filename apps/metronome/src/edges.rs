use punctual_gpio::{self as gpio, EventClock, GpioError, Line, MAX_BUFFERED, Tally};
use punctual_rt::Receiver;
use punctual_units::Nanos;
use punctual_wires::{EdgeAt, Place};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Time of the edge on CLOCK_MONOTONIC: taken by the kernel in the hard interrupt handler or, for a wire in memory,
    /// when the wire was driven.
    pub at: Nanos,
    pub level: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Number of edges dropped because they were not read in time.
    pub dropped: u64,
}

#[derive(Debug)]
pub enum EdgeSource {
    Line(Box<Line>, Tally),
    Wire(Receiver<EdgeAt>),
}

impl EdgeSource {
    /// Requests a line for its edges, with the largest buffer that the kernel allows.
    ///
    /// # Errors
    /// The line does not exist, is not accessible, is in use or raises no interrupts, or `place` cannot report edges.
    pub fn open(place: &Place) -> Result<EdgeSource, GpioError> {
        let none = || GpioError::Usage(format!("{place} reports no edges: listen on a GPIO line"));
        let (chip, offset) = place.open()?.ok_or_else(none)?;
        let line = Line::edges(&chip, offset, gpio::Edges::Both, MAX_BUFFERED, EventClock::Monotonic)?;
        Ok(EdgeSource::Line(Box::new(line), Tally::default()))
    }

    /// Passes pending edges to `each`. Waits at most `limit` for the first one.
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

    pub fn lost(&self) -> Lost {
        match self {
            EdgeSource::Line(_, tally) => Lost { dropped: tally.dropped },
            EdgeSource::Wire(edges) => Lost { dropped: edges.counts().dropped },
        }
    }
}
