//! Runs a whole experiment: calibrates, predicts, measures and records it.

use crate::body::{Action, Body};
use crate::calibrate::{Rate, calibrate};
use crate::error::SchedError;
use crate::guard;
use crate::job::Do;
use crate::limit::RtTime;
use crate::outcome::Folded;
use crate::pass::Pass;
use crate::plan::{Beside, Plan};
use crate::record;
use crate::spec::Spec;
use crate::system::{settings, timing};
use punctual_measure::Topology;
use punctual_model::{EXPERIMENT_SCHEMA, Experiment, PlannedThread, Prediction};
use punctual_rundir::Writer;
use punctual_uapi::Sig;
use punctual_units::{CpuId, Nanos};
use punctual_workloads::{Image, Kind};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Debug)]
pub struct Options<'a> {
    pub spec: &'a Spec,
    /// CPU time of one unit of work (`amount = 1`).
    pub scale: Nanos,
    /// CPU of the pinned threads. `None` means the last one.
    pub cpu: Option<CpuId>,
    /// Number of repetitions. `None` means the number that the experiment states.
    pub repeat: Option<u32>,
    /// Run directory to create.
    pub out: &'a Path,
    /// Command line, recorded in the run.
    pub command: Vec<String>,
    /// True if the kernel schedules real-time threads by group (CONFIG_RT_GROUP_SCHED, not disabled). `None` means
    /// unknown.
    pub rt_group_sched: Option<bool>,
    pub stop: &'a AtomicBool,
    /// The signal that stopped the run, if any. Set before `stop`.
    pub signal: &'a OnceLock<Sig>,
}

/// Share by which the time that work takes may differ from the calibrated time.
const CALIBRATED: f64 = 0.005;

pub(crate) struct Fitted {
    pub plan: Plan,
    pub doing: Vec<Vec<Do>>,
    /// Bodies of the threads, in calibrated time.
    pub bodies: Vec<Body>,
    pub predicted: Vec<Prediction>,
}

/// Runs an experiment and writes a run directory of kind `sched`, which is updated after every repetition. Also returns
/// the edges found by the first thread that detects edges.
///
/// Blocks until the end. Threads get the requested policies, and none outlives this call.
///
/// # Errors
/// [`SchedError`] if the experiment requires something that is not available or not permitted.
pub fn run(
    options: &Options<'_>,
    report: &mut dyn FnMut(&Experiment),
) -> Result<(Experiment, Option<Image>), SchedError> {
    let topology = Topology::read().map_err(|e| SchedError::Refused(format!("the CPUs cannot be determined: {e}")))?;
    let free = topology.allowed.and(&topology.online);
    let (system, mut notes) = settings(Path::new("/"), topology.online.clone(), options.rt_group_sched);
    let mut plan = Plan::new(options.spec, options.scale, options.cpu, free, system)?;
    plan.timing = timing(Path::new("/"), topology.online.len());
    guard::check(&plan, options.spec.at_most).map_err(SchedError::Refused)?;
    notes.extend(options.spec.notes.iter().cloned());
    let mut writer = Writer::create(options.out, record::new_run(options, &plan), false)?;
    let measured = measure(options, plan, notes, &mut writer, report);
    record::finish(writer, options, measured.as_ref().err())?;
    measured
}

fn measure(
    options: &Options<'_>,
    plan: Plan,
    mut notes: Vec<String>,
    writer: &mut Writer,
    report: &mut dyn FnMut(&Experiment),
) -> Result<(Experiment, Option<Image>), SchedError> {
    let image = Image::scene(640, 480, 42).map_err(punctual_workloads::WorkError::from)?;
    let fitted = Fitted::new(plan, &image, options.out, options.stop)?;
    if options.stop.load(Relaxed) {
        notes.push("interrupted during calibration: the predictions are inexact".into());
    }
    let mut experiment = fitted.planned(options.spec, notes);
    let mut edges = None;
    let wanted = options.repeat.unwrap_or(options.spec.repetitions);
    // Remains true if the process is killed before the last repetition.
    experiment.interrupted = true;
    writer.experiment(&experiment)?;
    for number in 1..=wanted {
        if options.stop.load(Relaxed) {
            break;
        }
        let limit = fitted.limit();
        let _backstop = fitted.plan.has_real_time().then(|| RtTime::at_most(limit + Nanos::from_secs(5)));
        let pass = Pass {
            plan: &fitted.plan,
            doing: &fitted.doing,
            image: &image,
            folder: options.out,
            limit,
            stop: options.stop,
        };
        let passed = pass.run()?;
        let mut folded = Folded::new(&fitted, passed, writer.dir(), &format!("sched-{number}.dat"));
        experiment.untraced = experiment.untraced.take().or(folded.untraced);
        edges = edges.or_else(|| folded.edges.take());
        experiment.repetitions.push(folded.repetition);
        experiment.interrupted = options.stop.load(Relaxed) || number < wanted;
        writer.experiment(&experiment)?;
        report(&experiment);
    }
    experiment.interrupted = options.stop.load(Relaxed) || experiment.repetitions.len() < wanted as usize;
    writer.experiment(&experiment)?;
    Ok((experiment, edges))
}

