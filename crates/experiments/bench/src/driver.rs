//! Runs the repetitions, and takes care of conditions, log, signals and progress.

use crate::axis::{self, Axis, Ended, Measured, Turn};
use crate::conditions::Watch;
use crate::error::BenchError;
use punctual_machine::Live;
use punctual_measure::{Topology, clocks, host_name};
use punctual_model::{
    Bench, BenchLog, BenchParts, BenchPlan, BenchRecord, BenchRepetition, Conditions, EndedBy, Kind, MachineFacts,
    Outcome, Run, Tool,
};
use punctual_rundir::BenchWriter;
use punctual_uapi::Sig;
use punctual_units::CpuList;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Around<'a> {
    /// The command line, to be recorded in the run.
    pub command: Vec<String>,
    pub stop: &'a AtomicBool,
    /// The signal that stopped the run, if there was one. It is set before `stop`.
    pub signal: &'a OnceLock<Sig>,
}

#[derive(Debug)]
pub enum Update<'a> {
    Repetition(&'a BenchRepetition),
    Share {
        /// Number of the repetition in progress, counted from 1.
        number: u64,
        of: u64,
        /// Completed share of all repetitions, 0 to 1.
        done: f64,
        /// Estimated remaining time; `None` until a part is complete.
        left: Option<Duration>,
    },
}

/// Runs a benchmark and writes it to a new run directory.
///
/// # Errors
/// [`BenchError`] if the benchmark cannot finish. Earlier measurements are in the run directory, and the run can be
/// resumed.
pub fn run(
    plan: &BenchPlan,
    out: &Path,
    around: &Around<'_>,
    report: &mut dyn FnMut(Update<'_>),
) -> Result<Bench, BenchError> {
    let axis = axis::of(&plan.settings)?;
    let writer = BenchWriter::create(out, new_run(around), plan)?;
    let log = BenchLog { plan: plan.clone(), repetitions: Vec::new(), parts: BenchParts::default() };
    Driver::new(writer, log)?.drive(axis, around, report)
}

/// Resumes a benchmark that was killed or interrupted. The results of a benchmark that has finished are returned
/// unchanged, because the caller may not know that it has finished.
///
/// # Errors
/// [`BenchError`], for example if the machine or the kernel differs from that of the run.
pub fn resume(root: &Path, around: &Around<'_>, report: &mut dyn FnMut(Update<'_>)) -> Result<Bench, BenchError> {
    if let Some(bench) = BenchWriter::whole(root)? {
        return Ok(bench);
    }
    let (mut writer, log) = BenchWriter::resume(root)?;
    let (then, now) = (&writer.run_mut().machine, facts());
    let same = |what, then: &Option<String>, now: &Option<String>| match (then, now) {
        (Some(then), Some(now)) if then != now => {
            Err(BenchError::Elsewhere { what, then: then.clone(), now: now.clone() })
        }
        _ => Ok(()),
    };
    same("the kernel", &then.kernel_release, &now.kernel_release)?;
    same("the processor", &then.cpu_model, &now.cpu_model)?;
    writer.run_mut().notes.push(format!("resumed after {} repetitions", log.repetitions.len()));
    let axis = axis::of(&log.plan.settings)?;
    Driver::new(writer, log)?.drive(axis, around, report)
}

/// Returns fail if a result is wrong, pass if all repetitions are complete and correct, otherwise inconclusive.
pub fn outcome(bench: &Bench) -> Outcome {
    match (bench.wrong().next(), bench.interrupted) {
        (Some(_), _) => Outcome::Fail,
        (None, true) => Outcome::Inconclusive,
        (None, false) => Outcome::Pass,
    }
}

struct Driver {
    writer: BenchWriter,
    plan: BenchPlan,
    done: u64,
    parts: BenchParts,
    cpus: CpuList,
}

impl Driver {
    fn new(writer: BenchWriter, log: BenchLog) -> Result<Driver, BenchError> {
        let topology = Topology::read().map_err(|e| BenchError::Refused(e.to_string()))?;
        let done = log.repetitions.len() as u64;
        Ok(Driver { writer, plan: log.plan, done, parts: log.parts, cpus: topology.allowed.and(&topology.online) })
    }

