//! Between the context thread and the run directory.

use punctual_measure::{Cell, Recorder, clocks};
use punctual_model::{Event, Worst};
use punctual_rundir::{Progress, Writer};
use punctual_units::CpuId;

/// Hands what the context thread gives to the run directory's writer.
pub(crate) struct ToDisk(pub Writer);

impl Recorder for ToDisk {
    fn event(&mut self, event: &Event) {
        self.0.event(event);
    }

    fn progress(&mut self, phase: &str, cpu: CpuId, cell: &Cell) {
        let (raw, skipped) = cell.histograms();
        let worst = cell.worst().into_iter().map(|kept| Worst {
            phase: phase.to_owned(),
            cpu,
            release_mono_ns: kept.release,
            latency_ns: kept.latency,
            cycle: kept.cycle,
            skipped: kept.skipped,
            trace_offset: None,
            suspicions: Vec::new(),
        });
        let progress =
            Progress { phase: phase.to_owned(), cpu, mono_ns: clocks().mono_ns, raw, skipped, worst: worst.collect() };
        self.0.progress(progress);
    }

    fn flush(&mut self) {
        self.0.flush();
    }
}
