//! A run by one of these ways: phase after phase into a run directory.

use super::begin::{asleep, new_run, start_load, without_policy};
use super::meter::{Collected, Meter, Part, nothing};
use super::{KernelWay, hwlat, poll, timerlat};
use crate::capture;
use crate::error::ProofError;
use crate::measuring::{Done, signals};
use crate::options::{Observer, Options, Step};
use crate::phase::{LOOK_EVERY, own_memory, tick_of_waiting};
use crate::recorder::ToDisk;
use crate::scheduling;
use crate::setup;
use punctual_loads::{Load, LoadSettings, LoadSpec};
use punctual_measure::{self as measure, Context, ContextPlan, Plan, Tick, Topology};
use punctual_model::{EndedBy, Event, OwnCost, Phase, Problem, ProblemKind, Recording};
use punctual_rt::monotonic;
use punctual_rundir::{self as rundir, Writer};
use punctual_uapi::{self as uapi, Sig, SignalSet, Waited, wait};
use punctual_units::{CpuList, Nanos};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was asked to end may take this long; then its results are taken as they stand.
const PATIENCE: Nanos = Nanos::from_millis(700);

/// Everything set up, nothing measured yet.
pub(super) struct Job<'a> {
    way: KernelWay,
    options: &'a Options,
    specs: Vec<(String, LoadSpec)>,
    plan: Plan,
    load_settings: LoadSettings,
    housekeeping: CpuList,
    recorder: Arc<Mutex<ToDisk>>,
    dma_latency: Option<File>,
    signals: SignalSet,
    cost: OwnCost,
    /// What goes to disk, kept in case the disk fails.
    kept: Recording,
}

/// How a phase went.
struct Measured {
    start: Nanos,
    signal: Option<Sig>,
    error: Option<String>,
}

impl<'a> Job<'a> {
    /// Checks and decides everything, and makes the run directory.
    ///
    /// # Errors
    /// [`ProofError`]; nothing was changed but the affinity of this thread.
    pub fn prepare(way: KernelWay, options: &'a Options) -> Result<Job<'a>, ProofError> {
        uapi::install_wakeup()?;
        let specs = setup::parse_loads(options)?;
        let topology = Topology::read()?;
        let cpus = topology.choose(options.cpus.as_ref())?;
        let choice = scheduling::choose(&without_policy(way, options)?)?;
        let (cpus, left) = match way {
            KernelWay::BusyPoll => poll::cpus(&topology, cpus, options.cpus.is_some(), choice.scheduling)?,
            KernelWay::Timerlat => timerlat::check(options.period, choice.scheduling).map(|()| (cpus, None))?,
            KernelWay::Hwlat => (cpus, None),
        };
        if way != KernelWay::BusyPoll {
            timerlat::find(way.name())?;
        }
        let plan = Plan { scheduling: choice.scheduling, ..setup::plan(options, &cpus, specs.len())? };
        let housekeeping = topology.housekeeping(&cpus);
        if !housekeeping.is_empty() {
            uapi::set_affinity(0, &housekeeping)?;
        }
        let mut run = new_run(way, options, &plan, choice.explicit);
        run.problems.extend(choice.problem.filter(|_| way != KernelWay::Hwlat));
        run.notes.extend(left);
        if way == KernelWay::BusyPoll {
            run.notes.extend(poll::notes(plan.scheduling, capture::fair_server()));
        }
        let dma_latency = setup::hold_dma_latency(options, &mut run)?;
        let writer = Writer::create(&options.out, run.clone(), options.sync)?;
        let cost = OwnCost { context_cpus: setup::where_context_runs(options, &housekeeping), ..OwnCost::default() };
        Ok(Job {
            way,
            options,
            load_settings: setup::load_settings(options, &topology, &specs),
            specs,
            plan,
            housekeeping,
            recorder: Arc::new(Mutex::new(ToDisk::new(writer, options.worst_kept, options.maxima_block))),
            dma_latency,
            signals: signals(),
            cost,
            kept: Recording::new(run),
        })
    }

    /// Measures all phases, and closes the run directory.
    ///
    /// # Errors
    /// Not even the first phase could begin.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Done, ProofError> {
        let (mut signal, mut error, mut failed) = (None, None, None);
        let specs = std::mem::take(&mut self.specs);
        for (number, (name, spec)) in specs.iter().enumerate() {
            observer.phase_starts(number + 1, specs.len(), name, self.plan.duration + self.plan.warmup);
            match self.phase(number, name, spec, observer) {
                Ok(measured) => {
                    signal = measured.signal;
                    error = error.or(measured.error);
                    if self.cost.start_to_first_sample_ns.is_none() {
                        let first = measured.start.saturating_sub(self.plan.warmup);
                        let took = first.saturating_sub(self.options.started_mono);
                        self.cost.start_to_first_sample_ns = Some(took.0);
                    }
                }
                Err(e) if self.kept.run.phases.is_empty() => return Err(e),
                // What was measured before is not given up for it.
                Err(e) => failed = Some(e.to_string()),
            }
            if signal.is_some() || failed.is_some() {
                break;
            }
        }
        self.kept.run.notes.extend(observer.measured());
        observer.step(Step::Writing);
        drop(self.dma_latency.take());
        let ended_by = match (signal, &failed) {
            (Some(s), _) => EndedBy::Signal { number: s.number(), name: s.name().into() },
            (None, Some(text)) => EndedBy::Error { text: text.clone() },
            (None, None) => EndedBy::Duration,
        };
        Ok(self.finish(signal, ended_by, failed.or(error), observer))
    }

