//! Ends the program and returns the result.

use super::{CheckOptions, FOR_END, Session, cpu_time, monotonic, source, threads_of};
use crate::judge::{Begin, Setting, judge, without_period};
use crate::order::is_named;
use crate::probes::MOST_HITS;
use crate::reaper::Reaped;
use crate::system::urgency;
use punctual_machine::{Live, Virtualisation, virtualisation};
use punctual_model::{Check, Outcome, State};
use punctual_units::Nanos;
use rustix::event::Timespec;
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Sources without which real-time threads may have been missed.
const NEEDED: [&str; 3] = ["real-time threads", "all of the program's work", UNOBSERVED];
/// Source that is missing if the kernel ended the observation of a process.
const UNOBSERVED: &str = "processes after an exec";

/// Duration of a program below which it is not said to have no real-time thread.
const AT_ONCE: Nanos = Nanos(100_000_000);

/// Terminates the program and what it started.
pub(super) fn end_program(mut program: Reaped) {
    program.signal(Signal::TERM);
    let until = monotonic() + FOR_END.0;
    while !program.has_ended() && monotonic() < until {
        // A signal ends the sleep earlier.
        let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 });
    }
    program.kill();
}

impl Session {
    /// Adds what is not known of a program that failed, or that ended almost at once.
    pub(super) fn short_lived(&mut self, status: Option<ExitStatus>) {
        let Some(status) = status else { return };
        let time = Nanos(self.until.saturating_sub(self.begun));
        let is_short = time < AT_ONCE && self.recorder.events > 0;
        if !status.success() || is_short && self.recorder.tids().next().is_none() {
            self.sources
                .insert(0, source("all of the program's work", Some(format!("it {} after {time}", said(status)))));
        }
    }

