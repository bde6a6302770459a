//! One phase: starts the load, the measuring threads and the context thread, and waits for the end or a signal.

use crate::capture::State;
use crate::checkpoints::{Checkpoints, Results};
use crate::error::ProofError;
use crate::meter::{Collected, Meter, Part, Stop};
use crate::options::{Observer, Options, Step};
use crate::recorder::ToDisk;
use crate::subject::{Subject, name_value};
use crate::until;
use crate::watching::Watching;
use punctual_loads::{Load, LoadSettings, LoadSpec};
use punctual_measure::{self as measure, Context, ContextPlan, Plan, Tick};
use punctual_model::{Claim, CpuResult, Event, Phase, Problem, ProblemKind, Round};
use punctual_rt::monotonic;
use punctual_uapi::{Sig, SignalSet, Waited, wait};
use punctual_units::{CpuList, Nanos, Scheduling, WakeupSource};
use punctual_watchdog as watchdog;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) struct Surroundings<'a> {
    pub recorder: &'a Arc<Mutex<ToDisk>>,
    pub signals: &'a SignalSet,
    pub housekeeping: &'a CpuList,
    pub context: bool,
    pub settings: &'a LoadSettings,
    pub options: &'a Options,
    pub subject: Subject,
    /// Claims that a single wakeup can refute; such a wakeup ends the run.
    pub refutable: Vec<Claim>,
    /// The earlier rounds; `None` unless the phase is measured in rounds.
    pub rounds: Option<Vec<Round>>,
}

pub(crate) struct Measured {
    /// The results. Each kind of values is a phase of the run.
    pub parts: Vec<(Phase, Part)>,
    /// CLOCK_MONOTONIC of the first recorded release.
    pub start: Nanos,
    pub cpu_ns: Option<u64>,
    /// Notes that do not affect the verdict.
    pub notes: Vec<String>,
    pub context_wakeups: u64,
    pub context_cpu_ns: Option<u64>,
    pub locked_bytes: Option<u64>,
    pub ended_by: Option<Sig>,
    /// True if the phase ended early because a wakeup decided every claim.
    pub enough: bool,
    pub warmup: Nanos,
}

/// Name of the phase without a load.
const IDLE: &str = "idle";

/// The time of tasks on the measured CPUs when an idle phase begins.
struct Others {
    busy_ns: u64,
    /// CPU time of this process.
    own_ns: u64,
    since: Nanos,
}

impl Others {
    fn begin(cpus: &CpuList) -> Option<Others> {
        Some(Others { busy_ns: measure::busy_ns(cpus)?, own_ns: own_ns(), since: monotonic() })
    }

    /// Returns the time of tasks of other processes since then, ns, and how long ago that was.
    fn end(&self, cpus: &CpuList) -> Option<(u64, Nanos)> {
        let busy = measure::busy_ns(cpus)?.saturating_sub(self.busy_ns);
        Some((busy.saturating_sub(own_ns() - self.own_ns), monotonic().saturating_sub(self.since)))
    }
}

/// Returns the CPU time of this process: all of its threads, on any CPU.
fn own_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Returns the share of the time of `cpus` CPUs that `busy_ns` is.
fn share_of(busy_ns: u64, lasted: Nanos, cpus: usize) -> f64 {
    let all = lasted.0 as f64 * cpus.max(1) as f64;
    (busy_ns as f64 / all.max(1.0)).clamp(0.0, 1.0)
}

/// Time allowed for a thread to end after it was asked to. After that, its results so far are used.
const PATIENCE: Nanos = Nanos::from_millis(700);
/// Interval at which the claims that a single wakeup can refute are checked, and at which the observer's tick is
/// called.
pub(crate) const LOOK_EVERY: Nanos = Nanos::from_secs(1);

