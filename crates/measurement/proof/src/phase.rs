//! One phase: load, measuring threads, context, and waiting for the end or a signal.

use crate::capture::State;
use crate::checkpoints::{Checkpoints, Results};
use crate::error::ProofError;
use crate::options::{Observer, Options, Step};
use crate::recorder::ToDisk;
use crate::until;
use crate::watching::Watching;
use punctual_loads::{Load, LoadSettings, LoadSpec};
use punctual_measure::{self as measure, Context, ContextPlan, Outcome, Plan, Running, Tick};
use punctual_model::{Claim, CpuResult, Event, Phase, Problem, ProblemKind, Round};
use punctual_rt::monotonic;
use punctual_uapi::{Sig, SignalSet, Waited, wait};
use punctual_units::{CpuList, Nanos, Scheduling, Way};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a phase needs besides its plan.
pub(crate) struct Surroundings<'a> {
    pub recorder: &'a Arc<Mutex<ToDisk>>,
    pub signals: &'a SignalSet,
    pub housekeeping: &'a CpuList,
    pub context: bool,
    pub settings: &'a LoadSettings,
    pub options: &'a Options,
    /// Claims that one wakeup can refute, and end the run by it.
    pub refutable: Vec<Claim>,
    /// The earlier rounds, where the phase is measured in rounds.
    pub rounds: Option<Vec<Round>>,
}

/// A measured phase.
pub(crate) struct Measured {
    pub phase: Phase,
    pub outcome: Outcome,
    pub context_wakeups: u64,
    pub context_cpu_ns: Option<u64>,
    pub locked_bytes: Option<u64>,
    pub ended_by: Option<Sig>,
    /// Ended early because a wakeup had decided all there was to decide.
    pub enough: bool,
    /// Time run before recording.
    pub warmup: Nanos,
}

/// A thread that was asked to end may take this long; then its results are taken as they stand.
const PATIENCE: Nanos = Nanos::from_millis(700);
/// How often is looked whether a wakeup has refuted a claim, where one can; and how often an observer's tick is called.
pub(crate) const LOOK_EVERY: Nanos = Nanos::from_secs(1);

