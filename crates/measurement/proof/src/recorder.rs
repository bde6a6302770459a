//! Passes the context thread's samples to the run directory.

use crate::blocks::Blocks;
use crate::rounds::{self, Earlier};
use crate::shares::Shares;
use crate::watching::Seen;
use punctual_measure::{Cell, Recorder, clocks};
use punctual_model::{Distribution, Event};
use punctual_rundir::{Progress, Writer};
use punctual_units::{CpuId, Nanos};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Passes the context thread's samples to the writer of the run directory, and keeps the latest ones for observers.
pub(crate) struct ToDisk {
    pub writer: Writer,
    /// Results of earlier rounds of the running phase, by CPU.
    pub earlier: BTreeMap<CpuId, Earlier>,
    pub seen: Arc<Mutex<Seen>>,
    /// Number of worst wakeups to keep per phase and CPU.
    keep: usize,
    blocks: Blocks,
    pub shares: Shares,
}

impl ToDisk {
    /// Creates a recorder that keeps the `keep` worst wakeups, the largest latency in blocks of length `block`, and the
    /// number of releases above each limit of `quantiles`.
    pub fn new(writer: Writer, keep: usize, block: Nanos, quantiles: Vec<Nanos>) -> ToDisk {
        let (seen, shares) = (Arc::default(), Shares::new(quantiles));
        ToDisk { writer, earlier: BTreeMap::new(), seen, keep, blocks: Blocks::new(block), shares }
    }

    /// Starts a phase or one of its rounds.
    pub fn begin(&mut self, earlier: BTreeMap<CpuId, Earlier>) {
        self.earlier = earlier;
        self.shares.begin();
    }

    /// Ends a phase or one of its rounds. The last block ends with it.
    pub fn end_blocks(&mut self) {
        let rest = self.blocks.end();
        self.writer.maxima(&rest);
    }
}

impl Recorder for ToDisk {
    fn event(&mut self, event: &Event) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).take(event);
        self.writer.event(event);
        if let Event::Window(window) = event {
            let done = self.blocks.add(window);
            self.writer.maxima(&done);
        }
    }

    fn progress(&mut self, phase: &str, cpu: CpuId, cell: &Cell) {
        let (raw, skipped) = cell.histograms();
        let worst = cell.worst().into_iter().map(|kept| kept.of(phase, cpu)).collect();
        let mut episodes = cell.episodes(raw.count() + skipped.count());
        let (mut distribution, mut worst) = (Distribution { raw, skipped }, worst);
        self.shares.add(cpu, &distribution);
        if let Some(earlier) = self.earlier.get(&cpu) {
            rounds::add(&mut distribution, &mut worst, earlier, self.keep);
            episodes = rounds::episodes(&earlier.episodes, &episodes, earlier.released);
        }
        let Distribution { raw, skipped } = distribution;
        let progress =
            Progress { phase: phase.to_owned(), cpu, mono_ns: clocks().mono_ns, raw, skipped, worst, episodes };
        self.writer.progress(progress);
    }

    fn flush(&mut self) {
        self.writer.flush();
    }
}
