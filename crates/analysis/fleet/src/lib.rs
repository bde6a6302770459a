//! Hundreds of runs of many boards: which boards are latest, which runs are far from the others, and what kernels and settings have to do
//! with it.
//!
//! One board is one sample: its runs share a machine, so of each board, load, settings and kernel the median of its runs' latest wakeups
//! counts. Latencies are compared on a logarithmic scale. An outlier is more than 3.5 robust standard deviations (median and median
//! absolute deviation) from the median of five boards or more (B. Iglewicz and D. C. Hoaglin, How to Detect and Handle Outliers, ASQC
//! 1993). Every p is corrected for the number of comparisons.
//!
//! Architecture invariant: pure. Figures only; sentences are made by the report.

#![forbid(unsafe_code)]

mod boards;
mod contrasts;
mod lines;
mod outliers;
#[cfg(test)]
mod tests;

use punctual_model::Fleet;
use punctual_model::history::RunSummary;

pub use lines::{lines, settings};

/// The runs beside each other.
pub fn fleet(runs: &[RunSummary]) -> Fleet {
    let usable: Vec<&RunSummary> = runs.iter().filter(|run| doubt(run).is_none()).collect();
    let doubtful = runs.iter().filter_map(|run| Some((name(run), doubt(run)?))).collect();
    Fleet {
        runs: runs.len() as u64,
        boards: boards::boards(runs),
        outliers: outliers::outliers(&usable),
        contrasts: contrasts::contrasts(&usable),
        doubtful,
    }
}

/// Why nothing of a run says anything of its machine.
fn doubt(run: &RunSummary) -> Option<String> {
    if run.cells.is_empty() {
        return Some("it has no results".into());
    }
    let all = run.cells.iter().all(|cell| cell.doubt.is_some());
    run.cells.first().filter(|_| all).and_then(|cell| cell.doubt.clone())
}

/// Where a run is, or what tells it from others.
fn name(run: &RunSummary) -> String {
    run.folder.clone().unwrap_or_else(|| run.id.clone())
}

/// The latest wakeup of a run under each load, of figures that are not in doubt.
fn latest(run: &RunSummary) -> Vec<(&str, u64)> {
    let mut all: Vec<(&str, u64)> = Vec::new();
    for cell in run.cells.iter().filter(|cell| cell.doubt.is_none()) {
        let Some(ns) = cell.max_ns else { continue };
        match all.iter_mut().find(|(load, _)| *load == cell.load) {
            Some((_, before)) => *before = ns.max(*before),
            None => all.push((&cell.load, ns)),
        }
    }
    all
}

/// Two boards that do not tell their names are not known to be the same.
fn board(run: &RunSummary) -> String {
    run.host.clone().unwrap_or_else(|| run.id.clone())
}
