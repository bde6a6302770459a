//! Writes measurements as run directories: one per period and policy, with a phase per load.

use crate::error::Error;
use crate::plan::{Measured, Plan};
use punctual_units::{Nanos, Scheduling};
use std::io;
use std::path::Path;

/// Writes the measurements below `folder`, which is created if missing. Returns the paths of the run directories.
///
/// # Errors
/// A folder cannot be created or is not empty; what has already been written is kept.
pub(crate) fn write(folder: &Path, measured: &[Measured], words: &[String]) -> Result<Vec<String>, Error> {
    let mut written: Vec<String> = Vec::new();
    for one in measured {
        let name = name(one.plan.period, one.plan.scheduling);
        if written.contains(&name) {
            continue;
        }
        let same = |m: &&Measured| m.plan.period == one.plan.period && m.plan.scheduling == one.plan.scheduling;
        let runs: Vec<_> = measured.iter().filter(same).map(noted).collect();
        punctual_record::write(&folder.join(&name), &runs, words).map_err(|error| Error::Run(error.to_string()))?;
        written.push(name);
    }
    Ok(written)
}

/// Checks that the folders are empty. Called before measuring, since writing would otherwise fail at the end.
///
/// # Errors
/// A folder cannot be used; the error names it and the reason.
pub(crate) fn free<'a>(folder: &Path, plans: impl IntoIterator<Item = &'a Plan>) -> Result<(), Error> {
    for plan in plans {
        let folder = folder.join(name(plan.period, plan.scheduling));
        match std::fs::read_dir(&folder).map(|mut entries| entries.next().is_some()) {
            Ok(true) => {
                return Err(Error::Run(format!("{} is not empty", folder.display())));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Run(format!("opendir({}): {error}", folder.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

fn noted(measured: &Measured) -> punctual_record::TaskRun {
    let load = &measured.plan.load;
    let mut run = measured.run.clone();
    if let Some((edges, lost)) = &measured.edges {
        let shown = |ns: Option<u64>| ns.map_or("not known".into(), |ns| Nanos(ns).to_string());
        run = run.note(format!(
            "{load}: {} edges were seen, late by {} at the median and {} at most; {} were not seen ({} dropped), {} belong to no beat",
            edges.seen,
            shown(edges.latency.quantile(0.5)),
            shown(edges.latency.max()),
            edges.unseen,
            lost.dropped,
            edges.strays
        ));
    }
    run
}

/// Returns the name of a measurement's run directory, for example `360us-fifo-99` or `35ms-other`.
fn name(period: Nanos, scheduling: Scheduling) -> String {
    let period = match period.0 {
        ns if ns % 1_000_000 == 0 => format!("{}ms", ns / 1_000_000),
        ns if ns % 1_000 == 0 => format!("{}us", ns / 1_000),
        ns => format!("{ns}ns"),
    };
    format!("{period}-{}", scheduling.to_string().to_lowercase().replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_by_period_and_policy() {
        let fifo = Scheduling::Fifo { priority: 99.try_into().unwrap() };
        assert_eq!(name(Nanos::from_micros(360), fifo), "360us-fifo-99");
        assert_eq!(name(Nanos::from_millis(35), Scheduling::Other { nice: 0 }), "35ms-other");
        assert_eq!(name(Nanos(123_456), fifo), "123456ns-fifo-99");
    }
}