    pub(super) fn conclude(mut self, options: &CheckOptions, program: String, ended: String) -> Check {
        let now = monotonic();
        let lost = self.observer.lost();
        if lost > 0 {
            self.miss(
                "lost records",
                format!("the kernel could not record {lost} events: findings and counts are incomplete"),
            );
        }
        let unread = self.recorder.unread_policies;
        if unread > 0 {
            let times = if unread == 1 { "once".to_owned() } else { format!("{unread} times") };
            let why = format!(
                "{times} a policy was set for a thread that ended, or whose ID is of another PID namespace, before it could be read"
            );
            self.miss("policies of some threads", why);
        }
        let unobserved = std::mem::take(&mut self.recorder.unobserved);
        if !unobserved.is_empty() {
            let why = format!(
                "{}: the kernel ended the observation when they executed a set-user-ID program or one without read permission; observe them with --pid",
                unobserved.join(", ")
            );
            self.miss(UNOBSERVED, why);
        }
        let failed = self.recorder.failed();
        if !failed.is_empty() {
            self.sources.insert(0, source("the rest of a process", Some(failed.join("; "))));
        }
        let unprobed = self.recorder.unprobed();
        match (self.probes.missing.is_empty(), self.probes.is_any()) {
            (true, true) if !unprobed.is_empty() => self.miss(
                "allocations",
                "no allocator was found in the files of a process with real-time threads: it may be linked statically and stripped".into(),
            ),
            (true, true) => self.found("allocations"),
            (false, _) => self.miss("allocations", self.probes.missing.join("; ")),
            (true, false) => self.miss(
                "allocations",
                "no allocator was found in its files: it may be linked statically and stripped".into(),
            ),
        }
        self.probes.resume(&mut self.observer, self.until, true);
        let is_partial = self.often.is_some();
        if let Some(name) = self.often.take() {
            let rested = Nanos(self.probes.rested / 1_000_000 * 1_000_000);
            let why = format!(
                "the real-time thread {name} makes more than {MOST_HITS} of them a second and would be slowed: for {rested} they were not observed; their counts are lower bounds, and places of few are missing"
            );
            self.miss("all allocations", why);
        }
        if self.probes.is_withdrawn {
            let why =
                "the probes were removed: in real-time threads only malloc, free, calloc and realloc are observed";
            self.miss("allocations by memalign, aligned new and others", why.into());
        }
        let late = self.late.iter().find(|(file, time)| self.recorder.were_urgent(file, *time));
        if let Some((file, time)) = late {
            let time = Nanos(time.saturating_sub(self.begun) / 1_000_000 * 1_000_000);
            let why = format!(
                "{} was probed {time} after the start, when threads were real-time already",
                file.elf.path().display()
            );
            self.miss("allocations before that", why);
        }
        let (begin, real_time_from) = match (options.after, &options.from, self.marked) {
            (Some(after), ..) => (Begin::At(self.begun + after.0), format!("{after} after the start, as given")),
            (None, Some(function), Some(marked)) => {
                (Begin::At(marked), format!("the first call of {function}, as given"))
            }
            (None, Some(function), None) => {
                let name = format!("the call of {function}");
                if !self.sources.iter().any(|known| known.name == name && known.missing.is_some()) {
                    self.miss(
                        &name,
                        "it was not called; calls that are inlined are not seen (declare it noinline)".into(),
                    );
                }
                (Begin::At(u64::MAX), format!("the first call of {function}, which did not happen"))
            }
            (None, None, _) => (Begin::Found, "the first cycle of each real-time thread, as detected".to_owned()),
        };
        if let Begin::At(from) = begin
            && from >= now
            && options.from.is_none()
        {
            self.miss("real-time work", "it was configured to begin after the end of the observation".into());
        }
        let names: Vec<String> = options.order.iter().flat_map(|order| order.names().to_vec()).collect();
        let setting = Setting {
            begin,
            cpus: self.cpus,
            is_virtual: matches!(virtualisation(&Live::new()), Virtualisation::Guest(_)),
            sees_calls: !self
                .sources
                .iter()
                .any(|source| source.name.ends_with("system calls") && source.missing.is_some()),
            is_incomplete: lost > 0
                || unread > 0
                || self.sources.iter().any(|source| NEEDED.contains(&source.name.as_str()) && source.missing.is_some()),
            order: options.order.clone(),
            others: others(&names),
            preemptions: self.preemptions,
        };
        // Probes can be removed only when none of their events is open.
        drop(self.observer);
        let mut left = self.probes.remove();
        left.extend(self.locks.remove());
        left.extend(self.mark.and_then(|uprobe| uprobe.remove().err()).into_iter().flatten());
        let mut notes = self.notes;
        notes.extend(
            left.into_iter().map(|what| format!("not removed: {what}; the next start of punctual tries again")),
        );
        let events = self.recorder.events;
        let recording = self.recorder.finish();
        let (threads, mut findings) = judge(&recording, &setting);
        for one in findings.iter_mut().filter(|one| is_partial && one.finding.id == "allocation") {
            (one.is_at_least, one.per_cycle) = (true, None);
        }
        for thread in recording.threads.iter().filter(|thread| thread.is_cut) {
            let why = format!("{} ({}) had more events than fit in memory", thread.name, thread.tid);
            self.sources.push(source("all of a thread", Some(why)));
        }
        let irregular = without_period(&threads);
        if !irregular.is_empty() {
            let why = format!("no period was found for {}, so overruns are not judged", irregular.join(", "));
            self.sources.push(source("periods", Some(why)));
        }
        let has_real_time = threads.iter().any(|thread| thread.is_real_time);
        let has_cycles = threads.iter().any(|thread| thread.is_real_time && thread.cycles.is_some());
        let runs_on = findings.iter().any(|one| one.finding.id == "never-waits");
        if has_real_time && !has_cycles && !runs_on && matches!(begin, Begin::Found) {
            let why = "no real-time thread waits repeatedly, so its cycles are unknown: specify the start with --after";
            self.sources.push(source("cycles", Some(why.into())));
        }
        self.sources.sort_by_key(|source| source.missing.is_none());
        let mut check = Check {
            outcome: Outcome::Inconclusive,
            program,
            duration_ns: Nanos(self.until.saturating_sub(self.begun)),
            ended,
            real_time_from,
            findings,
            threads,
            sources: self.sources,
            lost,
            events,
            own_cpu_ns: cpu_time(),
            own_cpu_observing_ns: self.own_cpu,
            notes,
        };
        check.outcome = outcome(&check);
        check
    }
}

pub(super) fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "ended".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Returns the outcome. A finding fails the check; without findings, the check passes only if every source was
/// available.
pub fn outcome(check: &Check) -> Outcome {
    let is_open = |one: &&punctual_model::CheckFinding| one.finding.state == State::Fail && !one.is_known;
    if check.findings.iter().any(|one| is_open(&one)) {
        return Outcome::Fail;
    }
    match check.sources.iter().all(|source| source.missing.is_none()) {
        true => Outcome::Pass,
        false => Outcome::Inconclusive,
    }
}

/// Returns the threads of the machine that the order names.
fn others(names: &[String]) -> Vec<(String, i32, u8)> {
    if names.is_empty() {
        return Vec::new();
    }
    let threads = threads_of(&punctual_watchdog::proc::everyone());
    let named = |(_, tid): (i32, i32)| {
        let name = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?.trim_end().to_owned();
        let urgency = punctual_uapi::scheduling(tid).map_or(0, |(scheduling, _)| urgency(scheduling));
        names.iter().any(|wanted| is_named(&name, wanted)).then_some((name, tid, urgency))
    };
    threads.into_iter().filter_map(named).collect()
}
