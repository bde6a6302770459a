//! Writes a program's tasks as a run directory for `punctual report`, `compare` and `history`.
//!
//! A task is a phase, `task:NAME`, with one histogram: the lateness of the releases that ran, and of those that were
//! skipped.
//!
//! ```no_run
//! # use punctual_rt::{Nanos, Next, Rt, Scheduling};
//! # let rt = Rt::builder().start()?;
//! # let task = rt.periodic("control", Scheduling::Other { nice: 0 }, Nanos::from_millis(1)).cycles(1_000).spawn(|_| Next::Continue)?;
//! let control = punctual_record::Taken::of(&task);
//! let finished = task.join();
//! punctual_record::write("run".as_ref(), &[control.ended(&finished)], &[])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

use punctual_machine::Live;
use punctual_model::{
    CpuResult, Distribution, EndedBy, Kind, LoadReport, Phase, Problem, ProblemKind, Run, Settings, Stamp, Tool, Worst,
};
use punctual_rt::{CpuId, CpuList, End, Finished, Nanos, Scheduling, Task, TaskStats, monotonic};
use punctual_rundir as rundir;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;

/// Properties of a task that are known from its start.
#[derive(Clone, Debug)]
pub struct Taken {
    scheduling: Scheduling,
    affinity: CpuList,
    not_resident: Option<String>,
    first: Nanos,
}

/// A task with its statistics, for [`write()`].
#[derive(Clone, Debug)]
pub struct TaskRun {
    taken: Taken,
    stats: TaskStats,
    end: Option<End>,
    /// Name and report of the load under which the task ran, if any.
    load: Option<(String, LoadReport)>,
    problems: Vec<Problem>,
    notes: Vec<String>,
    /// Why real-time scheduling was refused; `None` if it was granted or not requested.
    refused: Option<String>,
}

impl Taken {
    pub fn of(task: &Task) -> Taken {
        Taken {
            scheduling: task.applied().scheduling,
            affinity: task.applied().affinity.clone(),
            not_resident: task.not_resident().map(str::to_owned),
            first: task.first(),
        }
    }

    /// Returns the policy and priority in force.
    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    pub fn ended(self, finished: &Finished) -> TaskRun {
        TaskRun { end: Some(finished.end.clone()), ..self.so_far(finished.stats.clone()) }
    }

    pub fn so_far(self, stats: TaskStats) -> TaskRun {
        TaskRun { taken: self, stats, end: None, load: None, problems: Vec::new(), notes: Vec::new(), refused: None }
    }
}

/// Writes the tasks as a run directory at `folder`, which must be missing or empty; `command` is the program's command
/// line. Do not call this from a real-time thread: it examines the machine and writes files.
///
/// # Errors
/// [`rundir::Error`]; existing files are not changed.
pub fn write(folder: &Path, tasks: &[TaskRun], command: &[String]) -> Result<(), rundir::Error> {
    let mut writer = rundir::Writer::create(folder, run(tasks, command), true)?;
    for (number, task) in tasks.iter().enumerate() {
        let id = format!("{}-{}", number + 1, plain(task.load.as_ref().map_or(&task.stats.name, |(load, _)| load)));
        let cpu = task.cpu();
        let counted = &task.stats.counted;
        let distribution = Distribution { raw: counted.lateness.clone(), skipped: counted.given_up.clone() };
        let worst = counted.worst.map(|worst| Worst {
            phase: id.clone(),
            cpu,
            release_mono_ns: worst.scheduled.0,
            latency_ns: worst.lateness.0,
            cycle: worst.index,
            skipped: task.stats.period.0.checked_sub(1).map_or(0, |less| worst.lateness.0 / (less + 1)),
            trace_offset: None,
            suspicions: Vec::new(),
        });
        writer.phase_done(task.phase(id), &[(cpu, distribution)], worst.into_iter().collect())?;
    }
    let run = writer.run_mut();
    run.complete = tasks.iter().all(|task| task.orderly());
    run.notes = tasks.iter().flat_map(|task| task.notes.clone()).collect();
    run.ended_by = Some(EndedBy::Duration);
    run.ended = Some(stamp());
    writer.finish()
}

fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    if plain.is_empty() { "task".into() } else { plain }
}

impl TaskRun {
    /// Sets the load under which the task ran: the phase then has the load's name instead of the task's, and the load's
    /// report.
    pub fn under(mut self, load: &str, report: LoadReport) -> TaskRun {
        self.load = Some((load.to_owned(), report));
        self
    }

    /// States that the task should have been real-time, and why that was refused: its phase is then inconclusive.
    /// Without this call, an ordinary task counts as one that was requested as ordinary.
    pub fn refused(mut self, why: impl Into<String>) -> TaskRun {
        self.refused = Some(why.into());
        self
    }

    /// Adds a problem that makes the task's phase inconclusive.
    pub fn problem(mut self, problem: Problem) -> TaskRun {
        self.problems.push(problem);
        self
    }

