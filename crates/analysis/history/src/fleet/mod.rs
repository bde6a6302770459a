//! Hundreds of runs of many boards: which boards have the worst wakeups, which runs are outliers, and the effect of
//! kernels and settings.
//!
//! One board is one sample: its runs share a machine, so of each board, load, settings and kernel the median of its
//! runs' worst wakeups counts. Latencies are compared on a logarithmic scale. An outlier is more than 3.5 robust
//! standard deviations (median and median absolute deviation) from the median of five boards or more (B. Iglewicz and
//! D. C. Hoaglin, How to Detect and Handle Outliers, ASQC 1993). Every p is corrected for the number of comparisons.
//!
//! Architecture invariant: pure. Figures only; sentences are made by the report.

mod boards;
mod contrasts;
mod lines;
mod outliers;
mod run;
#[cfg(test)]
mod tests;

use punctual_model::Fleet;
use punctual_model::history::RunSummary;
use run::{doubt, name};

pub use lines::lines;

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
