//! Between the context thread and the run directory.

use crate::watching::Seen;
use punctual_measure::{Cell, Recorder, clocks};
use punctual_model::{Event, Worst};
use punctual_rundir::{Progress, Writer};
use punctual_units::CpuId;
use std::sync::{Arc, Mutex, PoisonError};

/// Hands what the context thread gives to the run directory's writer, and keeps the latest of it to be looked at.
pub(crate) struct ToDisk(pub Writer, pub Arc<Mutex<Seen>>);

impl Recorder for ToDisk {
    fn event(&mut self, event: &Event) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).take(event);
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
