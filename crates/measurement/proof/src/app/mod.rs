//! Measures an application: the cycles of its real-time threads, from kernel events.
//!
//! Its threads are observed until it is known in which call each waits for its release ([`learn`]). Then, under each
//! load, every cycle from a release to the next wait in that call is accounted for ([`punctual_explain::Attribution`]).

mod breach;
mod chain;
mod engine;
mod finding;
mod keeping;
mod lane;
mod learn;
mod marks;
mod meter;
mod problems;
mod program;
mod recorder;
mod takes;
mod usdt;
mod without;

pub use keeping::{AppKeeper, Lates};

use crate::capture::OfMachine;
use crate::concluding::Done;
use crate::error::ProofError;
use crate::measuring::prepared;
use crate::meter::Meter;
use crate::options::{Observer, Options, Trace, When};
use crate::subject::Subject;
use finding::Found;
use learn::Learned;
use program::{Program, Thread};
use punctual_check::{is_real_time, urgency};
use punctual_cycles::Release;
use punctual_measure::Plan;
use punctual_model::{AppProbe, AppThread, AppValue, Application, Claim, Quantity, Run};
use punctual_units::{Nanos, Scheduling};
use recorder::Calls;
use std::sync::{Arc, Mutex, PoisonError};
use usdt::Files;

/// The applications, and those of their threads that are measured.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The programs, each with its name for display, which is the command as given.
    pub programs: Vec<(String, punctual_check::Subject)>,
    /// Names of the threads to measure; if empty, all real-time threads.
    pub threads: Vec<String>,
    /// Time from the application's start until its real-time work begins.
    pub after: Nanos,
}

pub(crate) type Shared = Arc<Mutex<Watched>>;

pub(crate) struct Watched {
    programs: Vec<Program>,
    /// Names of the threads that the user requested; empty for all real-time threads.
    asked: Vec<String>,
    learned: Vec<Learned>,
    pub(crate) application: Application,
    /// Places of the USDT probes that the claims name.
    sites: Vec<usdt::Site>,
    machine: OfMachine,
}

impl Watched {
    /// Returns the threads that exist now and match the request, but were not found before the measurement.
    fn unmeasured(&self) -> Vec<Thread> {
        let is_known = |thread: &Thread| {
            self.learned.iter().any(|learned| learned.thread.tid == thread.tid)
                || self.application.notes.iter().any(|note| note.contains(&format!("(thread {})", thread.tid)))
        };
        self.programs
            .iter()
            .flat_map(Program::threads)
            .filter(|thread| is_wanted(&self.asked, thread) && !is_known(thread))
            .collect()
    }
}

fn is_wanted(asked: &[String], thread: &Thread) -> bool {
    if asked.is_empty() { is_real_time(thread.scheduling) } else { asked.iter().any(|name| thread.is_called(name)) }
}

/// Returns the system calls in which the threads wait, and those that release them.
fn calls_of(learned: &[Learned]) -> Calls {
    let mut calls = Calls::new();
    for one in learned {
        calls.entry(one.thread.tid).or_default().insert(one.awaited.call.number);
        one.awaited.by.iter().for_each(|(tid, call)| {
            calls.entry(*tid).or_default().insert(call.number);
        });
    }
    calls
}

/// An application that runs and whose cycles are known. Dropping it ends a program that was started.
pub struct App(Shared);

impl App {
    /// Starts the application, or attaches to it, and finds the cycles of its threads. The signals of [`signals`] must
    /// be blocked.
    ///
    /// # Errors
    /// There is no such program, none of its threads is real-time, the threads show no cycles, the kernel's events
    /// cannot be recorded, or a signal arrived.
    pub fn start(options: &AppOptions) -> Result<App, ProofError> {
        let Found { programs, learned, marks, notes, lost_events } = finding::find(options)?;
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        let application = Application {
            program: names.join(" and "),
            threads: learned.iter().map(|one| one.thread.clone()).collect(),
            marks,
            notes,
            lost_events,
            ..Application::default()
        };
        let (asked, machine) = (options.threads.clone(), OfMachine::read());
        let sites = Vec::new();
        Ok(App(Arc::new(Mutex::new(Watched { programs, asked, learned, application, sites, machine }))))
    }