    fn drive(
        mut self,
        mut axis: Box<dyn Axis>,
        around: &Around<'_>,
        report: &mut dyn FnMut(Update<'_>),
    ) -> Result<Bench, BenchError> {
        let mut pace = Pace::new(self.plan.repetitions);
        let mut failed = None;
        while self.done < self.plan.repetitions && failed.is_none() && !around.stop.load(Relaxed) {
            match self.repetition(axis.as_mut(), around, &mut pace, report) {
                Ok(true) => self.done += 1,
                Ok(false) => break,
                Err(e) => failed = Some(e),
            }
        }
        let bench = self.finish(around, failed.as_ref())?;
        failed.map_or(Ok(bench), Err)
    }

    /// Runs one repetition. Returns false if it was stopped.
    fn repetition(
        &mut self,
        axis: &mut dyn Axis,
        around: &Around<'_>,
        pace: &mut Pace,
        report: &mut dyn FnMut(Update<'_>),
    ) -> Result<bool, BenchError> {
        let number = self.done + 1;
        let earlier = std::mem::take(&mut self.parts);
        // A repetition counts as resumed only if parts of it were kept. Otherwise it starts from the beginning.
        let resumed = if earlier.done.is_empty() { 0 } else { earlier.resumed + 1 };
        let over = AtomicBool::new(false);
        match axis.longest() {
            Some(lasts) => punctual_watchdog::measuring(format!("repetition {number}"), lasts),
            None => punctual_watchdog::unlimited(),
        }
        let writer = &mut self.writer;
        let mut log = |parts| writer.append(&BenchRecord::Parts(BenchParts { repetition: number, resumed, ..parts }));
        let mut share = |share| report(pace.update(number, share));
        share(0.0);
        let mut turn = Turn { number, earlier, stop: around.stop, log: &mut log, share: &mut share };
        let (ended, conditions) = std::thread::scope(|scope| {
            let watch = Watch::begin(scope, &self.cpus, &over);
            let ended = axis.repetition(&mut turn);
            (ended, watch.end())
        });
        punctual_watchdog::concluding("the steps after the repetition");
        let Ended::Done(measured) = ended? else { return Ok(false) };
        let one = repetition_of(measured, number, resumed, conditions);
        self.writer.append(&BenchRecord::Repetition(Box::new(one.clone())))?;
        report(Update::Repetition(&one));
        Ok(true)
    }

    fn finish(mut self, around: &Around<'_>, failed: Option<&BenchError>) -> Result<Bench, BenchError> {
        let complete = self.done >= self.plan.repetitions;
        let run = self.writer.run_mut();
        (run.complete, run.ended) = (complete, Some(clocks()));
        run.ended_by = Some(match (failed, complete, around.signal.get()) {
            (Some(e), ..) => EndedBy::Error { text: e.to_string() },
            (None, true, _) => EndedBy::Duration,
            (None, false, Some(signal)) => EndedBy::Signal { number: signal.number(), name: signal.name().into() },
            (None, false, None) => EndedBy::Error { text: "stopped before all repetitions were complete".into() },
        });
        Ok(self.writer.finish()?)
    }
}

fn repetition_of(measured: Measured, number: u64, resumed: u32, conditions: Conditions) -> BenchRepetition {
    let now = clocks();
    BenchRepetition {
        number,
        ended_mono_ns: now.mono_ns,
        ended_real_ns: now.real_ns,
        elapsed_ns: measured.elapsed_ns,
        cpu_ns: measured.cpu_ns,
        resumed,
        figures: measured.figures,
        checks: measured.checks,
        distributions: measured.distributions,
        notes: measured.notes,
        conditions,
    }
}

struct Pace {
    began: Instant,
    of: u64,
    first: Option<f64>,
}

impl Pace {
    fn new(of: u64) -> Pace {
        Pace { began: Instant::now(), of, first: None }
    }

    fn update(&mut self, number: u64, share: f64) -> Update<'static> {
        let done = ((number - 1) as f64 + share.clamp(0.0, 1.0)) / self.of.max(1) as f64;
        let first = *self.first.get_or_insert(done);
        let here = done - first;
        let left = (here > 0.0).then(|| self.began.elapsed().as_secs_f64() / here * (1.0 - done));
        let left = left.and_then(|s| Duration::try_from_secs_f64(s.max(0.0)).ok());
        Update::Share { number, of: self.of, done, left }
    }
}

fn facts() -> MachineFacts {
    punctual_machine::facts(&Live::new())
}

fn new_run(around: &Around<'_>) -> Run {
    Run {
        started: Some(clocks()),
        host: host_name(),
        command: around.command.clone(),
        machine: facts(),
        ..Run::new(Tool::punctual(), Kind::Bench)
    }
}
