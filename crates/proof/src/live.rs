//! Threads of this machine watched by their trace: every event is read, every wakeup followed.

use crate::error::ProofError;
use crate::options::Trace;
use punctual_explain::{Attribution, Explanation, Options as What};
use punctual_journal::Journal;
use punctual_rt::monotonic;
use punctual_trace::{Decoder, Event, Kind, Layout, Pages};
use punctual_tracefs::{Config, FULL, Flight, Instance, MINIMAL, Tracefs};
use punctual_uapi::{self as uapi, Sig, Waited, wait};
use punctual_units::Nanos;
use std::collections::HashSet;

/// How often the buffers are emptied: they hold more than this of anything but a storm, and that is said.
const EVERY: Nanos = Nanos::from_millis(200);

/// What to watch, and for how long.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Whose wakeups, how many.
    pub what: What,
    /// For how long at most.
    pub duration: Nanos,
    /// End at the first wakeup this late.
    pub stop_at: Option<Nanos>,
    /// Which events.
    pub trace: Trace,
    /// A tracer of the kernel to run as well: timerlat, osnoise, hwlat, wakeup_rt.
    pub tracer: Option<String>,
}

/// What was seen.
#[derive(Debug)]
pub struct Watched {
    /// The causes.
    pub explanation: Explanation,
    /// Events read.
    pub events: u64,
    /// How long it took, ns.
    pub took: Nanos,
    /// The signal that ended it early.
    pub signal: Option<Sig>,
}

/// Watches threads of this machine. Signals as for a run must be blocked.
///
/// # Errors
/// [`ProofError::Environment`]: this machine cannot be traced, with what to do.
pub fn live(options: &LiveOptions) -> Result<Watched, ProofError> {
    let environment = |e: punctual_tracefs::TracefsError| ProofError::Environment(e.to_string());
    let events = if options.trace.full { FULL } else { MINIMAL };
    let config = Config { events, buffer_kb: options.trace.buffer_kb, tracer: options.tracer.clone() };
    let instance = Instance::create(&Tracefs::find().map_err(environment)?, &Journal::of_user(), &config);
    let flight = Flight::new(instance.map_err(environment)?).map_err(environment)?;
    let mut stream = Stream::new(&flight, options);
    let (begun, signals) = (monotonic(), crate::signals());
    let mut signal = None;
    let mut flight = flight;
    while signal.is_none() && monotonic() < begun + options.duration {
        let left = (begun + options.duration).saturating_sub(monotonic());
        if let Waited::Signal(other) = wait(&signals, Some(left.min(EVERY))) {
            signal = Some(other).filter(|s| *s != Sig::Chld);
        }
        stream.take(&mut flight).map_err(|e| ProofError::Environment(format!("reading the trace: {e}")))?;
        let late = stream.attribution.latest_ns().zip(options.stop_at);
        if late.is_some_and(|(latest, limit)| latest >= limit.0) {
            break;
        }
    }
    let took = monotonic() - begun;
    let mut watched = stream.finish(took, signal);
    if let Some(text) = flight.instance().longest()
        && let Ok(mut source) = punctual_trace::open_text(text.as_slice(), Default::default())
    {
        let what = What { most: 0, ..options.what.clone() };
        watched.explanation.tracers.extend(punctual_explain::explain(source.as_mut(), what).tracers);
    }
    if let Err(left) = flight.end() {
        watched.explanation.notes.extend(left);
    }
    Ok(watched)
}

/// Pages of all CPUs on their way to the attribution.
struct Stream {
    pages: Pages,
    attribution: Attribution,
    /// Events that are later than the last moment up to which all CPUs were read.
    held: Vec<Event>,
    asked: HashSet<i32>,
    steal: Option<u64>,
    events: u64,
}

impl Stream {
    fn new(flight: &Flight, options: &LiveOptions) -> Stream {
        let head = flight.head();
        let layout =
            Layout::new(cfg!(target_endian = "big"), size_of::<usize>(), 4096).with_header_page(&head.header_page);
        let mut decoder = Decoder::new(layout, punctual_trace::Options::default());
        for format in head.systems.iter().flat_map(|(_, formats)| formats).chain(&head.ftrace) {
            decoder.add_format(format);
        }
        let mut pages = Pages::new(decoder);
        pages.on_clock("mono", head.uname.split(' ').nth(2));
        Stream {
            pages,
            attribution: Attribution::new(options.what.clone()),
            held: Vec::new(),
            asked: HashSet::new(),
            steal: steal(),
            events: 0,
        }
    }

    /// Reads all there is, and follows it up to the moment at which reading began.
    fn take(&mut self, flight: &mut Flight) -> std::io::Result<()> {
        let until = monotonic().0;
        let (pages, held) = (&mut self.pages, &mut self.held);
        flight.drain(until, |cpu, page| pages.page(cpu, page, |event| held.push(event)))?;
        // Events of one CPU are in order; sorting keeps them so where times are equal.
        held.sort_by_key(|event| event.t_ns);
        let ready = held.partition_point(|event| event.t_ns <= until);
        let rest = held.split_off(ready);
        let ready = std::mem::replace(held, rest);
        let steal = steal();
        self.attribution.facts().steal_rose = steal.zip(self.steal).map(|(now, before)| now > before);
        self.steal = steal;
        self.attribution.facts().tracer = flight.main_tracer();
        self.follow(ready);
        Ok(())
    }

    fn follow(&mut self, events: Vec<Event>) {
        self.events += events.len() as u64;
        for event in &events {
            if let Kind::SchedSwitch { next, .. } = &event.kind {
                self.ask(next.tid, next.prio);
            }
        }
        for event in &events {
            self.attribution.event(event, self.pages.info());
        }
    }

    /// A trace does not tell FIFO from RR; a thread that still lives does.
    fn ask(&mut self, tid: i32, prio: Option<i32>) {
        let real_time = prio.is_some_and(|prio| (0..100).contains(&prio));
        if real_time
            && tid > 0
            && self.asked.len() < 4096
            && self.asked.insert(tid)
            && let Ok((scheduling, _)) = uapi::scheduling(tid)
        {
            self.attribution.facts().policies.insert(tid, scheduling.policy());
        }
    }

    fn finish(mut self, took: Nanos, signal: Option<Sig>) -> Watched {
        let held = std::mem::take(&mut self.held);
        self.follow(held);
        let explanation = self.attribution.finish(self.pages.info());
        Watched { explanation, events: self.events, took, signal }
    }
}

/// Time that the hypervisor gave to others, all CPUs, in ticks: ninth field of /proc/stat's first line (proc_stat(5)).
fn steal() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}
