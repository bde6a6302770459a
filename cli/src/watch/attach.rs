//! Implements `watch --attach`, which shows a running watch in the terminal from the files that it writes.

use crate::exit;
use crate::refusal::Refusal;
use punctual_live::{CpuView, Snapshot, Stage, Unfit};
use punctual_model::{Recording, Watched};
use punctual_uapi::{Waited, wait};
use punctual_units::{CpuId, Nanos};
use std::cell::Cell;
use std::path::Path;

/// Shows the watch of `folder` until a key or a signal ends it. Returns the exit code.
///
/// # Errors
/// There is no series, no watch is running in it, or there is no terminal.
pub fn attach(folder: &Path) -> Result<u8, Refusal> {
    if !punctual_watch::read(folder)?.running {
        return Err(Refusal::usage(format!(
            "no watch is running in {0}; punctual watch --status {0} shows how it ended",
            folder.display()
        )));
    }
    let set = punctual_proof::signals();
    punctual_uapi::block(&set)?;
    let signal = Cell::new(None);
    let ended = || match wait(&set, Some(Nanos::ZERO)) {
        Waited::Signal(found) => {
            signal.set(Some(found));
            true
        }
        _ => false,
    };
    let look = || punctual_watch::read(folder).map(|watched| snapshot(folder, &watched)).map_err(Refusal::from);
    punctual_live::attach(look, ended)?;
    Ok(signal.get().map_or(0, exit::of_signal))
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Refusal {
        Refusal::usage(unfit.to_string())
    }
}

fn snapshot(folder: &Path, watched: &Watched) -> Snapshot {
    let watch = &watched.watch;
    let recording = watch.segment.as_ref().and_then(|name| punctual_rundir::read_brief(&folder.join(name)).ok());
    let now = watch.updated.mono_ns;
    let start = recording.as_ref().and_then(|recording| recording.run.phases.last()?.start_mono_ns);
    Snapshot {
        command: watch.host.as_ref().map_or_else(|| "watch".into(), |host| format!("watch of {host}")),
        stage: if watched.running { Stage::Measuring } else { Stage::Ended },
        elapsed: Nanos(start.map_or(0, |start| now.saturating_sub(start))),
        planned: watch.settings.segment_ns,
        deadline: Some(watch.settings.trace_above_ns),
        cpus: recording.as_ref().map(cpus).unwrap_or_default(),
        attached: true,
        status: punctual_report::watch_status(watched),
        ..Snapshot::default()
    }
}

/// Returns the CPUs of the run directory, as of its last checkpoint.
fn cpus(recording: &Recording) -> Vec<CpuView> {
    let mut all: Vec<CpuId> = recording.distributions.keys().map(|(_, cpu)| *cpu).collect();
    all.dedup();
    let view = |cpu| {
        let of_cpu = recording.distributions.iter().filter(|((_, of), _)| *of == cpu);
        let (mut raw, mut skipped) = (punctual_units::Histogram::new(), 0);
        for (_, distribution) in of_cpu {
            raw.merge(&distribution.raw);
            skipped += distribution.skipped.count();
        }
        CpuView {
            cpu,
            ran: raw.count(),
            skipped,
            min: raw.min(),
            median: raw.quantile(0.5),
            p99: raw.quantile(0.99),
            worst: raw.max(),
            steal: None,
            bins: raw.bins().collect(),
        }
    };
    all.into_iter().map(view).collect()
}
