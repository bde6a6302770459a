//! One run directory of the series.

use crate::keep;
use crate::options::Options;
use punctual_directory::Dir;
use punctual_measure::{self as measure, Cell, Outcome, Plan, Running};
use punctual_model::{Capture, EndedBy, Explained, OwnCost, Phase, PhaseTrace, Run, Tracing};
use punctual_proof as proof;
use punctual_rundir::{self as rundir, DiskUse, Writer};
use punctual_units::{CpuId, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// ID of the only phase, whose load is the machine's usual work.
pub(crate) const PHASE: &str = "1-watch";
const LOAD: &str = "watch";
/// Disk use with small checkpoints and no reserved space: if there is not enough space to complete a run directory, its
/// segment continues.
const DISK: DiskUse = DiskUse { segment_bytes: 16 << 10, reserve_bytes: 0, compact: true };
pub(crate) const WORST: usize = 8;

pub(crate) struct Open {
    /// Name of the run directory, relative to the watch directory.
    pub name: String,
    /// The watch directory.
    dir: Dir,
    pub phase: Phase,
    /// Time at which the segment reaches its full length, CLOCK_MONOTONIC.
    pub due_mono: Nanos,
    pub cells: Vec<(CpuId, Arc<Cell>)>,
    /// For each CPU, the number of earlier periods of the series in which its thread woke, and the number of earlier
    /// periods that were skipped.
    pub base: BTreeMap<CpuId, (u64, u64)>,
    /// Writer of the run directory; `None` until the directory can be created.
    pub writer: Option<Writer>,
    run: Run,
    gaps: u64,
}

pub(crate) struct Ending {
    pub outcome: Outcome,
    pub ended_by: EndedBy,
    pub cost: OwnCost,
    pub tracing: Option<Tracing>,
    pub traced: Option<PhaseTrace>,
    pub captures: Vec<Capture>,
    pub explained: Vec<Explained>,
}

impl Open {
    /// Begins a segment. `base` contains, for each CPU, the number of earlier periods in which its thread woke, and the
    /// number of those that were skipped. If the directory cannot be created, every checkpoint tries again.
    pub fn begin(
        dir: &Dir,
        options: &Options,
        plan: &Plan,
        running: &Running,
        explicit: bool,
        base: BTreeMap<CpuId, (u64, u64)>,
    ) -> Open {
        let mut run = proof::new_run(&run_options(options), plan, explicit);
        run.machine = proof::facts();
        run.notes.push("part of a watch: the load is the machine's usual work".into());
        run.settings.loads = vec![LOAD.into()];
        let mut phase = proof::announced(plan, LOAD, running.start, proof::begun(running, plan.scheduling), None);
        phase.planned_ns = Some(options.segment);
        let stamp = measure::clocks().real_ns;
        let name = keep::new_name(dir, &utc_name(stamp));
        let due_mono = running.start + options.segment;
        let (dir, cells) = (dir.clone(), running.cells());
        let mut open = Open { name, dir, phase, due_mono, cells, base, writer: None, run, gaps: 0 };
        // The next checkpoint reports a failure.
        let _ = open.create(options.sync);
        open
    }

    fn create(&mut self, sync: bool) -> Result<(), rundir::Error> {
        let mut writer = Writer::create_in(self.dir.make_dir(&self.name)?, self.run.clone(), sync, DISK)?;
        writer.phase_started(&self.phase);
        self.writer = Some(writer);
        Ok(())
    }

    pub fn flush(&mut self, sync: bool) -> Option<String> {
        let failed = match &mut self.writer {
            Some(writer) => {
                writer.flush();
                writer.take_failure()
            }
            None => {
                // Leftovers of a failed attempt would make the next one fail.
                let _ = self.dir.remove_all(&self.name);
                self.create(sync).err().map(|e| e.to_string())
            }
        };
        self.gaps += u64::from(failed.is_some());
        failed
    }
}

pub(crate) fn finish(open: Open, mut writer: Writer, ending: Ending) -> Result<(), rundir::Error> {
    let Ending { outcome, ended_by, cost, tracing, traced, captures, explained } = ending;
    let mut phase = open.phase;
    phase.end_mono_ns = Some(outcome.end.0);
    phase.cpus = outcome.cpus;
    phase.problems = outcome.problems;
    phase.traced = traced;
    writer.phase_done(phase.clone(), &outcome.distributions, outcome.worst)?;
    let run = writer.run_mut();
    run.complete = ended_by == EndedBy::Duration;
    run.ended_by = Some(ended_by);
    run.ended = Some(measure::clocks());
    run.tracing = tracing;
    run.cost = Some(cost);
    run.notes.extend(outcome.notes);
    if open.gaps > 0 {
        run.notes.push(format!("{} checkpoints could not be written; no sample is missing", open.gaps));
    }
    writer.finish()?;
    if captures.is_empty() && explained.is_empty() {
        return Ok(());
    }
    rundir::attach_causes(writer.dir(), &captures, &explained)
}

fn run_options(options: &Options) -> proof::Options {
    proof::Options {
        out: options.out.clone(),
        command: options.command.clone(),
        policy: options.policy,
        priority: options.priority,
        via: Default::default(),
        period: options.period,
        cpus: options.cpus.clone(),
        alignment: options.alignment,
        duration: options.segment,
        until: None,
        changes: None,
        maxima_block: options.block,
        warmup: Nanos::ZERO,
        loads: vec![LOAD.into()],
        context: true,
        cpu_dma_latency_us: None,
        worst_kept: WORST,
        deadline: None,
        claims: Vec::new(),
        peer: None,
        secret_file: None,
        scratch: None,
        write_cap: 0,
        trace: options.trace,
        sync: options.sync,
        virtual_time: None,
        started_mono: options.started_mono,
    }
}

fn utc_name(real_ns: u64) -> String {
    punctual_report::utc(real_ns).chars().filter(|c| !matches!(c, '-' | ':')).collect()
}