impl Surroundings<'_> {
    pub fn recorder(&self) -> MutexGuard<'_, ToDisk> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures one phase under `spec`.
    ///
    /// # Errors
    /// The measuring threads are refused what they need; a load that does not start is a problem of the phase.
    pub fn measure(
        &self,
        mut plan: Plan,
        spec: &LoadSpec,
        name: &str,
        trace: &mut State,
        meanwhile: &mut dyn FnMut(&mut dyn Observer),
        observer: &mut dyn Observer,
    ) -> Result<Measured, ProofError> {
        let mut problems = Vec::new();
        plan.bell = trace.bell();
        if plan.warmup == Nanos::ZERO {
            meanwhile(observer);
            self.trace(trace, None, observer)?;
        }
        let mut load = self.start_load(spec, name, &mut problems);
        let before = measure::clocks();
        let running = measure::start(plan.clone())?;
        let mut phase = announced(&plan, name, &running, self.rounds.as_deref());
        self.write_begin(&phase, running.start);
        // Both take a while and disturb; the warm-up is not recorded. On a busy machine they take longer than that.
        let checkpoints = self.checkpoints(&plan, &running, &mut problems);
        meanwhile(observer);
        let disturbed = self.trace(trace, Some(running.start), observer);
        drop(checkpoints);
        let locked_bytes = own_memory("VmLck:");
        let context = self.start_context(&plan, &running, name, (load.as_ref(), observer.tick()), &mut problems);
        if let Some(load) = &mut load {
            load.start_recording();
        }
        let watched = running.cells().into_iter().zip(running.tids()).map(|((cpu, cell), (_, tid))| (cpu, tid, cell));
        let watch = trace.watch(&plan.phase, watched.collect());
        let watching = Watching::new(&plan, &running, self.recorder);
        observer.phase_runs(watching.clone());
        let tick = tick_of_waiting(context.is_some(), self.housekeeping, observer);
        let ticks = context.is_some() || tick.is_some();
        observer.step(Step::Measuring { start: running.start, end: watching.end, ticks });
        let (ended_by, end) = self.wait_for_end(&running, &watching, tick.as_ref());
        if let Some(load) = &mut load {
            load.stop_recording();
        }
        observer.step(Step::Collecting);
        // While the measuring threads are still there to be looked at.
        let cost = context.map(Context::finish);
        phase.traced = trace.unwatch(watch);
        if let (Some(traced), Ok(Some(text))) = (&mut phase.traced, &disturbed) {
            traced.problems.push(text.clone());
        }
        let outcome = running.collect();
        disturbed?;
        phase.load_report = load.map(Load::stop);
        problems.extend(outcome.problems.iter().cloned());
        problems.extend(cost.iter().flat_map(|c| c.problems.clone()));
        problems.extend(asleep(&before));
        phase.problems = problems;
        concluded(&mut phase, &outcome);
        self.write_end(plan.phase, end, outcome.end);
        Ok(Measured {
            phase,
            outcome,
            context_wakeups: cost.as_ref().map_or(0, |c| c.wakeups),
            context_cpu_ns: cost.map(|c| c.cpu_ns),
            locked_bytes,
            ended_by,
            enough: end == End::Enough,
            warmup: plan.warmup,
        })
    }

    /// Switches tracing on, where it is wanted and not on yet.
    fn trace(
        &self,
        trace: &mut State,
        start: Option<Nanos>,
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, ProofError> {
        if trace.wanted() {
            observer.step(Step::Tracing);
        }
        trace.start(self.options, start)
    }

    /// Hands results on until the context thread does. Nobody does where no thread but the measuring ones is wanted.
    fn checkpoints(&self, plan: &Plan, running: &Running, problems: &mut Vec<Problem>) -> Option<Checkpoints> {
        let results = Results { phase: plan.phase.clone(), cells: running.cells(), start: running.start };
        let started = self.context.then(|| Checkpoints::start(results, Arc::clone(self.recorder)))?;
        let not = |e| format!("no results were handed on until the context was sampled: {e}");
        started.map_err(|e| problems.push(Problem { kind: ProblemKind::NotAsAsked, text: not(e) })).ok()
    }

    fn write_begin(&self, phase: &Phase, start: Nanos) {
        let mut recorder = self.recorder();
        recorder.writer.event(&Event::PhaseStart { mono_ns: start.0, phase: phase.id.clone() });
        recorder.writer.phase_started(phase);
    }

    fn write_end(&self, phase: String, how: End, end: Nanos) {
        let mut recorder = self.recorder();
        if how == End::User {
            recorder.writer.event(&Event::EndedEarly { mono_ns: end.0, phase: phase.clone() });
        }
        recorder.writer.event(&Event::PhaseEnd { mono_ns: end.0, phase });
    }

    /// Idle is no load; one that does not start is a problem of the phase.
    fn start_load(&self, spec: &LoadSpec, name: &str, problems: &mut Vec<Problem>) -> Option<Load> {
        if name == "idle" {
            return None;
        }
        Load::start(spec, self.settings)
            .inspect_err(|e| {
                problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text: e.to_string() });
            })
            .ok()
    }

    fn start_context(
        &self,
        plan: &Plan,
        running: &Running,
        name: &str,
        (load, tick): (Option<&Load>, Option<Tick>),
        problems: &mut Vec<Problem>,
    ) -> Option<Context> {
        if !self.context {
            return None;
        }
        let beats = load.map(|load| {
            let watch = load.watch();
            (name.to_owned(), Box::new(move || watch.progress().beats) as measure::Beats)
        });
        let context = ContextPlan {
            phase: plan.phase.clone(),
            cells: running.cells(),
            tids: running.tids(),
            housekeeping: self.housekeeping.clone(),
            load: beats,
            pace: measure::Pace::default(),
            tick,
        };
        match Context::start(context, self.recorder.clone()) {
            Ok(context) => Some(context),
            Err(e) => {
                let text = format!("the machine's context was not sampled: {e}");
                problems.push(Problem { kind: ProblemKind::NotAsAsked, text });
                None
            }
        }
    }

    /// Sleeps until the phase is over; a signal or the user ends it early, and so does a wakeup that decides the last claim,
    /// within a second. Nothing is woken in between where no wakeup can and there is no `tick` to call.
    fn wait_for_end(&self, running: &Running, watching: &Watching, tick: Option<&Tick>) -> (Option<Sig>, End) {
        let (mut signal, mut enough) = (None, false);
        let most = if self.refutable.is_empty() && tick.is_none() { Nanos(u64::MAX) } else { LOOK_EVERY };
        while signal.is_none() && !enough && !watching.next_wanted() && monotonic() < running.end {
            match wait(self.signals, Some(running.end.saturating_sub(monotonic()).min(most))) {
                // A load that dies tells so in its report; and so the user's wish is told.
                Waited::Signal(Sig::Chld) | Waited::TimedOut => {}
                Waited::Signal(other) => signal = Some(other),
            }
            tick.inspect(|tick| tick());
            let is_refuted = |cell| until::is_refuted(&self.refutable, self.options.deadline, cell);
            enough = !self.refutable.is_empty() && running.cells().iter().any(|(_, cell)| is_refuted(cell));
        }
        // Too late a wish is none: the phase has had its time.
        let mut end = match (signal, enough) {
            (Some(_), _) => End::Signal,
            _ if monotonic() >= running.end => End::Time,
            (None, true) => End::Enough,
            (None, false) => End::User,
        };
        let give_up = monotonic() + PATIENCE;
        while !running.finished() && monotonic() < give_up {
            match end {
                End::Signal => running.stop(),
                End::Enough => running.stop_with_enough(),
                End::User => running.end_early(),
                End::Time => {}
            }
            match wait(self.signals, Some(Nanos::from_micros(500))) {
                Waited::Signal(Sig::Chld) | Waited::TimedOut => {}
                Waited::Signal(other) => (signal, end) = (Some(other), End::Signal),
            }
        }
        if !running.finished() {
            running.stop();
        }
        (signal, end)
    }
}