impl Fitted {
    fn new(plan: Plan, image: &Image, folder: &Path, stop: &AtomicBool) -> Result<Fitted, SchedError> {
        let mut kinds: Vec<Kind> = plan.threads.iter().map(|thread| thread.workload).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let rates = calibrate(&kinds, image, plan.pinned, plan.scale, folder, stop)?;
        let rate = |kind: Kind| rates.iter().find(|(known, _)| *known == kind).map(|(_, rate)| *rate);
        let (mut doing, mut bodies) = (Vec::new(), Vec::new());
        for thread in &plan.threads {
            let rate: Rate = rate(thread.workload).ok_or_else(|| SchedError::thread(&thread.name, "not calibrated"))?;
            let (steps, body) = rate.fit(thread);
            doing.push(steps);
            bodies.push(body);
        }
        let predicted = plan.predict(&bodies, &vec![1.0; bodies.len()], CALIBRATED, Beside::default());
        Ok(Fitted { plan, doing, bodies, predicted })
    }

    /// Returns the time after its release at which a thread ends even if its work is not done.
    fn limit(&self) -> Nanos {
        let longest =
            self.predicted.iter().filter_map(|prediction| prediction.ends_ns).max().unwrap_or(Nanos::from_secs(60));
        self.plan.at_most.unwrap_or(Nanos(longest.0.saturating_mul(3)) + Nanos::from_secs(2))
    }

    /// Returns the calibrated CPU time of thread `n`; `None` if its work is endless.
    pub fn alone(&self, n: usize) -> Option<Nanos> {
        Some(Nanos(self.bodies[n].work().0.saturating_mul(self.bodies[n].loops?)))
    }

    /// Returns the body of thread `n`, scaled to the time that it actually spent on a CPU and asleep.
    pub fn as_run(&self, n: usize, on_cpu: Nanos, slept: Option<Nanos>) -> Body {
        let ratio = |part: Nanos, whole: Nanos| part.0 as f64 / whole.0.max(1) as f64;
        let body = match self.alone(n) {
            Some(alone) if alone.0 > 0 => self.bodies[n].scaled(ratio(on_cpu, alone)),
            _ => self.bodies[n].clone(),
        };
        let Some(slept) = slept.filter(|_| self.plan.threads[n].workload == Kind::CannyIo) else { return body };
        let factor = ratio(slept, body.sleep());
        let stretch = |action: &Action| match action {
            Action::Sleep(length) => Action::Sleep(Nanos((length.0 as f64 * factor) as u64)),
            other => *other,
        };
        Body { actions: body.actions.iter().map(stretch).collect(), loops: body.loops }
    }

    fn planned(&self, spec: &Spec, notes: Vec<String>) -> Experiment {
        let bounds = self.plan.bounds(&self.bodies);
        let steps = |doing: &[Do]| doing.iter().map(|d| if let Do::Steps(n) = d { *n } else { 0 }).sum::<u64>();
        let thread = |n: usize| {
            let thread = &self.plan.threads[n];
            PlannedThread {
                name: thread.name.clone(),
                scheduling: thread.scheduling,
                cpus: thread.cpus.clone(),
                workload: thread.workload.name().into(),
                offset_ns: thread.offset,
                steps: thread.body.loops.map(|loops| loops.saturating_mul(steps(&self.doing[n]))),
                alone_ns: self.alone(n),
                predicted: self.predicted[n],
                bound_ns: bounds[n],
            }
        };
        Experiment {
            schema: EXPERIMENT_SCHEMA.into(),
            name: spec.name.clone(),
            about: spec.about.clone(),
            scale_ns: self.plan.scale,
            pinned: self.plan.pinned,
            free: self.plan.free.clone(),
            system: self.plan.system.clone(),
            threads: (0..self.plan.threads.len()).map(thread).collect(),
            repetitions: Vec::new(),
            untraced: None,
            notes,
            interrupted: true,
        }
    }
}
