//! Watches threads of this machine by their trace: every event is read, every wakeup followed.

use crate::capture::{OfMachine, fair_server};
use crate::error::ProofError;
use crate::options::Trace;
use crate::stream::Stream;
use punctual_explain::{Attribution, ExplainOptions, Explanation};
use punctual_journal::Journal;
use punctual_rt::monotonic;
use punctual_trace::Event;
use punctual_tracefs::{Config, FULL, Flight, Instance, MINIMAL, Tracefs};
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::Nanos;

/// How often the buffers are emptied: they hold more than this of anything but a storm, and losses are reported.
const EVERY: Nanos = Nanos::from_millis(200);

#[derive(Clone, Debug)]
pub struct LiveOptions {
    pub what: ExplainOptions,
    /// Maximum.
    pub duration: Nanos,
    /// End at the first wakeup this late.
    pub stop_at: Option<Nanos>,
    pub trace: Trace,
    /// A kernel tracer to run as well: timerlat, osnoise, hwlat, wakeup_rt.
    pub tracer: Option<String>,
}

#[derive(Debug)]
pub struct Watched {
    pub explanation: Explanation,
    pub events: u64,
    pub took: Nanos,
    pub signal: Option<Sig>,
}

/// Watches threads of this machine. Signals must be blocked as for a run.
///
/// # Errors
/// [`ProofError::Environment`]: this machine cannot be traced, with what to do.
pub fn live(options: &LiveOptions) -> Result<Watched, ProofError> {
    let environment = |e: punctual_tracefs::TracefsError| ProofError::Environment(e.to_string());
    let events = if options.trace.full { FULL } else { MINIMAL };
    let config = Config { events, buffer_kb: options.trace.buffer_kb, tracer: options.tracer.clone(), stacks: None };
    let instance = Instance::create(&Tracefs::find().map_err(environment)?, &Journal::of_user(), &config);
    let flight = Flight::new(instance.map_err(environment)?).map_err(environment)?;
    let mut what = options.what.clone();
    let machine = OfMachine::read();
    (what.facts.kernel, what.facts.guest) = (machine.kernel, machine.guest);
    (what.facts.rt_group_sched, what.facts.fair_server) = (machine.rt_group_sched, fair_server());
    let attribution = Attribution::new(what);
    let mut watcher = Watcher { stream: Stream::new(&flight), attribution, steal: steal() };
    let (begun, signals) = (monotonic(), crate::signals());
    let mut signal = None;
    let mut flight = flight;
    while signal.is_none() && monotonic() < begun + options.duration {
        let left = (begun + options.duration).saturating_sub(monotonic());
        if let Waited::Signal(other) = wait(&signals, Some(left.min(EVERY))) {
            signal = Some(other).filter(|s| *s != Sig::Chld);
        }
        watcher.take(&mut flight).map_err(|e| ProofError::Environment(format!("reading the trace: {e}")))?;
        let late = watcher.attribution.worst_ns().zip(options.stop_at);
        if late.is_some_and(|(latest, limit)| latest >= limit.0) {
            break;
        }
    }
    let took = monotonic() - begun;
    let mut watched = watcher.finish(took, signal);
    if let Some(text) = flight.instance().longest()
        && let Ok(mut source) = punctual_trace::open_text(text.as_slice(), Default::default())
    {
        let what = ExplainOptions { most: 0, ..options.what.clone() };
        watched.explanation.tracers.extend(punctual_explain::explain(source.as_mut(), what).tracers);
    }
    watched.explanation.notes.push(format!("traced through tracefs, {}", flight.instance().place()));
    if let Err(left) = flight.end() {
        watched.explanation.notes.extend(left);
    }
    Ok(watched)
}

struct Watcher {
    stream: Stream,
    attribution: Attribution,
    steal: Option<u64>,
}

impl Watcher {
    /// Reads all available events, and processes those up to the moment at which reading began.
    fn take(&mut self, flight: &mut Flight) -> std::io::Result<()> {
        let ready = self.stream.take(flight)?;
        let steal = steal();
        self.attribution.facts().steal_rose = steal.zip(self.steal).map(|(now, before)| now > before);
        self.steal = steal;
        self.attribution.facts().tracer = flight.main_tracer();
        self.follow(ready);
        Ok(())
    }

    fn follow(&mut self, events: Vec<Event>) {
        let policies: Vec<_> = events.iter().flat_map(|event| self.stream.policies(event)).collect();
        self.attribution.facts().policies.extend(policies);
        for event in &events {
            self.attribution.event(event, self.stream.info());
        }
    }

    fn finish(mut self, took: Nanos, signal: Option<Sig>) -> Watched {
        let rest = self.stream.rest();
        self.follow(rest);
        let explanation = self.attribution.finish(self.stream.info());
        Watched { explanation, events: self.stream.events, took, signal }
    }
}

/// Steal time, all CPUs, in ticks: ninth field of /proc/stat's first line (proc_stat(5)).
fn steal() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}
