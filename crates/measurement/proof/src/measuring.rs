//! The steps of a complete run: preparation, the phases, the conclusion.

use crate::app;
use crate::auditing::Auditing;
use crate::capture::{HIDING, State};
use crate::concluding::{Done, conclude};
use crate::error::ProofError;
use crate::meter::Part;
use crate::methods::Method;
use crate::options::{Observer, Options, Step, Trace, When};
use crate::partition::{self, Partitions};
use crate::phase::{Measured, Surroundings, own_memory};
use crate::recorder::ToDisk;
use crate::rounds;
use crate::scheduling;
use crate::setup;
use crate::subject::Subject;
use crate::unchanged::Unchanged;
use crate::until::{self, Schedule, Why};
use punctual_loads::{LoadSettings, LoadSpec};
use punctual_measure::{self as measure, Plan, Topology};
use punctual_model::{Claim, EndedBy, Explained, MachineFacts, OwnCost, Phase, Recording};
use punctual_rundir::{self as rundir, Writer};
use punctual_uapi::{self as uapi, Sig, SignalSet};
use punctual_units::{CpuList, Nanos, Scheduling};
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the signals that end a run, and SIGCHLD. They must be blocked in the main thread before that thread starts
/// another.
pub fn signals() -> SignalSet {
    SignalSet::new(&[Sig::Hup, Sig::Int, Sig::Quit, Sig::Term, Sig::Chld])
}

/// Measures wakeup latency under each load, and judges the claims if there are any.
///
/// # Errors
/// Nothing was measured.
pub fn measure(options: &Options, observer: &mut dyn Observer) -> Result<Done, ProofError> {
    prepared(Subject::Measured, options)?.run(observer)
}

/// Audits, measures, explains, judges, and writes the report.
///
/// # Errors
/// Nothing was measured.
pub fn prove(options: &Options, observer: &mut dyn Observer) -> Result<Done, ProofError> {
    prepared(Subject::Proven, options)?.run(observer)
}

/// Like [`measure`], but measures with `method`, and does not trace late wakeups.
///
/// # Errors
/// Nothing was measured. For the kernel tracers also: this kernel does not have them, or they are in use.
pub fn measure_by(method: Method, options: &Options, observer: &mut dyn Observer) -> Result<Done, ProofError> {
    if options.trace.when == When::Always {
        return Err(ProofError::Usage(format!("with --via {method} late wakeups are not traced: leave out --trace")));
    }
    if options.until.is_some() {
        return Err(ProofError::Usage(format!("--via {method} measures for a fixed time: leave out --until-decided")));
    }
    let options = Options { trace: Trace { when: When::Never, ..options.trace }, ..options.clone() };
    prepared(Subject::Method(method), &options)?.run(observer)
}

pub(crate) fn prepared(subject: Subject, options: &Options) -> Result<Measurement<'_>, ProofError> {
    punctual_watchdog::command();
    Measurement::prepare(subject, options)
}

/// Why a run ends early.
#[derive(Default)]
struct End {
    signal: Option<Sig>,
    failed: Option<String>,
    error: Option<String>,
    enough: bool,
}

impl End {
    fn is_over(&self) -> bool {
        self.signal.is_some() || self.failed.is_some() || self.enough
    }
}

/// A run that is prepared but has not started.
pub(crate) struct Measurement<'a> {
    options: &'a Options,
    subject: Subject,
    specs: Vec<(String, LoadSpec)>,
    plan: Plan,
    load_settings: LoadSettings,
    housekeeping: CpuList,
    recorder: Arc<Mutex<ToDisk>>,
    dma_latency: Option<File>,
    partitions: Option<Partitions>,
    unchanged: Option<Unchanged>,
    cost: OwnCost,
    trace: State,
    schedule: Schedule,
    /// Why a longer measurement cannot decide any claim; `None` if it can.
    hopeless: Option<String>,
    /// Scheduling and CPUs to audit for, and the measured processes; `None` after the audit.
    audit: Option<(Scheduling, CpuList, Vec<i32>)>,
    /// Everything that was written to disk, kept in memory in case the disk fails.
    kept: Recording,
    /// Explained wakeups of completed phases; empty unless the observer asks for them.
    explained: Vec<Explained>,
}