    /// Returns the application's threads, what releases them, and the results so far.
    pub fn application(&self) -> Application {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).application.clone()
    }

    /// Reads the files that the application executes now, and lists all of their USDT probes in the application.
    pub fn list_probes(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.application.probes = Files::of(&state.programs).probes();
    }

    /// Finds the USDT probes that the claims name. They are defined and removed again, because a kernel that refuses
    /// them should do so before anything is measured.
    fn find_probes(&self, claims: &[Claim]) -> Result<(), ProofError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = usdt::marks(claims);
        let files = if marks.is_empty() { Files::default() } else { Files::of(&state.programs) };
        state.sites = usdt::Site::of(claims, &files)?;
        let is_named = |probe: &AppProbe| marks.iter().any(|mark| usdt::is_of(mark, &probe.name));
        state.application.probes = files.probes().into_iter().filter(is_named).collect();
        match state.sites.as_slice() {
            [] => Ok(()),
            sites => usdt::Probes::define(&recorder::tracefs()?, sites).map(drop),
        }
    }

    /// Returns claims to propose if the user made none: no cycle lasts beyond the next release.
    pub fn proposed(&self) -> Vec<Claim> {
        let threads = self.application().threads;
        // A relative sleep has no due times that it could miss.
        let drifts = |thread: &AppThread| thread.release == Release::RelativeSleep.name();
        let keeps =
            |thread: &&AppThread| thread.period_ns.is_some() && thread.ambiguous_with.is_none() && !drifts(thread);
        threads
            .iter()
            .filter(keeps)
            .map(|t| Claim::new(Quantity::NoneMissed, Some(AppValue::Response(t.name.clone()))))
            .collect()
    }

    /// Measures the application under each load and judges the claims.
    ///
    /// # Errors
    /// Nothing was measured; a claim names a thread that was not found.
    pub fn prove(&self, options: &Options, observer: &mut dyn Observer) -> Result<Done, ProofError> {
        if options.until.is_some() {
            let text = "an application is measured for a fixed time: leave out --until-decided";
            return Err(ProofError::Usage(text.into()));
        }
        self.check(&options.claims)?;
        let options =
            Options { trace: Trace { when: When::Never, ..options.trace }, deadline: None, ..options.clone() };
        prepared(Subject::Application(Arc::clone(&self.0)), &options)?.run(observer)
    }

    /// Refuses claims that are about no application, which is known before it is started.
    ///
    /// # Errors
    /// A claim names no thread.
    pub fn refuse(claims: &[Claim]) -> Result<(), ProofError> {
        claims.iter().find(|claim| claim.of.is_none()).map_or(Ok(()), |claim| {
            Err(ProofError::Usage(format!(
                "`{claim}`: an application's claims name a thread, as in response(THREAD) < 800us or late(THREAD) = 0"
            )))
        })
    }

    fn check(&self, claims: &[Claim]) -> Result<(), ProofError> {
        App::refuse(claims)?;
        self.find_probes(claims)?;
        let application = self.application();
        let threads = &application.threads;
        let names: Vec<&str> = threads.iter().map(|thread| thread.name.as_str()).collect();
        for claim in claims {
            let usage = |text: String| Err(ProofError::Usage(format!("`{claim}`: {text}")));
            let lost = || finding::lost(application.lost_events);
            let unknown = |text: String| Err(ProofError::Environment(format!("`{claim}`: {text}: {}", lost())));
            let Some(of) = &claim.of else { continue };
            if matches!(of, AppValue::Chain(_)) && is_of_marks(of, &application)? {
                continue;
            }
            for name in of.threads() {
                let Some(thread) = threads.iter().find(|thread| thread.name == *name) else {
                    if application.lost_events > 0 {
                        return unknown(format!("no cycles of a thread {name} were found, but it may have some"));
                    }
                    return usage(format!(
                        "no thread {name} has cycles; the threads that have cycles: {}",
                        names.join(", ")
                    ));
                };
                let needs_period = matches!(of, AppValue::Jitter(_))
                    || matches!(claim.quantity, Quantity::NoneMissed | Quantity::MissedShare(_));
                let is_of_misses = matches!(claim.quantity, Quantity::NoneMissed | Quantity::MissedShare(_));
                if is_of_misses && thread.release == Release::RelativeSleep.name() {
                    return usage(format!("{name} uses relative sleeps: it has no fixed releases that it could miss"));
                }
                if needs_period && thread.period_ns.is_none() && application.lost_events > 0 {
                    return unknown(format!("no constant period of {name} was found, but it may have one"));
                }
                if needs_period && thread.period_ns.is_none() {
                    return usage(format!("the releases of {name} have no constant period"));
                }
                if let Some(other) = &thread.ambiguous_with {
                    return usage(format!(
                        "what releases {name} is ambiguous: {} or {other}. Name only threads whose release is not ambiguous (--show-cycles)",
                        thread.call
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Returns true if the points of a chain are marks, false if they are threads.
///
/// # Errors
/// They are neither, or some are threads and some are marks.
fn is_of_marks(chain: &AppValue, application: &Application) -> Result<bool, ProofError> {
    let usage = |text: String| Err(ProofError::Usage(format!("`{chain}`: {text}")));
    let is_thread = |name: &&String| application.threads.iter().any(|thread| thread.name == **name);
    let Some(other) = chain.threads().iter().find(|name| !is_thread(name)) else { return Ok(false) };
    let written = application.marks.as_deref().unwrap_or_default();
    let is_mark = |name: &&String| usdt::is_probe(name) || written.iter().any(|mark| mark.name == **name);
    let names = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if let Some(unknown) = chain.threads().iter().find(|name| !is_thread(name) && !is_mark(name)) {
        if application.marks.is_none() {
            return usage(format!(
                "no thread {unknown} has cycles, and this kernel does not show what programs write to trace_marker: that requires \
                 Linux 7.0, 6.19.11 or 6.18.21 (options/copy_trace_marker, and the fix for it). USDT probes can be marks on \
                 every kernel with uprobes: usdt:PROVIDER:NAME"
            ));
        }
        return usage(format!(
            "no thread {unknown} has cycles, and no mark of that name was written before the measurement; threads: {}; marks: {}",
            names(application.threads.iter().map(|thread| thread.name.as_str()).collect()),
            names(written.iter().map(|mark| mark.name.as_str()).collect())
        ));
    }
    match chain.threads().iter().find(|name| !is_mark(name)) {
        Some(thread) => usage(format!(
            "{thread} is a thread and {other} a mark: the points of a chain must be either all threads or all marks"
        )),
        None => Ok(true),
    }
}

/// Returns the processes of the application, and the scheduling of its least urgent thread.
pub(crate) fn audited(shared: &Shared) -> (Vec<i32>, Option<Scheduling>) {
    let state = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let threads = || state.learned.iter().map(|learned| &learned.thread);
    let mut pids: Vec<i32> = threads().map(|thread| thread.pid).collect();
    pids.dedup();
    (pids, threads().map(|thread| thread.scheduling).min_by_key(|scheduling| urgency(*scheduling)))
}

pub(crate) fn start_meter(
    shared: &Shared,
    plan: &Plan,
    claims: &[Claim],
    load: &str,
) -> Result<Box<dyn Meter>, ProofError> {
    meter::start(shared, plan, claims, load)
}

/// Notes in the run's settings that an application's cycles are measured: settings of wakeups do not apply.
pub(crate) fn note(run: &mut Run) {
    let settings = &mut run.settings;
    settings.clock = Some("CLOCK_MONOTONIC, cycles of an application from kernel events".into());
    (settings.via, settings.scheduling, settings.period_ns, settings.alignment) = (None, None, None, None);
    settings.scheduling_explicit = false;
    settings.maxima_block_ns = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::AppMark;

    #[test]
    fn a_chain_is_of_threads_or_of_marks() {
        let thread = |name: &str| lane::tests::lane_of(name, 7).learned.thread;
        let mark = |name: &str| AppMark { name: name.into(), threads: vec!["a".into()], has_values: false };
        let threads = vec![thread("a"), thread("b")];
        let with = Application { threads, marks: Some(vec![mark("in"), mark("out")]), ..Application::default() };
        let of = |application: &Application, chain: &str| {
            is_of_marks(&chain.parse().unwrap(), application).map_err(|e| e.to_string())
        };
        assert_eq!(of(&with, "chain(a > b)"), Ok(false));
        assert_eq!(of(&with, "chain(in > out)"), Ok(true));
        let said = |application: &Application, chain: &str| of(application, chain).unwrap_err();
        assert!(said(&with, "chain(a > out)").contains("a is a thread and out a mark"));
        assert!(said(&with, "chain(a > c)").contains("no thread c has cycles, and no mark of that name"));
        let without = Application { marks: None, ..with.clone() };
        assert_eq!(of(&without, "chain(a > b)"), Ok(false));
        assert!(said(&without, "chain(in > out)").contains("this kernel does not show what programs write"));
        // A USDT probe is a mark on every kernel.
        assert_eq!(of(&without, "chain(usdt:x:in > usdt:x:out)"), Ok(true));
        assert_eq!(of(&with, "chain(in > usdt:x:out:arg1)"), Ok(true));
        assert!(said(&with, "chain(a > usdt:x:out)").contains("a is a thread and usdt:x:out a mark"));
    }
}
