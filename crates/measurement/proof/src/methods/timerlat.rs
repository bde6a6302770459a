//! `timerlat`: the kernel's measurement of a periodic thread, in a private trace instance. All samples are recorded.

use super::lane::{KINDS, Lane};
use super::settings::{Change, Settings};
use super::user::{self, User};
use crate::error::ProofError;
use crate::meter::{self, Collected, Meter, Part, Stop};
use crate::stream::Stream;
use punctual_journal::Journal;
use punctual_measure::{Cell, Plan, cut_short};
use punctual_model::{CpuResult, Problem, ProblemKind};
use punctual_rt::monotonic;
use punctual_trace::Kind;
use punctual_tracefs::{Config, Flight, Instance, Tracefs, TracefsError};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Scheduling};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of the kinds of latency, the same as for imported files of rtla.
pub(super) const LABELS: [&str; KINDS] = ["IRQ latency", "thread latency", "return-to-user latency"];

/// Interval at which the buffer is read. With the shortest period, a CPU writes about 3000 records of 32 bytes in this
/// time; its buffer holds at least 512 KiB.
const EVERY: Nanos = Nanos::from_millis(100);

/// timerlat_min_period and timerlat_max_period (kernel/trace/trace_osnoise.c).
const PERIODS: (Nanos, Nanos) = (Nanos::from_micros(100), Nanos::from_secs(1));

pub(super) struct Timerlat {
    start: Nanos,
    end: Nanos,
    period: Nanos,
    lanes: Vec<(CpuId, Lane)>,
    /// CPU, thread ID and policy of the kernel's threads, or of the threads of the user-space process.
    threads: Vec<(CpuId, i32, Scheduling)>,
    stream: Stream,
    // Fields are dropped in this order, as required: readers of the files, the tracer, its settings.
    user: Option<User>,
    flight: Option<Flight>,
    settings: Settings,
    stopped: Option<Stop>,
    failed: Option<String>,
    notes: Vec<String>,
}

/// Checks the period and the policy.
///
/// # Errors
/// timerlat does not support the period or the policy.
pub(super) fn check(period: Nanos, scheduling: Scheduling) -> Result<(), ProofError> {
    if period < PERIODS.0 || period > PERIODS.1 || !period.0.is_multiple_of(1_000) {
        let text =
            format!("timerlat takes periods of 100us to 1s in whole microseconds, not {period}: choose with --period");
        return Err(ProofError::Usage(text));
    }
    match scheduling.policy() {
        Policy::Deadline => {
            let text = "timerlat's threads are pinned, which SCHED_DEADLINE does not allow: choose --policy fifo";
            Err(ProofError::Usage(text.into()))
        }
        _ => Ok(()),
    }
}

/// Returns the tracefs of this kernel if the kernel has this tracer.
///
/// # Errors
/// The kernel lacks the tracer. The message names a kernel that has it.
pub(super) fn find(tracer: &str) -> Result<Tracefs, ProofError> {
    let environment = |e: TracefsError| ProofError::Environment(e.to_string());
    let tracefs = Tracefs::find().map_err(environment)?;
    let tracers = tracefs.tracers().map_err(environment)?;
    if tracers.iter().any(|name| name == tracer) {
        return Ok(tracefs);
    }
    let config = tracer.to_uppercase();
    Err(ProofError::Environment(format!(
        "this kernel has no {tracer} tracer: it needs CONFIG_{config}_TRACER (Debian: install linux-image-rt-amd64 or \
         linux-image-rt-arm64; linux-image-amd64 has none); this kernel has: {}",
        tracers.join(" ")
    )))
}