impl Surroundings<'_> {
    pub fn recorder(&self) -> MutexGuard<'_, ToDisk> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Measures one phase under the load `spec`.
    ///
    /// # Errors
    /// The measuring threads could not be created or configured. A load that cannot start is only a problem of the
    /// phase.
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
        watchdog::starting(format!("the phase {}", plan.phase), Duration::from_nanos(plan.warmup.0));
        plan.bell = trace.bell();
        if plan.warmup == Nanos::ZERO {
            meanwhile(observer);
            self.trace(trace, None, observer)?;
        }
        let mut load = self.start_load(spec, name, &mut problems);
        let before = measure::clocks();
        let mut meter = self.subject.start(&plan, self.options, name)?;
        let start = meter.start();
        let mut phase = announced(&plan, name, start, meter.begun(), self.rounds.as_deref());
        let label = self.subject.label();
        self.subject.name(&mut phase, label, self.options);
        if let Some((value, period)) = meter.value() {
            name_value(&mut phase, &value, period, self.options);
        }
        self.write_begin(&phase, start);
        // The audit and the start of tracing disturb the machine for a while. The warm-up is not recorded, but on a
        // busy machine they may take longer.
        let checkpoints = self.checkpoints(&phase.id, &*meter, &mut problems);
        meanwhile(observer);
        let disturbed = self.trace(trace, Some(start), observer);
        drop(checkpoints);
        let locked_bytes = own_memory("VmLck:");
        let context = self.start_context(&phase.id, &*meter, name, (load.as_ref(), observer.tick()), &mut problems);
        if let Some(load) = &mut load {
            load.start_recording();
        }
        let others = (name == IDLE).then(|| Others::begin(&plan.cpus));
        let watched = meter.cells().into_iter().zip(meter.tids()).map(|((cpu, cell), (_, tid))| (cpu, tid, cell));
        let watch = trace.watch(&plan.phase, watched.collect());
        let seen = Arc::clone(&self.recorder().seen);
        let watching = Watching::new(&plan, &*meter, self.recorder.clone(), seen);
        observer.phase_runs(watching.clone());
        let tick = tick_of_waiting(context.is_some(), self.housekeeping, observer);
        let ticks = context.is_some() || tick.is_some();
        observer.step(Step::Measuring { start, end: watching.end, ticks });
        let left = watching.end.saturating_sub(monotonic());
        watchdog::measuring(format!("the phase {}", plan.phase), Duration::from_nanos(left.0));
        let (ended_by, end) = self.wait_for_end(&mut *meter, &watching, tick.as_ref());
        watchdog::ending();
        if let Some(load) = &mut load {
            load.stop_recording();
        }
        observer.step(Step::Collecting);
        let cost = context.map(Context::finish);
        phase.traced = trace.unwatch(watch);
        if let (Some(traced), Ok(Some(text))) = (&mut phase.traced, &disturbed) {
            traced.problems.push(text.clone());
        }
        let others = others.flatten().map(|others| others.end(&plan.cpus));
        let Collected { parts, end: ended, cpu_ns, mut notes } = meter.collect();
        // An application under proof and the kernel's own tracers would count as others.
        let others = others.flatten().filter(|_| cpu_ns.is_some());
        phase.busy_with_others = others.map(|(busy_ns, lasted)| share_of(busy_ns, lasted, plan.cpus.len()));
        notes.extend(cost.iter().flat_map(|cost| cost.notes.clone()));
        disturbed?;
        phase.load_report = load.map(Load::stop);
        phase.end_mono_ns = Some(ended.0);
        phase.rounds =
            phase.rounds.last().map(|round| Round { end_mono_ns: phase.end_mono_ns, ..*round }).into_iter().collect();
        let late: Vec<Problem> =
            cost.iter().flat_map(|c| c.problems.clone()).chain(asleep(&before)).chain(not_run(&phase)).collect();
        self.write_end(phase.id.clone(), end, ended);
        let named = |mut part: Part| {
            let mut phase = phase.clone();
            if part.label != label {
                phase.id.clone_from(&plan.phase);
                self.subject.name(&mut phase, part.label, self.options);
            }
            if let Some((value, period)) = &part.value {
                phase.id.clone_from(&plan.phase);
                name_value(&mut phase, value, *period, self.options);
            }
            let own = std::mem::take(&mut part.problems);
            phase.problems = [&problems[..], &own, &late].concat();
            phase.cpus = std::mem::take(&mut part.cpus);
            part.worst.iter_mut().for_each(|worst| worst.phase.clone_from(&phase.id));
            (phase, part)
        };
        Ok(Measured {
            parts: parts.into_iter().map(named).collect(),
            start,
            cpu_ns,
            notes,
            context_wakeups: cost.as_ref().map_or(0, |c| c.wakeups),
            context_cpu_ns: cost.map(|c| c.cpu_ns),
            locked_bytes,
            ended_by,
            enough: end == End::Enough,
            warmup: plan.warmup,
        })
    }

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

    /// Saves results while the audit runs and tracing starts, until the context thread does so. Does nothing if no
    /// context thread is requested, because waiting for the disk would delay the reader of a kernel tracer.
    fn checkpoints(&self, phase: &str, meter: &dyn Meter, problems: &mut Vec<Problem>) -> Option<Checkpoints> {
        let results = Results { phase: phase.to_owned(), cells: meter.cells(), start: meter.start() };
        let wanted = self.context && matches!(self.subject, Subject::Proven | Subject::Measured);
        let started = wanted.then(|| Checkpoints::start(results, Arc::clone(self.recorder)))?;
        let not = |e| format!("no results were saved until the context was sampled: {e}");
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

    /// Starts the load, except for idle, which has none. A load that does not start is a problem of the phase.
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
        phase: &str,
        meter: &dyn Meter,
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
            phase: phase.to_owned(),
            cells: meter.cells(),
            tids: meter.tids(),
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

    /// Sleeps until the phase is over. A signal or the user ends it early; so does a wakeup that decides the last open
    /// claim, within a second. The thread sleeps without interruption if no wakeup can decide a claim, the meter takes
    /// no samples, and there is no `tick`.
    fn wait_for_end(&self, meter: &mut dyn Meter, watching: &Watching, tick: Option<&Tick>) -> (Option<Sig>, End) {
        let (mut signal, mut enough, mut failed) = (None, false, false);
        let looks = (!self.refutable.is_empty() || tick.is_some()).then_some(LOOK_EVERY);
        let most = [meter.tick(), looks].into_iter().flatten().min().unwrap_or(Nanos(u64::MAX));
        while signal.is_none() && !enough && !failed && !watching.next_wanted() && monotonic() < meter.end() {
            match wait(self.signals, Some(meter.end().saturating_sub(monotonic()).min(most))) {
                // A load that dies reports it later. A request of the user also arrives as SIGCHLD.
                Waited::Signal(Sig::Chld) | Waited::TimedOut => {}
                Waited::Signal(other) => signal = Some(other),
            }
            tick.inspect(|tick| tick());
            // The results include the failure.
            failed = meter.step().is_err();
            let is_refuted = |cell| until::is_refuted(&self.refutable, self.options.deadline, cell);
            enough = !self.refutable.is_empty() && meter.cells().iter().any(|(_, cell)| is_refuted(cell));
        }
        // A request that comes too late has no effect, because the phase is complete.
        let mut end = match (signal, enough) {
            (Some(_), _) => End::Signal,
            _ if failed || monotonic() >= meter.end() => End::Time,
            (None, true) => End::Enough,
            (None, false) => End::User,
        };
        let give_up = monotonic() + PATIENCE;
        loop {
            match end {
                End::Signal => meter.stop(Stop::Now),
                End::Enough => meter.stop(Stop::Enough),
                End::User => meter.stop(Stop::User),
                End::Time => {}
            }
            if meter.finished() || monotonic() >= give_up {
                break;
            }
            match wait(self.signals, Some(Nanos::from_micros(500))) {
                Waited::Signal(Sig::Chld) | Waited::TimedOut => {}
                Waited::Signal(other) => (signal, end) = (Some(other), End::Signal),
            }
        }
        if !meter.finished() {
            meter.stop(Stop::Now);
        }
        (signal, end)
    }
}

