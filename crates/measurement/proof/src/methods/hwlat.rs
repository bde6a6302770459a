//! `hwlat`: the kernel's detector (kernel/trace/trace_hwlat.c) in a private trace instance. Its thread moves from CPU
//! to CPU. In each window of 1 s it reads the clock with interrupts disabled for half of the time, and reports the
//! longest gap if it exceeds the threshold.

use super::timerlat;
use crate::error::ProofError;
use crate::meter::{self, Collected, Meter, Part, Stop};
use crate::stream::Stream;
use punctual_journal::Journal;
use punctual_measure::{Cell, Plan, cut_short};
use punctual_model::{Blur, CpuResult, Problem, ProblemKind, Unplaced};
use punctual_rt::{Wakeup, monotonic};
use punctual_trace::Kind;
use punctual_tracefs::{Config, Flight, Instance, TracefsError};
use punctual_units::{CpuId, Nanos};
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub(super) const LABEL: &str = "hardware latency";

/// Interval at which the trace is read; the detector reports at most one gap per second.
const EVERY: Nanos = Nanos::from_secs(1);

/// DEFAULT_SAMPLE_WINDOW (kernel/trace/trace_hwlat.c), µs, used if the file cannot be read. `THRESHOLD_US` is
/// DEFAULT_LAT_THRESHOLD.
const WINDOW_US: u64 = 1_000_000;
const THRESHOLD_US: u64 = 10;

struct Hwlat {
    start: Nanos,
    end: Nanos,
    cells: Vec<(CpuId, Arc<Cell>)>,
    stream: Stream,
    flight: Option<Flight>,
    window: Nanos,
    threshold: Nanos,
    gaps: u64,
    nmis: u64,
    stopped: Option<Stop>,
    failed: Option<String>,
}

/// Starts the tracer on the planned CPUs.
///
/// # Errors
/// The tracer cannot be used; all settings are restored.
pub(super) fn start(plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
    let environment = |e: TracefsError| match &e {
        TracefsError::Io { source, .. } if source.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
            ProofError::Environment(format!("{e}: another instance runs the hwlat tracer, which supports only one"))
        }
        _ => ProofError::Environment(e.to_string()),
    };
    let tracefs = timerlat::find("hwlat")?;
    let config = Config { events: &[], buffer_kb: Some(64), tracer: None, stacks: None };
    let mut instance = Instance::create(&tracefs, &Journal::of_user(), &config).map_err(environment)?;
    instance.limit(plan.cpus.iter().map(|cpu| cpu.0)).map_err(environment)?;
    instance.start_tracer("hwlat").map_err(environment)?;
    let flight = Flight::new(instance).map_err(environment)?;
    // Read while the tracer runs: if tracing_thresh is 0, the kernel sets its own threshold during that time.
    let micros = |path: &str, usual| number(&tracefs.root().join(path)).unwrap_or(usual).max(1);
    let start = monotonic();
    Ok(Box::new(Hwlat {
        start,
        end: start + plan.duration,
        cells: plan.cpus.iter().map(|cpu| (cpu, Arc::new(Cell::new(plan.keep)))).collect(),
        stream: Stream::new(&flight),
        flight: Some(flight),
        window: Nanos::from_micros(micros("hwlat_detector/window", WINDOW_US)),
        threshold: Nanos::from_micros(micros("tracing_thresh", THRESHOLD_US)),
        gaps: 0,
        nmis: 0,
        stopped: None,
        failed: None,
    }))
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