/// Starts the tracer and, if the kernel supports it, its user-space process.
///
/// # Errors
/// The tracer cannot be used; all settings are restored.
pub(super) fn start(plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
    let environment = |e: TracefsError| ProofError::Environment(e.to_string());
    let tracefs = find("timerlat")?;
    if let Some(who) = user_of(tracefs.root()) {
        let text = format!(
            "{} uses the osnoise or timerlat tracer, whose settings are shared: end that process first",
            who.display()
        );
        return Err(ProofError::Environment(text));
    }
    let osnoise = tracefs.root().join("osnoise");
    let has_user = plan.cpus.iter().all(|cpu| user::file(&osnoise, cpu).exists());
    let journal = Journal::of_user();
    // Created before the instance, because after a kill the changes are undone in reverse order.
    let settings = Settings::change(&journal, changes(&osnoise, plan, has_user)?)?;
    let config = Config { events: &[], buffer_kb: None, tracer: None, stacks: None };
    let mut instance = Instance::create(&tracefs, &journal, &config).map_err(environment)?;
    instance.start_tracer("timerlat").map_err(environment)?;
    let flight = Flight::new(instance).map_err(environment)?;
    let mut notes = Vec::new();
    let (user, threads) = if has_user {
        let user = User::start(&osnoise, &plan.cpus, plan.scheduling)?;
        let threads = user.threads.iter().map(|t| (t.cpu, t.tid, t.got)).collect();
        (Some(user), threads)
    } else {
        notes.push(
            "this kernel's timerlat has no user-space part (which requires Linux 6.5): the return to user space was not measured"
                .into(),
        );
        (None, kernel_threads(&plan.cpus, plan.scheduling)?)
    };
    let start = monotonic() + Nanos::from_millis(2) + plan.warmup;
    let end = start + plan.duration;
    let lane = |cpu| (cpu, Lane::new(plan.period, plan.keep, start, end, has_user));
    Ok(Box::new(Timerlat {
        start,
        end,
        period: plan.period,
        lanes: plan.cpus.iter().map(lane).collect(),
        threads,
        stream: Stream::new(&flight),
        user,
        flight: Some(flight),
        settings,
        stopped: None,
        failed: None,
        notes,
    }))
}

/// Returns the changes to the tracer's shared settings for this phase.
fn changes(osnoise: &Path, plan: &Plan, user: bool) -> Result<Vec<Change>, ProofError> {
    let mut changes = Vec::new();
    changes.extend(Change::of(osnoise.join("timerlat_period_us"), (plan.period.0 / 1_000).to_string())?);
    changes.extend(Change::of(osnoise.join("cpus"), plan.cpus.to_string())?);
    // A threshold that another user has set would end the recording.
    for name in ["stop_tracing_us", "stop_tracing_total_us", "print_stack"] {
        let path = osnoise.join(name);
        if path.exists() {
            changes.extend(Change::of(path, "0".into())?);
        }
    }
    changes.extend(Change::option(osnoise.join("options"), "OSNOISE_WORKLOAD", !user)?);
    Ok(changes)
}

fn user_of(root: &Path) -> Option<PathBuf> {
    let instances = fs::read_dir(root.join("instances")).into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(root.to_owned()).chain(instances).find(|folder| {
        let tracer = fs::read_to_string(folder.join("current_tracer")).unwrap_or_default();
        matches!(tracer.trim(), "timerlat" | "osnoise")
    })
}

/// Sets policy and priority of the tracer's threads, and reads them back.
fn kernel_threads(cpus: &CpuList, scheduling: Scheduling) -> Result<Vec<(CpuId, i32, Scheduling)>, ProofError> {
    let mut found = Vec::new();
    for (cpu, tid) in threads_named("timerlat/") {
        if !cpus.contains(cpu) {
            continue;
        }
        uapi::set_scheduling(tid, scheduling, false)?;
        found.push((cpu, tid, uapi::scheduling(tid)?.0));
    }
    let missing = cpus.iter().find(|cpu| !found.iter().any(|(found, ..)| found == cpu));
    match missing {
        Some(cpu) => Err(ProofError::Environment(format!("the kernel started no timerlat thread on CPU {cpu}"))),
        None => Ok(found),
    }
}

