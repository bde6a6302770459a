//! A whole pass: loads beside it, the run directory, the outcome.

use crate::backend::Backend;
use crate::engine::{Settings, run};
use punctual_loads::{Load, LoadSettings, LoadSpec, not_run};
use punctual_measure::{Topology, clocks, host_name};
use punctual_model::{
    EndedBy, Kind, LoadReport, MachineFacts, Outcome, Run, SUITE_SCHEMA, Suite, SuiteEnd, SuiteResult, Tool,
};
use punctual_rundir::Writer;
use punctual_uapi::Sig;
use punctual_units::{CpuList, Nanos};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

#[derive(Debug)]
pub struct Surroundings<'a> {
    /// Loads that run beside all tests, together.
    pub under: &'a [LoadSpec],
    pub out: &'a Path,
    /// For the record.
    pub command: Vec<String>,
    pub stop: &'a AtomicBool,
    pub machine: MachineFacts,
    /// The signal that set it, if any; set before `stop`.
    pub signal: &'a OnceLock<Sig>,
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error(transparent)]
    RunDirectory(#[from] punctual_rundir::Error),
    /// The CPUs cannot be read, or none is ours.
    #[error("the CPUs that loads may use cannot be found: {0}; see taskset -cp $$")]
    Cpus(String),
}

/// Runs the tests under the loads and writes a run directory of kind `events`, which is updated after every test.
///
/// # Errors
/// [`SuiteError`]. A load that cannot run is listed in [`Suite::under`], and makes the outcome inconclusive.
pub fn suite(
    backend: &mut dyn Backend,
    settings: &Settings,
    around: &Surroundings<'_>,
    told: &mut dyn FnMut(&SuiteResult),
) -> Result<Suite, SuiteError> {
    let mut suite = Suite {
        schema: SUITE_SCHEMA.into(),
        backend: backend.name().into(),
        environment: backend.facts(),
        cpu: settings.cpu,
        duration_ns: settings.duration,
        under: Vec::new(),
        results: Vec::new(),
        interrupted: false,
    };
    let mut writer = Writer::create(around.out, new_run(settings, around), false)?;
    let (loads, mut reports) = start_loads(around, settings)?;
    let mut failure = None;
    run(backend, settings, around.stop, &mut |result| {
        told(result);
        suite.results.push(result.clone());
        if let Err(e) = writer.suite(&suite) {
            failure.get_or_insert(e);
        }
    });
    reports.extend(loads.into_iter().map(Load::stop));
    suite.under = reports;
    suite.interrupted = around.stop.load(Relaxed);
    failure.map_or(Ok(()), Err)?;
    writer.suite(&suite)?;
    let run = writer.run_mut();
    (run.complete, run.ended) = (!suite.interrupted, Some(clocks()));
    run.ended_by = Some(match (suite.interrupted, around.signal.get()) {
        (false, _) => EndedBy::Duration,
        (true, Some(signal)) => EndedBy::Signal { number: signal.number(), name: signal.name().into() },
        (true, None) => EndedBy::Error { text: "stopped before its tests had ended".into() },
    });
    writer.finish()?;
    Ok(suite)
}

fn start_loads(around: &Surroundings<'_>, settings: &Settings) -> Result<(Vec<Load>, Vec<LoadReport>), SuiteError> {
    let wanted: Vec<&LoadSpec> = around.under.iter().filter(|spec| !spec.is_idle()).collect();
    let (mut loads, mut reports) = (Vec::new(), Vec::new());
    if wanted.is_empty() {
        return Ok((loads, reports));
    }
    let topology = Topology::read().map_err(|e| SuiteError::Cpus(e.to_string()))?;
    let cpus: CpuList = topology.allowed.and(&topology.online);
    let phase = settings.duration + Nanos::from_secs(30);
    let settings = LoadSettings { phase, ..LoadSettings::new(cpus, around.out.to_owned()) };
    for spec in wanted {
        match Load::start(spec, &settings) {
            Ok(load) => loads.push(load),
            Err(e) => reports.push(not_run(spec, &e)),
        }
    }
    Ok((loads, reports))
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

/// Fail: a promise was broken. Pass: every test ran and kept its promise, under every requested load. Inconclusive:
/// anything else.
pub fn outcome(suite: &Suite) -> Outcome {
    let ran = |result: &SuiteResult| match &result.ended {
        SuiteEnd::Ran(ran) => Some((ran.broken.is_empty(), ran.inconclusive.is_empty())),
        SuiteEnd::Unsupported { .. } | SuiteEnd::Failed { .. } => None,
    };
    let all: Vec<Option<(bool, bool)>> = suite.results.iter().map(ran).collect();
    if all.iter().flatten().any(|(kept, _)| !kept) {
        return Outcome::Fail;
    }
    let loaded = suite.under.iter().all(|load| load.ran);
    let whole = !suite.interrupted && loaded && !all.is_empty();
    match whole && all.iter().all(|one| *one == Some((true, true))) {
        true => Outcome::Pass,
        false => Outcome::Inconclusive,
    }
}
