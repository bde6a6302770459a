//! The interface of all measurements: threads that sleep and record how late they wake, threads that read the clock
//! continuously, and kernel tracers.

use punctual_measure::{Cell, Running};
use punctual_model::{AppValue, CpuResult, Distribution, Problem, Worst};
use punctual_units::{CpuId, Nanos, Scheduling};
use std::sync::Arc;

pub(crate) trait Meter {
    /// Returns the time of the first recorded release, CLOCK_MONOTONIC.
    fn start(&self) -> Nanos;

    /// Returns the time after which releases are not recorded, CLOCK_MONOTONIC.
    fn end(&self) -> Nanos;

    /// Returns the application's quantity that the cells of [`Meter::cells`] record, and its period; `None` for wakeup
    /// latencies.
    fn value(&self) -> Option<(AppValue, Option<Nanos>)> {
        None
    }

    /// Returns the cells from which a running phase is observed. They are saved if the program is killed.
    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)>;

    fn tids(&self) -> Vec<(CpuId, i32)> {
        Vec::new()
    }

    /// Returns the results of each CPU before the first sample.
    fn begun(&self) -> Vec<CpuResult> {
        self.cells().iter().map(|(cpu, _)| nothing(*cpu)).collect()
    }

    /// Returns the interval at which [`Meter::step`] must be called; `None` if it need not be called.
    fn tick(&self) -> Option<Nanos> {
        None
    }

    /// Takes new samples.
    ///
    /// # Errors
    /// No more samples can be taken; the phase ends.
    fn step(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Ends the measurement immediately, unless it has already ended. Samples that a kernel tracer has not taken by
    /// then count as missing, even with [`Stop::Enough`].
    fn stop(&mut self, why: Stop);

    fn finished(&self) -> bool;

    /// Returns the results, and restores all changed settings.
    fn collect(self: Box<Self>) -> Collected;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A signal arrived, or the phase does not end in time. Results may be missing.
    Now,
    Enough,
    /// The user starts the next phase after seeing results, so the phase can fail but not pass.
    User,
}

#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// Results for each phase of the run, including the one that [`Meter::cells`] shows.
    pub parts: Vec<Part>,
    pub end: Nanos,
    pub cpu_ns: Option<u64>,
    /// Notes that do not affect the verdict.
    pub notes: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Part {
    /// Name of the values, for example `thread latency`; `None` for wakeup latencies.
    pub label: Option<&'static str>,
    /// Measured quantity of an application, and its period; `None` for wakeup latencies.
    pub value: Option<(AppValue, Option<Nanos>)>,
    pub cpus: Vec<CpuResult>,
    pub distributions: Vec<(CpuId, Distribution)>,
    /// The worst wakeups of each CPU. The caller sets their phase.
    pub worst: Vec<Worst>,
    /// Problems that make the phase inconclusive.
    pub problems: Vec<Problem>,
}

/// Measuring threads of this process, which either sleep or read the clock continuously.
pub(crate) struct Threads {
    pub running: Running,
    pub scheduling: Scheduling,
    /// Name of the values; `None` for wakeup latencies.
    pub label: Option<&'static str>,
}

impl Meter for Threads {
    fn start(&self) -> Nanos {
        self.running.start
    }

    fn end(&self) -> Nanos {
        self.running.end
    }

    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        self.running.cells()
    }

    fn tids(&self) -> Vec<(CpuId, i32)> {
        self.running.tids()
    }

    fn begun(&self) -> Vec<CpuResult> {
        begun(&self.running, self.scheduling)
    }

    fn stop(&mut self, why: Stop) {
        match why {
            _ if self.running.finished() => {}
            Stop::Now => self.running.stop(),
            Stop::Enough => self.running.stop_with_enough(),
            Stop::User => self.running.end_early(),
        }
    }

    fn finished(&self) -> bool {
        self.running.finished()
    }

    fn collect(self: Box<Self>) -> Collected {
        let outcome = self.running.collect();
        let part = Part {
            label: self.label,
            value: None,
            cpus: outcome.cpus,
            distributions: outcome.distributions,
            worst: outcome.worst,
            problems: outcome.problems,
        };
        Collected { parts: vec![part], end: outcome.end, cpu_ns: Some(outcome.cpu_ns), notes: outcome.notes }
    }
}

pub fn begun(running: &Running, scheduling: Scheduling) -> Vec<CpuResult> {
    let thread = |(cpu, tid)| CpuResult { tid: Some(tid), got: Some(scheduling), ..nothing(cpu) };
    running.tids().into_iter().map(thread).collect()
}

/// Adds a cell's totals, distribution and worst wakeups to `part`. `totals` contains the values that the cell does not
/// record.
pub(crate) fn add(part: &mut Part, cpu: CpuId, cell: &Cell, totals: CpuResult) {
    let (raw, skipped) = cell.histograms();
    part.worst.extend(cell.worst().into_iter().map(|kept| Worst {
        phase: String::new(),
        cpu,
        release_mono_ns: kept.release,
        latency_ns: kept.latency,
        cycle: kept.cycle,
        skipped: kept.skipped,
        trace_offset: None,
        suspicions: Vec::new(),
    }));
    part.cpus.push(CpuResult {
        released: Some(raw.count() + skipped.count()),
        ran: raw.count(),
        skipped: Some(skipped.count()),
        min_ns: raw.min(),
        max_ns: raw.max(),
        mean_ns: raw.mean(),
        ..totals
    });
    part.distributions.push((cpu, Distribution { raw, skipped }));
}

pub(crate) fn nothing(cpu: CpuId) -> CpuResult {
    CpuResult {
        cpu,
        tid: None,
        got: None,
        released: Some(0),
        ran: 0,
        skipped: Some(0),
        min_ns: None,
        max_ns: None,
        mean_ns: None,
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    }
}
