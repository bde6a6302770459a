//! Starts the programs and observes their threads until their cycles are known.

use super::learn::{Learned, Learning};
use super::marks::Seen;
use super::program::{Program, Thread};
use super::recorder::{self, Recorder};
use super::{AppOptions, is_wanted};
use crate::error::ProofError;
use crate::measuring::signals;
use punctual_check::is_real_time;
use punctual_model::AppMark;
use punctual_rt::monotonic;
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Time limit for threads to become real-time; `LEARN` is the time limit for finding their cycles.
const START: Nanos = Nanos::from_secs(10);
const LEARN: Nanos = Nanos::from_secs(10);
/// Minimum time for which the threads are observed.
const LEAST: Nanos = Nanos::from_secs(1);
const LOOK: Nanos = Nanos::from_millis(50);

pub(super) struct Found {
    pub programs: Vec<Program>,
    pub learned: Vec<Learned>,
    /// Marks that the threads wrote; `None` if this kernel does not show them.
    pub marks: Option<Vec<AppMark>>,
    pub notes: Vec<String>,
    /// Number of kernel events that were lost while the threads were observed.
    pub lost_events: u64,
}

/// # Errors
/// As for [`super::App::start`].
pub(super) fn find(options: &AppOptions) -> Result<Found, ProofError> {
    recorder::tracefs()?;
    let most = options.after + START + LEARN;
    punctual_watchdog::starting("finding the cycles of the application", std::time::Duration::from_nanos(most.0));
    let mut programs = options
        .programs
        .iter()
        .map(|(name, subject)| Program::start(name.clone(), subject.clone()))
        .collect::<Result<Vec<Program>, ProofError>>()?;
    Program::tell_apart(&mut programs);
    sleep(options.after)?;
    let mut threads = wait_for_threads(&mut programs, options)?;
    let (mut recorder, mut learning) = (record(&programs, &threads)?, Learning::new(&threads));
    let until = monotonic() + LEARN;
    let mut begun = monotonic();
    loop {
        sleep(LOOK)?;
        let events = recorder.take().map_err(ProofError::Environment)?;
        events.iter().for_each(|event| learning.event(event));
        run_still(&mut programs)?;
        let now = monotonic();
        let current = wanted(&programs, options);
        if current.iter().map(|thread| thread.tid).ne(threads.iter().map(|thread| thread.tid)) && now < until {
            recorder.end();
            (threads, begun) = (current, now);
            (recorder, learning) = (record(&programs, &threads)?, Learning::new(&threads));
            continue;
        }
        if now >= until || now >= begun + LEAST && learning.is_enough() {
            break;
        }
    }
    let marks = recorder.has_marks.then(|| marks(&programs, &learning));
    let (lost_events, marks_off) = (recorder.lost(), recorder.marks_off());
    let mut notes = recorder.end();
    notes.extend(marks_off.map(str::to_owned));
    let (learned, without) = learning.found();
    if learned.is_empty() {
        return Err(ProofError::Environment(no_cycles(&without, lost_events)));
    }
    notes.extend(without.iter().map(|thread| {
        let found = if lost_events > 0 { "may have cycles, of which none were found" } else { "showed no cycles" };
        format!("{} (thread {}) {found} in {LEARN}, and is not measured", thread.name, thread.tid)
    }));
    if lost_events > 0 {
        notes.push(format!("cycles and periods may be unknown: {}", lost(lost_events)));
    }
    Ok(Found { programs, learned, marks, notes, lost_events })
}

fn no_cycles(without: &[Thread], lost_events: u64) -> String {
    let names: Vec<&str> = without.iter().map(|thread| thread.name.as_str()).collect();
    let names = names.join(", ");
    match lost_events {
        0 => format!(
            "no cycles were found in {names}: none of these threads waited four times at the same place within {LEARN}"
        ),
        _ => format!("it is unknown whether {names} have cycles: {}", lost(lost_events)),
    }
}

/// Says that events were lost while the threads were observed.
pub(super) fn lost(events: u64) -> String {
    format!(
        "{events} kernel events were overwritten before they were read, while the threads were observed; all of their system \
         calls are recorded then, so a thread that makes very many causes that"
    )
}