/// Returns the function that the waiting thread calls once a second; `None` if the context thread calls it, or the call
/// would wake a measured CPU.
pub(crate) fn tick_of_waiting(context: bool, housekeeping: &CpuList, observer: &dyn Observer) -> Option<Tick> {
    if context || housekeeping.is_empty() { None } else { observer.tick() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Time,
    Enough,
    User,
    Signal,
}

/// Returns the phase as recorded when it starts. `cpus` are the results at that time ([`crate::begun`]).
pub fn announced(plan: &Plan, load: &str, start: Nanos, cpus: Vec<CpuResult>, rounds: Option<&[Round]>) -> Phase {
    let this = Round { start_mono_ns: start.0, end_mono_ns: None };
    Phase {
        id: plan.phase.clone(),
        load: load.to_owned(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(start.0),
        end_mono_ns: None,
        planned_ns: Some(plan.duration),
        cpus,
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: rounds.map_or_else(Vec::new, |earlier| [earlier, &[this]].concat()),
        problems: Vec::new(),
    }
}

fn not_run(phase: &Phase) -> Option<Problem> {
    let report = phase.load_report.as_ref().filter(|report| !report.ran)?;
    let text = report.why_not.clone().unwrap_or_else(|| "it gives no reason".into());
    Some(Problem { kind: ProblemKind::LoadDidNotRun, text })
}

/// Returns a problem if the machine was suspended. Without a context thread there is no other check for this.
fn asleep(before: &punctual_model::Stamp) -> Option<Problem> {
    measure::clock_events(before, &measure::clocks()).into_iter().find_map(|event| match event {
        Event::Suspend { asleep_ns, .. } => Some(Problem {
            kind: ProblemKind::Suspended,
            text: format!("the machine was suspended for {} in this phase", Nanos(asleep_ns)),
        }),
        _ => None,
    })
}

/// Returns the value of a line of /proc/self/status that is given in kB (proc_pid_status(5)), in bytes.
pub(crate) fn own_memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

pub(crate) fn clock_and_sleep(via: &WakeupSource, scheduling: Scheduling) -> String {
    format!("{}, {scheduling}", via.clock_and_call())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_others_is_one_of_all_measured_cpus() {
        let second = Nanos::from_secs(1);
        assert_eq!(share_of(800_000_000, second, 2), 0.4);
        assert_eq!(share_of(0, second, 2), 0.0);
        assert_eq!(share_of(u64::MAX, Nanos(0), 0), 1.0);
    }
}
