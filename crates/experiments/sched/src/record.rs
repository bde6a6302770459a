use crate::error::SchedError;
use crate::plan::Plan;
use crate::run::Options;
use punctual_measure::{clocks, host_name};
use punctual_model::{EndedBy, Kind, Run, Settings, Tool};
use punctual_rundir::Writer;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) fn new_run(options: &Options<'_>, plan: &Plan) -> Run {
    Run {
        started: Some(clocks()),
        host: Some(host_name().unwrap_or_else(|| "unknown".into())),
        command: options.command.clone(),
        settings: Settings {
            cpus: plan.threads.iter().flat_map(|thread| thread.cpus.iter()).collect(),
            ..Settings::default()
        },
        ..Run::new(Tool::punctual(), Kind::Sched)
    }
}

pub(crate) fn finish(mut writer: Writer, options: &Options<'_>, failed: Option<&SchedError>) -> Result<(), SchedError> {
    let interrupted = options.stop.load(Relaxed);
    let run = writer.run_mut();
    (run.complete, run.ended) = (!interrupted && failed.is_none(), Some(clocks()));
    run.ended_by = Some(match (failed, interrupted, options.signal.get()) {
        (Some(e), ..) => EndedBy::Error { text: e.to_string() },
        (None, true, Some(signal)) => EndedBy::Signal { number: signal.number(), name: signal.name().into() },
        (None, true, None) => EndedBy::Error { text: "stopped before all repetitions had finished".into() },
        (None, false, _) => EndedBy::Duration,
    });
    Ok(writer.finish().map(drop)?)
}
