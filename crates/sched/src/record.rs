//! The run directory of an experiment.

use crate::error::SchedError;
use crate::plan::Plan;
use crate::run::Options;
use punctual_measure::{clocks, host_name};
use punctual_model::{EndedBy, Kind, MachineFacts, Run, Settings, Tool};
use punctual_rundir::{SCHEMA, SCHEMA_VERSION, Writer};
use std::sync::atomic::Ordering::Relaxed;

/// The run as it begins.
pub(crate) fn new_run(options: &Options<'_>, plan: &Plan) -> Run {
    Run {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION.into(),
        tool: Tool { name: "punctual".into(), version: Some(env!("CARGO_PKG_VERSION").into()) },
        kind: Kind::Sched,
        complete: false,
        ended_by: None,
        started: Some(clocks()),
        ended: None,
        host: Some(host_name().unwrap_or_else(|| "unknown".into())),
        command: options.command.clone(),
        settings: asked(plan),
        import: None,
        virtual_time: None,
        machine: MachineFacts::default(),
        tracing: None,
        phases: Vec::new(),
        looks: Vec::new(),
        problems: Vec::new(),
        notes: Vec::new(),
        cost: None,
    }
}

/// The settings of a run that has no measuring threads.
fn asked(plan: &Plan) -> Settings {
    Settings {
        clock: None,
        via: None,
        scheduling: None,
        scheduling_explicit: false,
        period_ns: None,
        cpus: plan.threads.iter().flat_map(|thread| thread.cpus.iter()).collect(),
        alignment: None,
        duration_ns: None,
        warmup_ns: None,
        loads: Vec::new(),
        cpu_dma_latency_us: None,
        context: false,
        worst_kept: 0,
        deadline_ns: None,
        claims: Vec::new(),
        until_decided: None,
        maxima_block_ns: None,
    }
}

/// Says how it ended.
pub(crate) fn finish(mut writer: Writer, options: &Options<'_>, failed: Option<&SchedError>) -> Result<(), SchedError> {
    let interrupted = options.stop.load(Relaxed);
    let run = writer.run_mut();
    (run.complete, run.ended) = (!interrupted && failed.is_none(), Some(clocks()));
    run.ended_by = Some(match (failed, interrupted, options.signal.get()) {
        (Some(e), ..) => EndedBy::Error { text: e.to_string() },
        (None, true, Some(signal)) => EndedBy::Signal { number: signal.number(), name: signal.name().into() },
        (None, true, None) => EndedBy::Error { text: "stopped before its repetitions had ended".into() },
        (None, false, _) => EndedBy::Duration,
    });
    Ok(writer.finish().map(drop)?)
}
