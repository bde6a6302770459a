//! Analyses hundreds of runs of many boards: which boards have the worst wakeups, which are outliers, and what effect
//! kernels and settings have.
//!
//! One board is one sample, because its runs share a machine. For each board, load, settings and kernel, the median of
//! the worst wakeups of its runs is used. Latencies are compared on a logarithmic scale. An outlier is worse than the
//! worst of an equal number of boards is expected to be by chance ([`punctual_stats::GumbelScores`]). Every p-value is
//! corrected for the number of comparisons (Benjamini–Hochberg, over boards × loads). Fewer than [`LEAST_BOARDS`]
//! boards are not judged.
//!
//! Architecture invariant: pure functions that return numbers; the report writes the sentences.

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

/// Minimum number of boards under the same load and settings. Fewer boards are not judged.
pub const LEAST_BOARDS: usize = 10;
/// Significance level for boards, kernels and settings.
pub const LEVEL: f64 = 0.05;

pub fn fleet(runs: &[RunSummary]) -> Fleet {
    let usable: Vec<&RunSummary> = runs.iter().filter(|run| doubt(run).is_none()).collect();
    let doubtful = runs.iter().filter_map(|run| Some((name(run), doubt(run)?))).collect();
    let outliers = outliers::outliers(&usable);
    Fleet {
        runs: runs.len() as u64,
        boards: boards::boards(runs),
        outliers: outliers.found,
        outlier_tests: outliers.tests as u64,
        too_few: outliers.too_few,
        contrasts: contrasts::contrasts(&usable),
        doubtful,
    }
}