/// What the waiting thread is to call once a second: nothing where the context thread does, nor where it would wake a measured CPU.
pub(crate) fn tick_of_waiting(context: bool, housekeeping: &CpuList, observer: &dyn Observer) -> Option<Tick> {
    if context || housekeeping.is_empty() { None } else { observer.tick() }
}

/// Why a phase, or a round of it, came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It has had its time.
    Time,
    /// The last claim was decided.
    Enough,
    /// The user wants the next one.
    User,
    /// A signal.
    Signal,
}

/// The phase as it stands when it begins.
pub fn announced(plan: &Plan, load: &str, running: &Running, rounds: Option<&[Round]>) -> Phase {
    let this = Round { start_mono_ns: running.start.0, end_mono_ns: None };
    let thread = |(cpu, tid)| CpuResult {
        cpu,
        tid: Some(tid),
        got: Some(plan.scheduling),
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
    };
    Phase {
        id: plan.phase.clone(),
        load: load.to_owned(),
        label: None,
        start_mono_ns: Some(running.start.0),
        end_mono_ns: None,
        planned_ns: Some(plan.duration),
        cpus: running.tids().into_iter().map(thread).collect(),
        load_report: None,
        traced: None,
        rounds: rounds.map_or_else(Vec::new, |earlier| [earlier, &[this]].concat()),
        problems: Vec::new(),
    }
}

/// What the measuring threads and the load brought, in the phase's record.
fn concluded(phase: &mut Phase, outcome: &Outcome) {
    let end_mono_ns = Some(outcome.end.0);
    phase.end_mono_ns = end_mono_ns;
    phase.rounds = phase.rounds.last().map(|round| Round { end_mono_ns, ..*round }).into_iter().collect();
    phase.cpus = outcome.cpus.clone();
    if let Some(report) = phase.load_report.as_ref().filter(|report| !report.ran) {
        let text = report.why_not.clone().unwrap_or_else(|| "it gives no reason".into());
        phase.problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text });
    }
}

/// Was the machine suspended since? The context thread sees it too; without one this is all there is.
fn asleep(before: &punctual_model::Stamp) -> Option<Problem> {
    measure::clock_events(before, &measure::clocks()).into_iter().find_map(|event| match event {
        Event::Suspend { asleep_ns, .. } => Some(Problem {
            kind: ProblemKind::Suspended,
            text: format!("the machine was suspended for {} in this phase", Nanos(asleep_ns)),
        }),
        _ => None,
    })
}

/// A line of /proc/self/status that counts kB, in bytes (proc_pid_status(5)).
pub(crate) fn own_memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Policy in words for the record.
pub(crate) fn clock_and_sleep(via: &Way, scheduling: Scheduling) -> String {
    format!("{}, {scheduling}", via.clock_and_call())
}
