//! Edge events in the kernel's format.

use crate::error::GpioError;
use punctual_uapi::gpio::{EDGE_FALLING, EDGE_RISING, EVENT_BYTES, EVENT_CLOCK_REALTIME};

/// Edges that generate events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// Edges from inactive to active.
    Rising,
    /// Edges from active to inactive.
    Falling,
    /// Both edges. To find the direction, the kernel reads the level in the interrupt's thread.
    Both,
}

/// The clock of the time stamps of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventClock {
    /// CLOCK_MONOTONIC.
    #[default]
    Monotonic,
    /// CLOCK_REALTIME (since Linux 5.11).
    Realtime,
}

/// Direction of an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// An edge from inactive to active.
    #[default]
    Rising,
    /// An edge from active to inactive.
    Falling,
}

/// An edge event (struct gpio_v2_line_event).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Time of the hard interrupt, ns on the [`EventClock`]. For coalesced events, the time of the last one.
    pub timestamp_ns: u64,
    /// Direction of the edge.
    pub edge: Edge,
    /// Offset of the line on its chip.
    pub offset: u32,
    /// Sequence number among all lines of the request, from 1.
    pub seqno: u32,
    /// Sequence number on this line, from 1; wraps.
    pub line_seqno: u32,
}

impl Edges {
    pub(crate) fn flags(self) -> u64 {
        match self {
            Edges::Rising => EDGE_RISING,
            Edges::Falling => EDGE_FALLING,
            Edges::Both => EDGE_RISING | EDGE_FALLING,
        }
    }
}

impl EventClock {
    pub(crate) fn flags(self) -> u64 {
        match self {
            EventClock::Monotonic => 0,
            EventClock::Realtime => EVENT_CLOCK_REALTIME,
        }
    }
}

impl Event {
    /// Parses the bytes of read(2).
    ///
    /// # Errors
    /// The edge is neither rising nor falling.
    pub(crate) fn parse(bytes: &[u8; EVENT_BYTES]) -> Result<Event, GpioError> {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&bytes[..8]);
        let edge = match word(8) {
            1 => Edge::Rising,
            2 => Edge::Falling,
            other => return Err(GpioError::Unknown(other)),
        };
        let (offset, seqno, line_seqno) = (word(12), word(16), word(20));
        Ok(Event { timestamp_ns: u64::from_ne_bytes(stamp), edge, offset, seqno, line_seqno })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes an event in the kernel's format.
    pub(crate) fn bytes_of(event: &Event) -> [u8; EVENT_BYTES] {
        let mut bytes = [0; EVENT_BYTES];
        bytes[..8].copy_from_slice(&event.timestamp_ns.to_ne_bytes());
        let id: u32 = if event.edge == Edge::Rising { 1 } else { 2 };
        for (at, word) in [(8, id), (12, event.offset), (16, event.seqno), (20, event.line_seqno)] {
            bytes[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_the_kernel_writes_is_read(timestamp_ns: u64, rising: bool, offset: u32, seqno: u32, line_seqno: u32) {
            let edge = if rising { Edge::Rising } else { Edge::Falling };
            let event = Event { timestamp_ns, edge, offset, seqno, line_seqno };
            prop_assert_eq!(Event::parse(&bytes_of(&event)).unwrap(), event);
        }
    }

    #[test]
    fn an_unknown_edge_is_an_error() {
        for id in [0u32, 3, u32::MAX] {
            let mut bytes = bytes_of(&Event::default());
            bytes[8..12].copy_from_slice(&id.to_ne_bytes());
            assert!(matches!(Event::parse(&bytes), Err(GpioError::Unknown(found)) if found == id));
        }
    }
}
