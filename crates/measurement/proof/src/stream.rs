//! Merges the events of all CPUs in chronological order while they are recorded.

use punctual_rt::monotonic;
use punctual_trace::{Decoder, Event, Kind, Options, Pages, TraceInfo};
use punctual_tracefs::Flight;
use punctual_uapi as uapi;
use punctual_units::Policy;
use std::collections::HashSet;

pub(crate) struct Stream {
    pages: Pages,
    /// Events later than the time up to which all CPUs have been read.
    held: Vec<Event>,
    /// Time up to which all events have been returned, ns.
    pub until_ns: u64,
    pub events: u64,
    asked: HashSet<i32>,
}

impl Stream {
    pub fn new(flight: &Flight) -> Stream {
        Stream::with(flight, Options::default())
    }

    pub fn with(flight: &Flight, options: Options) -> Stream {
        let head = flight.head();
        let mut decoder = Decoder::new(head.layout(), options);
        for format in head.systems.iter().flat_map(|(_, formats)| formats).chain(&head.ftrace) {
            decoder.add_format(format);
        }
        let mut pages = Pages::new(decoder);
        pages.on_clock("mono", head.uname.split(' ').nth(2));
        Stream { pages, held: Vec::new(), until_ns: 0, events: 0, asked: HashSet::new() }
    }

    /// Reads all available pages. Returns the events that occurred before reading began.
    pub fn take(&mut self, flight: &mut Flight) -> std::io::Result<Vec<Event>> {
        let until = monotonic().0;
        let (pages, held) = (&mut self.pages, &mut self.held);
        flight.drain(self.until_ns, until, |cpu, page| pages.page(cpu, page, |event| held.push(event)))?;
        // The events of a CPU are in order; a stable sort keeps the order of events at the same time.
        held.sort_by_key(|event| event.t_ns);
        let ready = held.partition_point(|event| event.t_ns <= until);
        let rest = held.split_off(ready);
        let ready = std::mem::replace(held, rest);
        (self.until_ns, self.events) = (until, self.events + ready.len() as u64);
        Ok(ready)
    }

    pub fn rest(&mut self) -> Vec<Event> {
        let rest = std::mem::take(&mut self.held);
        self.events += rest.len() as u64;
        rest
    }

    pub fn info(&self) -> &TraceInfo {
        self.pages.info()
    }

    /// Returns the policies of the real-time threads that an event names, once per thread. They are read from the
    /// running threads, because a trace does not distinguish FIFO from RR.
    pub fn policies(&mut self, event: &Event) -> Vec<(i32, Policy)> {
        let named = match &event.kind {
            Kind::SchedSwitch { prev, next, .. } => [Some(*prev), Some(*next)],
            Kind::SchedWaking { task, .. } => [Some(*task), None],
            _ => [None, None],
        };
        let mut found = Vec::new();
        for task in named.into_iter().flatten() {
            let real_time = task.prio.is_some_and(|prio| (0..100).contains(&prio)) && task.tid > 0;
            if real_time
                && self.asked.len() < 4096
                && self.asked.insert(task.tid)
                && let Ok((scheduling, _)) = uapi::scheduling(task.tid)
            {
                found.push((task.tid, scheduling.policy()));
            }
        }
        found
    }
}
