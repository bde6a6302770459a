//! What a way to measure has to do, and what it gives.

use punctual_measure::Cell;
use punctual_model::{CpuResult, Distribution, Problem, Worst};
use punctual_units::{CpuId, Nanos};
use std::sync::Arc;

/// One phase, being measured.
pub(super) trait Meter {
    /// CLOCK_MONOTONIC from which on samples count.
    fn start(&self) -> Nanos;

    /// CLOCK_MONOTONIC from which on none does.
    fn end(&self) -> Nanos;

    /// Where the samples go by which a phase is followed, and kept if the program is killed.
    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)>;

    /// Measuring threads of this process.
    fn tids(&self) -> Vec<(CpuId, i32)>;

    /// How often [`Meter::step`] wants to be called; `None`: never.
    fn tick(&self) -> Option<Nanos>;

    /// Takes what has come.
    ///
    /// # Errors
    /// Why nothing more can come: the phase ends.
    fn step(&mut self) -> Result<(), String>;

    /// Asks what measures to end now.
    fn stop(&mut self);

    /// Has it ended?
    fn finished(&self) -> bool;

    /// The results; everything is put back as it was.
    fn collect(self: Box<Self>) -> Collected;
}

/// What a phase came to.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// One phase of the run each; the one that [`Meter::cells`] belong to among them.
    pub parts: Vec<Part>,
    /// CLOCK_MONOTONIC when it had ended.
    pub end: Nanos,
    /// CPU time of the measuring threads, where it is known.
    pub cpu_ns: Option<u64>,
    /// What is worth saying but decides nothing.
    pub notes: Vec<String>,
}

/// Figures of one kind, of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// What they are: `thread latency`.
    pub label: &'static str,
    /// Totals by CPU.
    pub cpus: Vec<CpuResult>,
    /// Distributions by CPU.
    pub distributions: Vec<(CpuId, Distribution)>,
    /// The worst of each CPU; their phase is filled in later.
    pub worst: Vec<Worst>,
    /// What makes it inconclusive.
    pub problems: Vec<Problem>,
}

/// A cell as the totals, the distribution and the worst of a CPU. `totals` tells what the cell does not know.
pub(super) fn add(part: &mut Part, cpu: CpuId, cell: &Cell, totals: CpuResult) {
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

/// A CPU of which nothing was counted yet.
pub(super) fn nothing(cpu: CpuId) -> CpuResult {
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
    }
}