    /// Adds a remark that does not affect the verdict.
    pub fn note(mut self, text: impl Into<String>) -> TaskRun {
        self.notes.push(text.into());
        self
    }

    fn load_name(&self) -> String {
        self.load.as_ref().map_or_else(|| format!("task:{}", self.stats.name), |(load, _)| load.clone())
    }

    /// Returns the CPU to which the task is pinned, or the first CPU of its affinity mask.
    fn cpu(&self) -> CpuId {
        self.taken.affinity.iter().next().unwrap_or(CpuId(0))
    }

    /// Returns true if the task has ended as intended, or is still running.
    fn orderly(&self) -> bool {
        matches!(self.end, None | Some(End::Returned | End::Stopped | End::Cycles))
            && !self.problems.iter().any(|problem| problem.kind == ProblemKind::Interrupted)
    }

    fn phase(&self, id: String) -> Phase {
        let TaskStats { counted, usage, at, .. } = &self.stats;
        Phase {
            id,
            load: self.load_name(),
            label: None,
            value: None,
            period_ns: None,
            start_mono_ns: Some(self.taken.first.0),
            end_mono_ns: Some(at.0.max(self.taken.first.0)),
            planned_ns: None,
            busy_with_others: None,
            cpus: vec![CpuResult {
                cpu: self.cpu(),
                tid: None,
                got: Some(self.taken.scheduling),
                // Pending releases have no lateness yet; they count once they have run or were given up.
                released: Some(counted.ran + counted.skipped),
                ran: counted.ran,
                skipped: Some(counted.skipped),
                min_ns: counted.lateness.min(),
                max_ns: counted.lateness.max(),
                mean_ns: counted.lateness.mean(),
                page_faults: usage.page_faults,
                involuntary_switches: usage.involuntary_switches,
                run_delay_ns: None,
                blur: None,
                episodes: Vec::new(),
                blocks: Vec::new(),
            }],
            // Idle is not a load and has nothing to prove.
            load_report: self
                .load
                .as_ref()
                .map(|(_, report)| report.clone())
                .filter(|report| report.workers > 0 || !report.ran),
            traced: None,
            rounds: Vec::new(),
            problems: self.problems(),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let name = &self.stats.name;
        let mut problems = self.problems.clone();
        if let Some((_, report)) = self.load.as_ref().filter(|(_, report)| !report.ran) {
            let why = report.why_not.as_deref().unwrap_or("it gave no reason");
            let text = format!("the load {} did not run: {why}", report.load);
            problems.push(Problem { kind: ProblemKind::LoadDidNotRun, text });
        }
        let mut add = |kind, text: String| problems.push(Problem { kind, text });
        if let Some(why) = &self.refused {
            add(ProblemKind::NoRealTime, format!("task {name} ran as {}: {why}", self.taken.scheduling));
        }
        if let Some(why) = &self.taken.not_resident {
            add(ProblemKind::NotAsAsked, format!("the memory of task {name} is not locked: {why}"));
        }
        if let Some(faults) = self.stats.usage.page_faults.filter(|n| *n > 0) {
            add(ProblemKind::PageFaults, format!("task {name} took {faults} page faults"));
        }
        if !matches!(self.end, None | Some(End::Returned | End::Stopped | End::Cycles)) {
            let how = match &self.end {
                Some(End::Panicked(message)) => format!("panicked: {message}"),
                Some(End::Missed) => "ended because it missed a release".into(),
                _ => "ended by an error".into(),
            };
            add(ProblemKind::Interrupted, format!("task {name} {how}"));
        }
        problems
    }
}

fn run(tasks: &[TaskRun], command: &[String]) -> Run {
    let first = tasks.first();
    let cpus = tasks.iter().map(TaskRun::cpu).collect();
    let alike = |pick: fn(&TaskRun) -> Nanos| first.map(pick).filter(|one| tasks.iter().all(|task| pick(task) == *one));
    let scheduling = first.map(|task| task.taken.scheduling);
    Run {
        started: Some(stamp()),
        host: std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned()),
        command: command.to_vec(),
        settings: Settings {
            clock: Some("CLOCK_MONOTONIC, clock_nanosleep absolute".into()),
            scheduling: scheduling.filter(|one| tasks.iter().all(|task| task.taken.scheduling == *one)),
            scheduling_explicit: tasks.iter().all(|task| task.refused.is_none()),
            period_ns: alike(|task| task.stats.period),
            cpus,
            loads: tasks.iter().map(TaskRun::load_name).collect(),
            worst_kept: 1,
            ..Settings::default()
        },
        machine: punctual_machine::facts(&Live::new()),
        ..Run::new(Tool { name: "punctual-rt".into(), version: Some(env!("CARGO_PKG_VERSION").into()) }, Kind::Latency)
    }
}

fn stamp() -> Stamp {
    let read = |id| {
        let t = clock_gettime(id);
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    };
    Stamp { mono_ns: monotonic().0, boot_ns: read(ClockId::Boottime), real_ns: read(ClockId::Realtime) }
}
