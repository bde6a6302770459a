//! Runs the whole suite: starts the loads, writes the run directory, determines the outcome.

use crate::backend::Backend;
use crate::engine::{Settings, run};
use punctual_loads::{Load, LoadError, LoadSettings, LoadSpec, folder_at};
use punctual_measure::{Topology, clocks, host_name};
use punctual_model::{EndedBy, Kind, MachineFacts, Run, SUITE_SCHEMA, Suite, SuiteResult, Tool};
use punctual_rundir::Writer;
use punctual_uapi::Sig;
use punctual_units::{CpuList, Nanos};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Loads that run during the tests, all at the same time.
    pub under: &'a [LoadSpec],
    pub out: &'a Path,
    /// The command line, to be recorded in the run.
    pub command: Vec<String>,
    pub stop: &'a AtomicBool,
    pub machine: MachineFacts,
    /// The signal that stopped the suite, if any. It is set before `stop`.
    pub signal: &'a OnceLock<Sig>,
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
    /// The CPUs cannot be read, or none is available to this process.
    #[error("the CPUs that loads may use cannot be determined: {0}; see taskset -cp $$")]
    Cpus(String),
    #[error("{0}; nothing was tested: choose other loads with --under")]
    Load(#[from] LoadError),
}

impl SuiteError {
    /// Returns true for an error in the user's input (exit code 2), false for an error of the environment (exit code
    /// 4).
    pub fn is_usage(&self) -> bool {
        match self {
            SuiteError::RunDirectory(e) => !e.is_environment(),
            SuiteError::Cpus(_) => false,
            SuiteError::Load(e) => e.is_usage(),
        }
    }
}

/// Runs the tests under the loads. Writes a run directory of kind `events`, which is updated after each test.
///
/// # Errors
/// [`SuiteError`] if nothing was tested. [`Suite::under`] lists loads that fail later; they make the outcome
/// inconclusive.
pub fn suite(
    backend: &mut dyn Backend,
    settings: &Settings,
    around: &Surroundings<'_>,
    report: &mut dyn FnMut(&SuiteResult),
) -> Result<Suite, SuiteError> {
    let mut suite = Suite {
        schema: SUITE_SCHEMA.into(),
        backend: backend.name().into(),
        environment: backend.facts(),
        cpu: settings.cpu,
        duration_ns: settings.duration,
        under: Vec::new(),
        results: Vec::new(),
        // Stays true if the process is killed.
        interrupted: true,
        signal: None,
        not_run: settings.tests.iter().map(|test| test.name.to_owned()).collect(),
    };
    let loads = start_loads(around, settings)?;
    let mut writer = Writer::create(around.out, new_run(settings, around), false)?;
    writer.suite(&suite)?;
    let mut failure = None;
    run(backend, settings, around.stop, &mut |result| {
        report(result);
        suite.results.push(result.clone());
        suite.not_run.remove(0);
        if let Err(e) = writer.suite(&suite) {
            failure.get_or_insert(e);
        }
    });
    suite.under = loads.into_iter().map(Load::stop).collect();
    suite.interrupted = around.stop.load(Relaxed);
    suite.signal = around.signal.get().filter(|_| suite.interrupted).map(|signal| signal.name().to_owned());
    failure.map_or(Ok(()), Err)?;
    writer.suite(&suite)?;
    let run = writer.run_mut();
    (run.complete, run.ended) = (!suite.interrupted, Some(clocks()));
    run.ended_by = Some(match (suite.interrupted, around.signal.get()) {
        (false, _) => EndedBy::Duration,
        (true, Some(signal)) => EndedBy::Signal { number: signal.number(), name: signal.name().into() },
        (true, None) => EndedBy::Error { text: "stopped before all tests had finished".into() },
    });
    writer.finish()?;
    Ok(suite)
}

fn start_loads(around: &Surroundings<'_>, settings: &Settings) -> Result<Vec<Load>, SuiteError> {
    if around.under.iter().all(LoadSpec::is_idle) {
        return Ok(Vec::new());
    }
    let topology = Topology::read().map_err(|e| SuiteError::Cpus(e.to_string()))?;
    let cpus: CpuList = topology.allowed.and(&topology.online);
    let phase = settings.duration + Nanos::from_secs(30);
    // The run directory does not exist yet, so the directory in which it will be created is used.
    let settings = LoadSettings { phase, ..LoadSettings::new(cpus, folder_at(around.out)) };
    let wanted = around.under.iter().filter(|spec| !spec.is_idle());
    Ok(wanted.map(|spec| Load::start(spec, &settings)).collect::<Result<_, _>>()?)
}

fn new_run(settings: &Settings, around: &Surroundings<'_>) -> Run {
    Run {
        started: Some(clocks()),
        host: Some(host_name().unwrap_or_else(|| "unknown".into())),
        command: around.command.clone(),
        settings: asked(settings, around),
        machine: around.machine.clone(),
        ..Run::new(Tool::punctual(), Kind::Events)
    }
}

fn asked(settings: &Settings, around: &Surroundings<'_>) -> punctual_model::Settings {
    punctual_model::Settings {
        cpus: settings.cpu.into_iter().collect(),
        duration_ns: Some(settings.duration),
        loads: around.under.iter().map(ToString::to_string).collect(),
        deadline_ns: settings.deadline,
        ..punctual_model::Settings::default()
    }
}