    fn recorder(&self) -> MutexGuard<'_, ToDisk> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
        match self.way {
            KernelWay::BusyPoll => poll::start(plan.clone()),
            KernelWay::Timerlat => timerlat::start(plan),
            KernelWay::Hwlat => hwlat::start(plan),
        }
    }

    fn phase(
        &mut self,
        number: usize,
        name: &str,
        spec: &LoadSpec,
        observer: &mut dyn Observer,
    ) -> Result<Measured, ProofError> {
        let id = setup::phase_id(number, name);
        let plan = Plan { phase: id.clone(), ..self.plan.clone() };
        let mut problems = Vec::new();
        let mut load = start_load(spec, name, &self.load_settings, &mut problems);
        let before = measure::clocks();
        let mut meter = self.start(&plan)?;
        let start = meter.start();
        self.cost.locked_bytes = self.cost.locked_bytes.max(own_memory("VmLck:"));
        let announced = self.announce(&*meter, &id, name, &plan);
        let context = self.start_context(&*meter, &announced.id, name, (load.as_ref(), observer.tick()), &mut problems);
        load.iter_mut().for_each(Load::start_recording);
        let tick = tick_of_waiting(context.is_some(), &self.housekeeping, observer);
        let ticks = context.is_some() || tick.is_some();
        observer.step(Step::Measuring { start, end: meter.end(), ticks });
        let signal = self.wait_for_end(&mut *meter, tick.as_ref());
        observer.step(Step::Collecting);
        load.iter_mut().for_each(Load::stop_recording);
        let context = context.map(Context::finish);
        let collected = meter.collect();
        let report = load.map(Load::stop);
        if let Some(cost) = context {
            self.cost.context_wakeups += cost.wakeups;
            self.cost.context_cpu_ns = Some(self.cost.context_cpu_ns.unwrap_or(0) + cost.cpu_ns);
            problems.extend(cost.problems);
        }
        problems.extend(asleep(&before));
        if let Some(report) = report.as_ref().filter(|report| !report.ran) {
            let text = report.why_not.clone().unwrap_or_else(|| "it gives no reason".into());
            problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text });
        }
        self.recorder().writer.event(&Event::PhaseEnd { mono_ns: collected.end.0, phase: announced.id.clone() });
        let phase = Phase { end_mono_ns: Some(collected.end.0), load_report: report, problems, ..announced };
        let error = self.keep(&id, &phase, collected, observer);
        Ok(Measured { start, signal, error })
    }

    /// The phase as it stands when it begins, for who reads the run meanwhile or after a kill.
    fn announce(&self, meter: &dyn Meter, id: &str, load: &str, plan: &Plan) -> Phase {
        let label = self.label();
        let phase = Phase {
            id: self.part_id(id, label),
            load: load.to_owned(),
            label: Some(self.shown(label, load)),
            start_mono_ns: Some(meter.start().0),
            end_mono_ns: None,
            planned_ns: Some(plan.duration),
            cpus: meter.cells().iter().map(|(cpu, _)| nothing(*cpu)).collect(),
            load_report: None,
            traced: None,
            problems: Vec::new(),
            rounds: Vec::new(),
        };
        let mut recorder = self.recorder();
        recorder.writer.event(&Event::PhaseStart { mono_ns: meter.start().0, phase: phase.id.clone() });
        recorder.writer.phase_started(&phase);
        phase
    }

    /// The label of the phase that is followed while it runs.
    fn label(&self) -> &'static str {
        match self.way {
            KernelWay::BusyPoll => poll::LABEL,
            KernelWay::Timerlat => timerlat::LABELS[1],
            KernelWay::Hwlat => hwlat::LABEL,
        }
    }

    /// `2-cpu-thread-latency`, where there is more than one kind.
    fn part_id(&self, id: &str, label: &str) -> String {
        match self.way {
            KernelWay::Timerlat => format!("{id}-{}", label.to_ascii_lowercase().replace(' ', "-")),
            KernelWay::BusyPoll | KernelWay::Hwlat => id.to_owned(),
        }
    }

    /// The label with the load, where there are several.
    fn shown(&self, label: &str, load: &str) -> String {
        match self.options.loads.len() {
            0 | 1 if load == "idle" => label.to_owned(),
            _ => format!("{label}, {load}"),
        }
    }

    fn start_context(
        &self,
        meter: &dyn Meter,
        phase: &str,
        name: &str,
        (load, tick): (Option<&Load>, Option<Tick>),
        problems: &mut Vec<Problem>,
    ) -> Option<Context> {
        if !self.options.context {
            return None;
        }
        let beats = load.map(|load| {
            let watch = load.watch();
            (name.to_owned(), Box::new(move || watch.progress().beats) as measure::Beats)
        });
        let plan = ContextPlan {
            phase: phase.to_owned(),
            cells: meter.cells(),
            tids: meter.tids(),
            housekeeping: self.housekeeping.clone(),
            load: beats,
            pace: measure::Pace::default(),
            tick,
        };
        let refused = |e: std::io::Error| {
            let text = format!("the machine's context was not sampled: {e}");
            problems.push(Problem { kind: ProblemKind::NotAsAsked, text });
        };
        Context::start(plan, self.recorder.clone()).map_err(refused).ok()
    }

    /// Sleeps until the phase is over, or a signal comes; what comes meanwhile is taken.
    fn wait_for_end(&self, meter: &mut dyn Meter, tick: Option<&Tick>) -> Option<Sig> {
        let (mut signal, mut failed) = (None, false);
        let every = [meter.tick(), tick.map(|_| LOOK_EVERY)].into_iter().flatten().min();
        while signal.is_none() && !failed && monotonic() < meter.end() {
            let left = meter.end().saturating_sub(monotonic());
            match wait(&self.signals, Some(every.map_or(left, |every| every.min(left)))) {
                Waited::Signal(Sig::Chld) | Waited::TimedOut => {}
                Waited::Signal(other) => signal = Some(other),
            }
            tick.inspect(|tick| tick());
            // What failed is among the results.
            failed = meter.step().is_err();
        }
        let give_up = monotonic() + PATIENCE;
        while !meter.finished() && monotonic() < give_up {
            if signal.is_some() {
                meter.stop();
            }
            if let Waited::Signal(other) = wait(&self.signals, Some(Nanos::from_micros(500))) {
                signal = signal.or(Some(other).filter(|s| *s != Sig::Chld));
            }
        }
        if signal.is_some() || !meter.finished() {
            meter.stop();
        }
        signal
    }

    /// Books the phases that one load gave, on disk and in memory; returns what could not be written.
    fn keep(
        &mut self,
        id: &str,
        announced: &Phase,
        collected: Collected,
        observer: &mut dyn Observer,
    ) -> Option<String> {
        let Collected { parts, cpu_ns, notes, .. } = collected;
        if let Some(ns) = cpu_ns {
            self.cost.measuring_cpu_ns = Some(self.cost.measuring_cpu_ns.unwrap_or(0) + ns);
        }
        for note in notes {
            if !self.kept.run.notes.contains(&note) {
                self.kept.run.notes.push(note);
            }
        }
        self.recorder().end_blocks();
        let mut failure = None;
        for part in parts {
            failure = failure.or(self.keep_part(id, announced, part, observer));
        }
        failure
    }

    fn keep_part(&mut self, id: &str, announced: &Phase, part: Part, observer: &mut dyn Observer) -> Option<String> {
        let Part { label, cpus, distributions, mut worst, problems } = part;
        let phase = Phase {
            id: self.part_id(id, label),
            label: Some(self.shown(label, &announced.load)),
            cpus,
            problems: announced.problems.iter().cloned().chain(problems).collect(),
            ..announced.clone()
        };
        worst.iter_mut().for_each(|worst| worst.phase.clone_from(&phase.id));
        observer.phase_ended(&phase, worst.iter().max_by_key(|w| w.latency_ns));
        let mut recorder = self.recorder();
        let written = recorder.writer.phase_done(phase.clone(), &distributions, worst.clone());
        let failure = recorder.writer.failure().map(str::to_owned).or(written.err().map(|e| e.to_string()));
        drop(recorder);
        let of_phase = |(cpu, distribution)| ((phase.id.clone(), cpu), distribution);
        self.kept.distributions.extend(distributions.into_iter().map(of_phase));
        self.kept.worst.extend(worst);
        self.kept.run.phases.push(phase);
        failure
    }

    fn finish(
        mut self,
        signal: Option<Sig>,
        ended_by: EndedBy,
        error: Option<String>,
        observer: &mut dyn Observer,
    ) -> Done {
        self.cost.rss_bytes = own_memory("VmHWM:");
        let run = &mut self.kept.run;
        run.machine = setup::facts();
        run.complete = ended_by == EndedBy::Duration;
        run.ended = Some(measure::clocks());
        run.ended_by = Some(ended_by);
        run.cost = Some(self.cost.clone());
        let run = run.clone();
        let closed = {
            let mut recorder = self.recorder();
            *recorder.writer.run_mut() = run;
            recorder.writer.finish()
        };
        let root = self.options.out.clone();
        let recording = match rundir::read(&root) {
            Ok(recording) if closed.is_ok() => recording,
            // What could not be kept on disk is still told.
            _ => self.kept,
        };
        observer.step(Step::Judging);
        let verdict = punctual_judge::judge_with_tails(&recording, &self.options.claims);
        let error = error.or(closed.err().map(|e| e.to_string()));
        Done { root, recording, verdict, signal, error, report: None }
    }
}