impl<'a> Measurement<'a> {
    /// Checks the options, plans the run, and creates the run directory.
    ///
    /// # Errors
    /// The options or the machine do not allow the run. After an error, only the affinity of this thread and, for
    /// SCHED_DEADLINE, cpusets may have changed.
    pub fn prepare(subject: Subject, options: &'a Options) -> Result<Measurement<'a>, ProofError> {
        let (method, proving) = (subject.method(), subject.is_proving());
        uapi::install_wakeup()?;
        let specs = setup::parse_loads(options)?;
        let topology = Topology::read()?;
        let cpus = topology.choose(options.cpus.as_ref())?;
        let (cpus, left, choice) = match method {
            Some(method) => {
                let choice = scheduling::choose(&method.policy(options)?)?;
                let (cpus, left) = method.check(&topology, cpus, options, choice.scheduling)?;
                (cpus, left, Some(choice))
            }
            None => (cpus, None, None),
        };
        let plan = setup::plan(options, &cpus, specs.len())?;
        let (plan_period, load_count) = (plan.period, specs.len());
        let choice = choice.map_or_else(|| scheduling::choose(options), Ok)?;
        let partitions = match method {
            Some(_) => None,
            None => partition::where_needed(choice.scheduling, options.cpus.as_ref(), &cpus)?,
        };
        // After this, only the measuring threads can use the measured CPUs.
        let topology = if partitions.is_some() { Topology::read()? } else { topology };
        let housekeeping = topology.housekeeping(&cpus);
        if !housekeeping.is_empty() {
            uapi::set_affinity(0, &housekeeping)?;
        }
        let groups = partitions.as_ref().map(Partitions::groups).unwrap_or_default();
        let unchanged = options.changes.as_deref().map(|changes| Unchanged::begin(&cpus, changes)).transpose()?;
        let scheduling = choice.scheduling;
        let plan = Plan { cpus, scheduling, senders: housekeeping.clone(), groups, ..plan };
        let mut run = setup::new_run(options, &plan, choice.explicit);
        run.problems.extend(choice.problem.filter(|_| method != Some(Method::Hwlat)));
        run.notes.extend(left);
        match method {
            Some(method) => method.note(&mut run, scheduling),
            None if matches!(subject, Subject::Application(_)) => app::note(&mut run),
            None => run.notes.extend(setup::policy_note(scheduling, partitions.is_some())),
        }
        let dma_latency = setup::hold_dma_latency(options, &mut run)?;
        if proving {
            run.machine = setup::facts();
        }
        let load_settings = setup::load_settings(options, &topology, &specs);
        setup::check_loads(&specs, &load_settings)?;
        let mut writer = Writer::create(&options.out, run.clone(), options.sync)?;
        let dir = writer.dir().clone();
        let (own, least) = match &subject {
            Subject::Application(shared) => app::audited(shared),
            _ => (Vec::new(), None),
        };
        let audit = proving.then(|| (least.unwrap_or(choice.wanted), plan.cpus.clone(), own));
        if proving {
            writer.machine("before", &run.machine)?;
        }
        let kept = Recording::new(run);
        let recorder = Arc::new(Mutex::new(ToDisk::new(
            writer,
            options.worst_kept,
            options.maxima_block,
            // Claims about values of an application do not apply to these samples.
            punctual_judge::block_limits(&own_claims(&options.claims)),
        )));
        let cost = OwnCost { context_cpus: setup::where_context_runs(options, &housekeeping), ..OwnCost::default() };
        Ok(Measurement {
            options,
            subject,
            specs,
            plan,
            load_settings,
            housekeeping,
            recorder,
            dma_latency,
            partitions,
            unchanged,
            cost,
            trace: State::new(options, &dir),
            schedule: Schedule::new(
                options.duration,
                options.until,
                plan_period,
                load_count,
                measure::clocks().mono_ns,
            ),
            hopeless: None,
            audit,
            kept,
            explained: Vec::new(),
        })
    }

    /// Measures all phases, closes the run directory, and concludes the run.
    ///
    /// # Errors
    /// Not even the first phase could start.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Done, ProofError> {
        let signals = signals();
        let specs = std::mem::take(&mut self.specs);
        let mut end = End::default();
        self.unchanged.iter().flat_map(Unchanged::problems).for_each(|what| observer.not_alone(what));
        while let Some(slice) = self.schedule.slice() {
            self.plan.duration = slice;
            self.round(&specs, &signals, &mut end, observer)?;
            self.schedule.done = self.schedule.done + slice;
            if self.options.until.is_none() || end.is_over() || !self.look(specs.len(), observer) {
                break;
            }
        }
        punctual_watchdog::concluding("the steps after the measurement");
        self.kept.run.notes.extend(observer.measured());
        observer.step(Step::Writing);
        if let (Some(unchanged), Some(changes)) = (self.unchanged.take(), &self.options.changes) {
            let (problems, notes) = unchanged.end(changes);
            self.kept.run.problems.extend(problems);
            self.kept.run.notes.extend(notes);
        }
        drop(self.dma_latency.take());
        let removed = self.partitions.take().map_or(Ok(()), Partitions::remove);
        self.kept.run.notes.extend(removed.err().into_iter().flatten());
        let (tracing, left) = self.trace.end();
        self.kept.run.tracing = tracing;
        self.kept.run.notes.extend(left);
        self.end_of_looks(&end);
        let ended_by = match (end.signal, &end.failed) {
            (Some(s), _) => EndedBy::Signal { number: s.number(), name: s.name().into() },
            (None, Some(text)) => EndedBy::Error { text: text.clone() },
            (None, None) => EndedBy::Duration,
        };
        Ok(self.finish(end.signal, ended_by, end.failed.or(end.error), observer))
    }

