//! A trace read into memory, to be iterated several times.

use crate::{Event, Source, TraceInfo};

/// All events of a trace (about 150 bytes each) and its [`TraceInfo`].
#[derive(Clone, Debug)]
pub struct Kept {
    events: Vec<Event>,
    info: TraceInfo,
}

impl Kept {
    /// Reads a trace; `None` if there are more than `most` events.
    pub fn read(source: &mut dyn Source, most: usize) -> Option<Kept> {
        let events: Vec<Event> = std::iter::from_fn(|| source.next()).take(most).collect();
        let is_whole = source.next().is_none();
        is_whole.then(|| Kept { events, info: source.info().clone() })
    }

    pub fn again(&self) -> impl Source + '_ {
        Again { events: self.events.iter(), info: &self.info }
    }
}

struct Again<'a> {
    events: std::slice::Iter<'a, Event>,
    info: &'a TraceInfo,
}

impl Iterator for Again<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.next().cloned()
    }
}

impl Source for Again<'_> {
    fn info(&self) -> &TraceInfo {
        self.info
    }
}
