//! A thread that got the CPU long before the latency in the header of its trace had elapsed.

use super::machine::{Machine, Window};
use super::{holes, sentences, tracers};
use punctual_trace::LatencyHeader;
use punctual_units::Nanos;

/// How a thread got the CPU long before the latency in the header had elapsed.
#[derive(Debug)]
pub(super) struct Soon {
    tid: i32,
    /// The latency in the header, ns.
    pub whole: u64,
    /// Time until the thread got the CPU, ns: from its wakeup if `is_after` is true, otherwise from the first line.
    pub waited: u64,
    cpu: u32,
    /// Time of the switch to the thread.
    switched: u64,
    /// True if most of the latency preceded the wakeup, which is therefore not what the header measures.
    pub is_after: bool,
    /// Time from the wakeup to the first line, ns, if the lines show only the end of the header's latency.
    missing: Option<u64>,
    /// True if the first line is one of the idle task.
    idle: bool,
    /// What the lines show of the rest of the latency, once the trace has ended.
    rest: Option<Rest>,
}

#[derive(Debug)]
enum Rest {
    /// The lines cover only this time, ns, which is less than half of the header's latency.
    Short(u64),
    /// Two lines behind the switch between which no code runs that long.
    Hole(String),
    Behind,
}

impl Soon {
    /// Returns `None` if the wakeup is what the header measures. `began` is the time of the first event, which is one of
    /// the idle task if `idle` is true.
    pub fn new(window: &Window, whole: u64, began: Option<u64>, idle: bool) -> Option<Soon> {
        let (t0, t3) = (window.waking.t0, window.t3);
        let waited = t3 - t0;
        let began = began.unwrap_or(t0);
        // Times of these tracers begin with the wakeup.
        let is_end = began > whole / 2 && t3 <= whole.saturating_add(sentences::SWITCH);
        (whole > 2 * waited + sentences::SWITCH || is_end).then_some(())?;
        let missing = is_end.then_some(began);
        let began = began.min(t0);
        let is_after = t0 - began > whole / 2;
        let waited = match missing {
            Some(_) => t3,
            None if is_after => waited,
            None => t3 - began,
        };
        let (tid, cpu) = (window.tid, window.cpu);
        Some(Soon { tid, whole, waited, cpu, switched: t3, is_after, missing, idle, rest: None })
    }

    pub fn is_of(&self, header: &LatencyHeader) -> bool {
        Some(self.tid) == header.tid && header.latency_us.and_then(|us| us.checked_mul(1000)) == Some(self.whole)
    }

    /// Handles the end of a trace; only that of its own trace counts.
    pub fn conclude(&mut self, machine: &Machine, began: Option<u64>) {
        let shown = began.map(|began| machine.now.saturating_sub(began));
        let hole = || machine.cpu(self.cpu).and_then(|cpu| holes::hole(cpu, self.whole, Some(self.switched)));
        self.rest.get_or_insert_with(|| match (shown, hole()) {
            (_, Some(hole)) => Rest::Hole(hole),
            (Some(shown), _) if shown < self.whole / 2 => Rest::Short(shown),
            _ => Rest::Behind,
        });
    }

    pub fn said(&self, header: &LatencyHeader) -> Option<String> {
        let elsewhere = header.cpu.is_some_and(|cpu| cpu != self.cpu);
        let rest = match &self.rest {
            _ if let Some(missing) = self.missing => {
                let missing = Nanos(missing);
                match self.idle {
                    true => format!(
                        "the first line, of the idle task, is {missing} after the wakeup: what kept it from running until then is not in the lines; \
                         suspected: the interrupt that wakes the CPU came late, leaving idle, or the clocks of two CPUs differ — trace all CPUs"
                    ),
                    false => format!(
                        "the first line is {missing} after the wakeup: what kept it from running until then is not in the lines"
                    ),
                }
            }
            Some(Rest::Short(shown)) => {
                let doubt = match elsewhere {
                    true => " (the clocks of the two CPUs may differ, or the tracer erred)",
                    false => "",
                };
                format!(
                    "the lines end after {}: the origin of the header's latency is not in them{doubt}",
                    Nanos(*shown)
                )
            }
            Some(Rest::Hole(hole)) => format!("the rest of that time passed after the switch: {hole}"),
            Some(Rest::Behind) | None => "the rest of that time passed after the switch".to_owned(),
        };
        let on = if elsewhere { format!(" on CPU {}", self.cpu) } else { String::new() };
        Some(format!("{}: it had the CPU{on} after {}, and {rest}", tracers::fact(header)?, Nanos(self.waited)))
    }
}