    fn is_proving(&self) -> bool {
        self.subject.is_proving()
    }

    fn round(
        &mut self,
        specs: &[(String, LoadSpec)],
        signals: &SignalSet,
        end: &mut End,
        observer: &mut dyn Observer,
    ) -> Result<(), ProofError> {
        for (turn, number) in self.schedule.order(specs.len()).into_iter().enumerate() {
            let Some((name, spec)) = specs.get(number) else { continue };
            if turn > 0 {
                self.unchanged.iter_mut().for_each(Unchanged::look);
            }
            observer.phase_starts(turn + 1, specs.len(), name, self.plan.duration + self.plan.warmup);
            let measured = match self.phase(number, name, spec, signals, observer) {
                Ok(measured) => measured,
                Err(e) if self.kept.run.phases.is_empty() => return Err(e),
                // Results of earlier phases are kept.
                Err(e) => {
                    end.failed = Some(e.to_string());
                    break;
                }
            };
            (end.signal, end.enough) = (measured.ended_by, measured.enough);
            end.error = end.error.take().or(self.keep(measured, observer));
            if observer.wants_causes() {
                self.explain(&setup::phase_id(number, name), observer);
            }
            if end.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Explains the traced wakeups of a completed phase for the observer. At the end of the run, all of them are
    /// explained again with all known facts.
    fn explain(&mut self, phase: &str, observer: &mut dyn Observer) {
        let Some((dir, captures)) = self.trace.captures(phase) else { return };
        punctual_watchdog::concluding("the explanation of a phase");
        // At the end of the run, a note lists data that could not be read.
        let new = punctual_analyse::explain_captures(dir, &captures, &self.kept).0;
        self.explained.retain(|one| one.phase != phase);
        self.explained.extend(new);
        observer.explained(&self.kept, &self.explained);
    }

    /// Checks the claims. Returns true if a longer measurement can decide at least one of them.
    fn look(&mut self, loads: usize, observer: &mut dyn Observer) -> bool {
        let seen = until::look(&mut self.kept, &self.options.claims, measure::clocks().mono_ns);
        let number = self.kept.run.looks.len();
        let left = match seen.hopeless {
            None => until::left(&seen, number as u64, &self.schedule, loads, self.plan.warmup),
            Some(_) => None,
        };
        observer.looked(number, &seen.look, self.options.claims.len(), left);
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        recorder.writer.run_mut().looks.clone_from(&self.kept.run.looks);
        drop(recorder);
        self.hopeless = seen.hopeless.filter(|_| !seen.look.open.is_empty());
        !seen.look.open.is_empty() && self.hopeless.is_none()
    }

    /// Notes how a run with `--until-decided` ended. If it ended early, the claims are checked once more.
    fn end_of_looks(&mut self, end: &End) {
        let Some(max) = self.options.until else { return };
        if end.is_over() {
            until::look(&mut self.kept, &self.options.claims, measure::clocks().mono_ns);
        }
        let why = match &self.hopeless {
            _ if end.enough => Why::Refuted,
            Some(why) => Why::Hopeless(why),
            None => Why::Other,
        };
        let notes = until::notes(&self.kept, &self.options.claims, max, why);
        self.kept.run.notes.extend(notes);
    }

    fn phase(
        &mut self,
        number: usize,
        name: &str,
        spec: &LoadSpec,
        signals: &SignalSet,
        observer: &mut dyn Observer,
    ) -> Result<Measured, ProofError> {
        let mut plan = Plan { phase: setup::phase_id(number, name), ..self.plan.clone() };
        if (self.audit.is_some() || self.trace.wanted()) && plan.warmup > Nanos::ZERO {
            plan.warmup = plan.warmup.max(HIDING);
        }
        let before = self.kept.run.phases.iter().find(|p| p.id == plan.phase);
        let written = before.and_then(|p| p.load_report.as_ref()).map_or(0, |report| report.written_bytes);
        let settings = LoadSettings {
            write_cap_bytes: self.schedule.allowance(self.load_settings.write_cap_bytes.saturating_sub(written)),
            phase: plan.duration + self.options.warmup,
            ..self.load_settings.clone()
        };
        let until = self.options.until.is_some();
        let surroundings = Surroundings {
            refutable: if until { until::refutable(&self.options.claims, &self.kept.run.looks) } else { Vec::new() },
            rounds: until.then(|| before.map_or_else(Vec::new, |p| p.rounds.clone())),
            recorder: &self.recorder,
            signals,
            housekeeping: &self.housekeeping,
            context: self.options.context,
            settings: &settings,
            options: self.options,
            subject: self.subject.clone(),
        };
        surroundings.recorder().begin(rounds::earlier(&self.kept, &plan.phase));
        if self.options.context && self.is_proving() {
            let events = measure::between_phases(&plan.cpus);
            events.iter().for_each(|event| surroundings.recorder().writer.event(event));
        }
        let (trace, audit, recorder, notes) =
            (&mut self.trace, &mut self.audit, &self.recorder, &mut self.kept.run.notes);
        surroundings.measure(plan, spec, name, trace, &mut |observer| fetch(audit, recorder, notes, observer), observer)
    }

    /// Records a measured phase on disk and in memory. Returns the error if writing fails.
    fn keep(&mut self, measured: Measured, observer: &mut dyn Observer) -> Option<String> {
        let Measured { parts, start, cpu_ns, notes, context_wakeups, context_cpu_ns, locked_bytes, warmup, .. } =
            measured;
        self.cost.locked_bytes = self.cost.locked_bytes.max(locked_bytes);
        self.cost.context_wakeups += context_wakeups;
        self.cost.context_cpu_ns = add(self.cost.context_cpu_ns, context_cpu_ns);
        self.cost.measuring_cpu_ns = add(self.cost.measuring_cpu_ns, cpu_ns);
        if self.cost.start_to_first_sample_ns.is_none() {
            let first = start.saturating_sub(warmup);
            self.cost.start_to_first_sample_ns = Some(first.saturating_sub(self.options.started_mono).0);
        }
        for note in notes {
            if !self.kept.run.notes.contains(&note) {
                self.kept.run.notes.push(note);
            }
        }
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).end_blocks();
        let mut failure = None;
        for (phase, part) in parts {
            failure = failure.or(self.keep_part(phase, part, observer));
        }
        failure
    }

    fn keep_part(&mut self, mut phase: Phase, part: Part, observer: &mut dyn Observer) -> Option<String> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner).shares.move_to(&mut phase.cpus);
        observer.phase_ended(&phase, part.worst.iter().max_by_key(|w| w.latency_ns));
        let earlier = rounds::earlier(&self.kept, &phase.id);
        let (distributions, worst) = rounds::add_all(part.distributions, part.worst, &earlier, self.plan.keep);
        let place = self.kept.run.phases.iter().position(|p| p.id == phase.id);
        let all = |cpu| distributions.iter().find(|(c, _)| *c == cpu).map(|(_, d)| d.clone());
        let phase = match place.and_then(|at| self.kept.run.phases.get(at)) {
            Some(before) => rounds::merge(before, phase, &all),
            None => phase,
        };
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let written = recorder.writer.phase_done(phase.clone(), &distributions, worst.clone());
        let failure = recorder.writer.failure().map(str::to_owned).or(written.err().map(|e| e.to_string()));
        drop(recorder);
        for (cpu, distribution) in distributions {
            self.kept.distributions.insert((phase.id.clone(), cpu), distribution);
        }
        self.kept.worst.retain(|w| w.phase != phase.id);
        self.kept.worst.extend(worst);
        match place.and_then(|at| self.kept.run.phases.get_mut(at)) {
            Some(before) => *before = phase,
            None => self.kept.run.phases.push(phase),
        }
        failure
    }

    fn finish(
        mut self,
        signal: Option<Sig>,
        ended_by: EndedBy,
        error: Option<String>,
        observer: &mut dyn Observer,
    ) -> Done {
        let (facts, proving) = (setup::facts(), self.is_proving());
        self.cost.rss_bytes = own_memory("VmHWM:");
        let run = &mut self.kept.run;
        if !proving {
            run.machine = facts.clone();
        }
        run.complete = ended_by == EndedBy::Duration;
        run.ended = Some(measure::clocks());
        run.ended_by = Some(ended_by);
        run.cost = Some(self.cost.clone());
        let closed = self.close(&facts);
        let dir = self.recorder.lock().unwrap_or_else(PoisonError::into_inner).writer.dir().clone();
        let recording = match rundir::read_dir(&dir) {
            Ok(recording) if closed.is_ok() => recording,
            // Results that could not be saved are still reported.
            _ => self.kept,
        };
        let error = error.or(closed.err().map(|e| e.to_string()));
        conclude(&dir, recording, self.options, proving, (signal, error), observer)
    }

    fn close(&mut self, after: &MachineFacts) -> Result<(), rundir::Error> {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = &mut recorder.writer;
        *writer.run_mut() = self.kept.run.clone();
        if self.options.context && self.is_proving() {
            measure::between_phases(&self.plan.cpus).iter().for_each(|event| writer.event(event));
        }
        if self.is_proving() {
            writer.machine("after", after)?;
        }
        if let Subject::Application(shared) = &self.subject {
            let watched = shared.lock().unwrap_or_else(PoisonError::into_inner);
            writer.application(&watched.application)?;
        }
        writer.finish()
    }
}

/// Returns the claims about wakeup latency.
fn own_claims(claims: &[Claim]) -> Vec<Claim> {
    claims.iter().filter(|claim| claim.of.is_none()).cloned().collect()
}

/// Waits for the audit's result unless it was fetched before. It is not called before the first sample, because a new
/// process would delay that sample.
fn fetch(
    audit: &mut Option<(Scheduling, CpuList, Vec<i32>)>,
    recorder: &Mutex<ToDisk>,
    notes: &mut Vec<String>,
    observer: &mut dyn Observer,
) {
    let Some((wanted, cpus, own)) = audit.take() else { return };
    observer.step(Step::Auditing);
    let audited = Auditing::start(wanted, &cpus, &own).and_then(Auditing::finish);
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let written = audited.and_then(|text| recorder.writer.findings_text(&text).map_err(|e| e.to_string()));
    notes.extend(written.err().map(|why| format!("the machine could not be audited: {why}")));
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