/// Returns the kernel threads whose names start with `prefix`, each with the CPU number that follows it.
fn threads_named(prefix: &str) -> Vec<(CpuId, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let thread = |name: &str| {
        let tid: i32 = name.parse().ok()?;
        let comm = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
        // Any thread can have this name, but only kernel threads have an empty command line.
        let kernel = fs::read(format!("/proc/{tid}/cmdline")).ok()?.is_empty();
        let cpu = comm.trim().strip_prefix(prefix)?.parse().ok()?;
        kernel.then_some((CpuId(cpu), tid))
    };
    entries.filter_map(|entry| thread(entry.file_name().to_str()?)).collect()
}

impl Timerlat {
    fn take(&mut self, last: bool) -> Result<(), String> {
        let Some(flight) = &mut self.flight else { return Ok(()) };
        let mut events = self.stream.take(flight).map_err(|e| format!("the trace could not be read: {e}"))?;
        if last {
            events.extend(self.stream.rest());
        }
        for event in events {
            let Kind::Timerlat { count, context, latency_ns } = event.kind else { continue };
            if let Some((_, lane)) = self.lanes.iter_mut().find(|(cpu, _)| cpu.0 == event.cpu) {
                lane.record(event.t_ns, count, context, latency_ns);
            }
        }
        Ok(())
    }

    /// Restores all settings, and notes what could not be restored.
    fn restore(&mut self) {
        if let Some(user) = &mut self.user {
            user.end();
        }
        if let Some(flight) = self.flight.take() {
            self.notes.extend(flight.end().err().into_iter().flatten());
        }
        self.notes.extend(self.settings.restore().err().into_iter().flatten());
    }

    fn problems(&mut self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut add = |kind, text: String| problems.push(Problem { kind, text });
        if let Some(why) = &self.failed {
            add(ProblemKind::Interrupted, why.clone());
        }
        let now = monotonic();
        if let Some(why) = self.stopped {
            let Problem { kind, text } =
                cut_short(why == Stop::User, now.saturating_sub(self.start), self.end.saturating_sub(self.start));
            add(kind, text);
        }
        for (cpu, lane) in &mut self.lanes {
            if let Some(since) = lane.finish(now) {
                let waited = Nanos(now.0.saturating_sub(since));
                if waited > self.period {
                    let text =
                        format!("at the end the thread on CPU {cpu} had been waiting for {waited} and had not run");
                    add(ProblemKind::Interrupted, text);
                }
            }
            if lane.restarts > 0 {
                let text = format!(
                    "another program restarted the tracer on CPU {cpu} ({} times): samples are missing",
                    lane.restarts
                );
                add(ProblemKind::Storage, text);
            }
        }
        problems
    }

    fn part(&self, kind: usize, label: &'static str, problems: &[Problem]) -> Part {
        let mut part = Part { label: Some(label), problems: problems.to_vec(), ..Part::default() };
        for (cpu, lane) in &self.lanes {
            let thread = self.threads.iter().find(|(of, ..)| of == cpu);
            let totals = CpuResult {
                tid: thread.map(|(_, tid, _)| *tid),
                got: thread.map(|(.., got)| *got),
                ..meter::nothing(*cpu)
            };
            if let Some(cell) = lane.cells.get(kind) {
                meter::add(&mut part, *cpu, cell, totals);
            }
            if let Some(lost) = lane.lost.get(kind).filter(|lost| **lost > 0) {
                let text = format!(
                    "CPU {cpu}: {lost} samples were overwritten before they were read: this program got no CPU time for a while"
                );
                part.problems.push(Problem { kind: ProblemKind::Storage, text });
            }
        }
        part
    }
}

impl Meter for Timerlat {
    fn start(&self) -> Nanos {
        self.start
    }

    fn end(&self) -> Nanos {
        self.end
    }