impl Hwlat {
    fn take(&mut self, last: bool) -> Result<(), String> {
        let Some(flight) = &mut self.flight else { return Ok(()) };
        let mut events = self.stream.take(flight).map_err(|e| format!("the trace could not be read: {e}"))?;
        if last {
            events.extend(self.stream.rest());
        }
        for event in events {
            let Kind::Hwlat { count, inner_us, outer_us, nmi_count, gaps, .. } = event.kind else { continue };
            let longest = inner_us.max(outer_us).saturating_mul(1_000).min(u64::MAX >> 8);
            self.gaps = self.gaps.saturating_add(gaps.unwrap_or(1).into());
            self.nmis = self.nmis.saturating_add(nmi_count.unwrap_or(0).into());
            if let Some((_, cell)) = self.cells.iter().find(|(cpu, _)| cpu.0 == event.cpu) {
                // The record is written at the end of the window, but the gap may be anywhere in it.
                let release = Nanos(event.t_ns.saturating_sub(longest));
                let woke = release + Nanos(longest);
                cell.record(&Wakeup { cycle: count, release, woke, skipped: 0 }, u64::MAX);
            }
        }
        Ok(())
    }

    /// Returns the results of all windows. A window without a gap is also a sample, of which only an upper limit is
    /// known.
    fn part(&self, took: Nanos) -> Part {
        let mut part = Part { label: Some(LABEL), ..Part::default() };
        // The detector does not report which CPU it runs on, so windows that may belong to another CPU are not counted.
        let windows = took.0 / self.window.0.max(1) / (self.cells.len().max(1) as u64);
        for (cpu, cell) in &self.cells {
            meter::add(&mut part, *cpu, cell, meter::nothing(*cpu));
            let (Some(totals), Some((_, distribution))) = (part.cpus.last_mut(), part.distributions.last_mut()) else {
                continue;
            };
            let quiet = windows.saturating_sub(distribution.raw.count());
            distribution.raw.record_n(0, quiet);
            let raw = &distribution.raw;
            let to_ns = Some(self.threshold.0.saturating_sub(1));
            let unplaced = (quiet > 0).then_some(Unplaced { count: quiet, from_ns: 0, to_ns });
            *totals = CpuResult {
                ran: raw.count(),
                released: Some(raw.count()),
                min_ns: raw.min(),
                max_ns: raw.max(),
                mean_ns: None,
                blur: Some(Blur { above_ns: 999, unplaced, skipped_at_most: Some(0), ..Blur::default() }),
                ..totals.clone()
            };
        }
        let planned = self.end.saturating_sub(self.start);
        part.problems.extend(self.stopped.map(|why| cut_short(why == Stop::User, took, planned)));
        part.problems
            .extend(self.failed.iter().map(|why| Problem { kind: ProblemKind::Interrupted, text: why.clone() }));
        part
    }

    fn notes(&self) -> Vec<String> {
        let (window, threshold) = (self.window, self.threshold);
        let nmis = match self.nmis {
            0 => "no NMI occurred in a gap, so Linux did not cause the gaps".to_owned(),
            n => format!("{n} NMIs occurred in gaps; Linux caused those gaps"),
        };
        vec![
            format!(
                "hwlat reads with interrupts off, on one CPU after the other for a window of {window} each. A sample is the \
                 longest gap of a window in whole µs; a window whose gaps were all below {threshold} (tracing_thresh) counts as 0"
            ),
            format!("hwlat reported {} gaps in total; {nmis}", self.gaps),
        ]
    }
}

impl Meter for Hwlat {
    fn start(&self) -> Nanos {
        self.start
    }

    fn end(&self) -> Nanos {
        self.end
    }

    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        self.cells.clone()
    }

    fn tick(&self) -> Option<Nanos> {
        Some(EVERY)
    }

    fn step(&mut self) -> Result<(), String> {
        self.take(false).inspect_err(|why| self.failed = Some(why.clone()))
    }

    fn stop(&mut self, why: Stop) {
        self.stopped.get_or_insert(why);
    }

    fn finished(&self) -> bool {
        true
    }

    fn collect(mut self: Box<Self>) -> Collected {
        let end = monotonic();
        if let Err(why) = self.take(true) {
            self.failed.get_or_insert(why);
        }
        let parts = vec![self.part(end - self.start)];
        let mut notes = self.notes();
        if let Some(flight) = self.flight.take() {
            notes.extend(flight.end().err().into_iter().flatten());
        }
        Collected { parts, end, cpu_ns: None, notes }
    }
}
