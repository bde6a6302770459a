//! Traces threads of this machine, reads every event, and explains every wakeup.

use crate::capture::{Namer, OfMachine, fair_server};
use crate::error::ProofError;
use crate::options::Trace;
use crate::stream::Stream;
use punctual_explain::{Attribution, ExplainOptions, Explanation, Victims};
use punctual_journal::Journal;
use punctual_rt::monotonic;
use punctual_trace::Event;
use punctual_tracefs::{Config, FULL, Flight, Instance, MINIMAL, Tracefs};
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::Nanos;
use punctual_watchdog as watchdog;

/// Interval at which the buffers are read. A buffer holds the events of this interval except in an event storm; lost
/// events are reported.
const EVERY: Nanos = Nanos::from_millis(200);
/// Maximum number of stack traces kept for wakeups that have not been explained yet.
const RELEASED: usize = 4096;

#[derive(Clone, Debug)]
pub struct LiveOptions {
    pub what: ExplainOptions,
    /// Maximum duration.
    pub duration: Nanos,
    /// A wakeup at least this late ends the trace.
    pub stop_at: Option<Nanos>,
    pub trace: Trace,
    /// Kernel tracer to run as well: timerlat, osnoise, hwlat, wakeup_rt.
    pub tracer: Option<String>,
}

#[derive(Debug)]
pub struct Watched {
    pub explanation: Explanation,
    pub events: u64,
    pub took: Nanos,
    pub signal: Option<Sig>,
}

/// Traces threads of this machine and explains their wakeups. Signals must be blocked as for a run.
///
/// # Errors
/// [`ProofError::Environment`]: this machine cannot be traced. The message says what to do.
pub fn live(options: &LiveOptions) -> Result<Watched, ProofError> {
    let environment = |e: punctual_tracefs::TracefsError| ProofError::Environment(e.to_string());
    let events = if options.trace.full { FULL } else { MINIMAL };
    // Stacks are of no use without function names.
    let namer = options.trace.stacks.then(Namer::open).and_then(Result::ok);
    let stacks = namer.is_some().then(|| taking(&options.what.victims));
    let config = Config { events, buffer_kb: options.trace.buffer_kb, tracer: options.tracer.clone(), stacks };
    let instance = Instance::create(&Tracefs::find().map_err(environment)?, &Journal::of_user(), &config);
    let flight = Flight::new(instance.map_err(environment)?).map_err(environment)?;
    let mut what = options.what.clone();
    let machine = OfMachine::read();
    (what.facts.kernel, what.facts.guest) = (machine.kernel, machine.guest);
    (what.facts.rt_group_sched, what.facts.fair_server) = (machine.rt_group_sched, fair_server());
    let attribution = Attribution::new(what);
    let mut watcher = Watcher { stream: Stream::new(&flight), attribution, namer, steal: steal() };
    let lasts = std::time::Duration::from_nanos(options.duration.0);
    watchdog::measuring("the trace", lasts);
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
        if late.is_some_and(|(worst, limit)| worst >= limit.0) {
            break;
        }
    }
    watchdog::concluding("the explanation");
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

/// Returns a sched_switch filter for switches to the chosen threads (Documentation/trace/events.rst, "Event
/// filtering").
fn taking(victims: &Victims) -> String {
    match victims {
        Victims::Measuring | Victims::AllRealTime => "next_prio < 100".to_owned(),
        Victims::Tid(tid) => format!("next_pid == {tid}"),
        Victims::Comm(comm) => {
            // Filters cannot escape quotes and wildcards.
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+, ()".contains(c);
            let comm: String = comm.chars().take(15).map(|c| if plain(c) { c } else { '?' }).collect();
            format!("next_comm ~ \"{comm}\"")
        }
    }
}

struct Watcher {
    stream: Stream,
    attribution: Attribution,
    namer: Option<Namer>,
    steal: Option<u64>,
}

impl Watcher {
    /// Reads all available events, and processes those that occurred before the call.
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
        for mut event in events {
            if self.namer.as_mut().is_some_and(|namer| namer.name(&mut event)) {
                let released = &mut self.attribution.facts().released;
                released.push(event.t_ns);
                if released.len() > 2 * RELEASED {
                    released.drain(..RELEASED);
                }
            }
            self.attribution.event(&event, self.stream.info());
        }
    }

    fn finish(mut self, took: Nanos, signal: Option<Sig>) -> Watched {
        let rest = self.stream.rest();
        self.follow(rest);
        let explanation = self.attribution.finish(self.stream.info());
        Watched { explanation, events: self.stream.events, took, signal }
    }
}

/// Returns the steal time of all CPUs together, in ticks: ninth field of the first line of /proc/stat (proc_stat(5)).
fn steal() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_hold_no_quotes_and_no_wildcards_of_the_users() {
        assert_eq!(taking(&Victims::AllRealTime), "next_prio < 100");
        assert_eq!(taking(&Victims::Tid(7)), "next_pid == 7");
        assert_eq!(taking(&Victims::Comm("irq/24-eth0".into())), "next_comm ~ \"irq/24-eth0\"");
        assert_eq!(taking(&Victims::Comm("a\" || 1 == 1 *[!".into())), "next_comm ~ \"a? ?? 1 ?? 1 ??\"");
        assert_eq!(taking(&Victims::Comm("sixteen_letters_".into())), "next_comm ~ \"sixteen_letters\"");
    }
}