    fn cells(&self) -> Vec<(CpuId, Arc<Cell>)> {
        // The cell for the latency of the thread, which every kernel reports.
        self.lanes.iter().map(|(cpu, Lane { cells: [_, thread, _], .. })| (*cpu, Arc::clone(thread))).collect()
    }

    fn tick(&self) -> Option<Nanos> {
        Some(EVERY)
    }

    fn step(&mut self) -> Result<(), String> {
        let result = match self.user.as_mut().is_some_and(User::has_ended) {
            true => Err("timerlat's user-space threads ended: another program changed the tracer".into()),
            false => self.take(false),
        };
        result.inspect_err(|why| self.failed = Some(why.clone()))
    }

    fn stop(&mut self, why: Stop) {
        self.stopped.get_or_insert(why);
    }

    fn finished(&self) -> bool {
        true
    }

    fn collect(mut self: Box<Self>) -> Collected {
        // The records of the last releases may not have been written yet.
        if self.stopped.is_none() && self.failed.is_none() {
            std::thread::sleep(Nanos(self.period.0.max(1_000_000)).into());
        }
        let end = monotonic();
        if let Err(why) = self.take(true) {
            self.failed.get_or_insert(why);
        }
        let problems = self.problems();
        self.restore();
        let kinds = if self.user.is_some() { KINDS } else { KINDS - 1 };
        let parts = LABELS.iter().enumerate().take(kinds).map(|(kind, label)| self.part(kind, label, &problems));
        Collected { parts: parts.collect(), end, cpu_ns: None, notes: std::mem::take(&mut self.notes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::Priority;

    #[test]
    fn periods_and_policies_that_it_does_not_take_are_refused() {
        let fifo = Scheduling::Fifo { priority: Priority::try_from(90).unwrap() };
        assert!(check(Nanos::from_millis(1), fifo).is_ok());
        for period in [Nanos::from_micros(99), Nanos(100_500), Nanos::from_secs(2)] {
            assert!(check(period, fifo).unwrap_err().is_usage());
        }
        let deadline = Scheduling::Deadline {
            runtime_ns: Nanos(1),
            deadline_ns: Nanos::from_millis(1),
            period_ns: Nanos::from_millis(1),
        };
        assert!(check(Nanos::from_millis(1), deadline).is_err());
    }

    #[test]
    fn another_user_of_the_tracer_is_found() {
        let home = tempfile::tempdir().unwrap();
        let one = home.path().join("instances/one");
        fs::create_dir_all(&one).unwrap();
        fs::write(home.path().join("current_tracer"), "nop\n").unwrap();
        fs::write(one.join("current_tracer"), "function\n").unwrap();
        assert_eq!(user_of(home.path()), None);
        fs::write(one.join("current_tracer"), "timerlat\n").unwrap();
        assert_eq!(user_of(home.path()), Some(one));
    }

    #[test]
    fn only_what_differs_is_changed() {
        let home = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        put("timerlat_period_us", "1000\n");
        put("cpus", "0-3\n");
        put("stop_tracing_us", "0\n");
        put("stop_tracing_total_us", "30\n");
        let plan = Plan {
            phase: String::new(),
            cpus: "1-2".parse().unwrap(),
            scheduling: Scheduling::Other { nice: 0 },
            groups: Default::default(),
            via: Default::default(),
            senders: Default::default(),
            period: Nanos::from_millis(1),
            alignment: punctual_model::Alignment::Aligned,
            warmup: Nanos::ZERO,
            duration: Nanos::from_secs(1),
            keep: 1,
            limits: Vec::new(),
            bell: None,
        };
        assert_eq!(changes(home.path(), &plan, true).unwrap().len(), 2);
        put("options", "OSNOISE_WORKLOAD");
        assert_eq!(changes(home.path(), &plan, true).unwrap().len(), 3);
        assert_eq!(changes(home.path(), &plan, false).unwrap().len(), 2);
    }
}