/// Returns the marks that the programs' threads wrote, because other programs may write to trace_marker too.
fn marks(programs: &[Program], learning: &Learning) -> Vec<AppMark> {
    let threads: BTreeMap<i32, String> =
        programs.iter().flat_map(Program::threads).map(|thread| (thread.tid, thread.name)).collect();
    let of = |(name, seen): (&String, &Seen)| {
        let mut threads: Vec<String> = seen.tids.iter().filter_map(|tid| threads.get(tid).cloned()).collect();
        threads.dedup();
        let mark = AppMark { name: name.clone(), threads, has_values: seen.has_values };
        (!mark.threads.is_empty()).then_some(mark)
    };
    learning.marks.0.iter().filter_map(of).collect()
}

/// Records all system calls of the programs, because any of their threads may release a measured one.
fn record(programs: &[Program], threads: &[Thread]) -> Result<Recorder, ProofError> {
    let all = programs.iter().flat_map(Program::threads).map(|thread| (thread.tid, BTreeSet::new())).collect();
    Recorder::start(&all, threads.iter().all(|thread| is_real_time(thread.scheduling)), true, &[])
}

fn wanted(programs: &[Program], options: &AppOptions) -> Vec<Thread> {
    let mut threads: Vec<Thread> = programs.iter().flat_map(Program::threads).collect();
    threads.retain(|thread| is_wanted(&options.threads, thread));
    threads.sort_by_key(|thread| thread.tid);
    threads
}

fn run_still(programs: &mut [Program]) -> Result<(), ProofError> {
    for program in programs {
        if let Some(how) = program.ended() {
            return Err(ProofError::Usage(format!("{} ended before it was measured: {how}", program.name)));
        }
    }
    Ok(())
}

/// Waits until the named threads exist or, if none are named, until each program has a real-time thread.
fn wait_for_threads(programs: &mut [Program], options: &AppOptions) -> Result<Vec<Thread>, ProofError> {
    let until = monotonic() + START;
    loop {
        let threads = wanted(programs, options);
        let is_there = |name: &String| threads.iter().any(|thread| thread.is_called(name));
        let has_one = |program: &Program| threads.iter().any(|thread| thread.program == program.short);
        let are_all = options.threads.iter().all(is_there);
        if !threads.is_empty() && are_all && (!options.threads.is_empty() || programs.iter().all(has_one)) {
            return Ok(threads);
        }
        run_still(programs)?;
        if monotonic() >= until {
            let missing = options.threads.iter().find(|name| !is_there(name));
            let without = programs.iter().find(|program| !has_one(program)).or(programs.first());
            return Err(ProofError::Usage(none(programs, without, missing)));
        }
        sleep(LOOK)?;
    }
}

/// Returns a message that a thread is missing, or that a program has no real-time thread.
fn none(programs: &[Program], without: Option<&Program>, missing: Option<&String>) -> String {
    let names = |threads: Vec<Thread>| {
        let mut names: Vec<String> = threads.into_iter().map(|thread| thread.name).collect();
        names.dedup();
        names.join(", ")
    };
    match (missing, without) {
        (Some(name), _) => {
            let of: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
            let all = names(programs.iter().flat_map(Program::threads).collect());
            format!("{} has no thread {name}; its threads: {all}", of.join(", "))
        }
        (None, Some(program)) => format!(
            "none of the {} threads of {} is real-time after {START}: name one with --thread ({}), or start it under \
             chrt(1): chrt -f 80 …",
            program.threads().len(),
            program.name,
            names(program.threads())
        ),
        (None, None) => "no program was given".into(),
    }
}

fn sleep(time: Nanos) -> Result<(), ProofError> {
    let until = monotonic() + time;
    while monotonic() < until {
        if let Waited::Signal(signal) = wait(&signals(), Some(until.saturating_sub(monotonic())))
            && signal != Sig::Chld
        {
            return Err(ProofError::Environment(format!(
                "interrupted by {} before anything was measured",
                signal.name()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_units::Scheduling;

    #[test]
    fn no_cycles_are_no_finding_if_events_were_lost() {
        let scheduling = Scheduling::Other { nice: 0 };
        let thread = Thread { program: "plc".into(), pid: 7, tid: 7, name: "control".into(), scheduling };
        let threads = [thread];
        assert!(no_cycles(&threads, 0).starts_with("no cycles were found in control: none of these threads waited"));
        let text = no_cycles(&threads, 9);
        assert!(text.starts_with("it is unknown whether control have cycles: 9 kernel events"), "{text}");
    }
}
