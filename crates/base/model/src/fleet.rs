//! Comparison of the runs of many boards.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// Result of one phase on one CPU of one run, as a flat JSON line that DuckDB can read. Latencies are corrected: they
/// include skipped periods. Null values are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetLine {
    pub run: String,
    pub folder: Option<String>,
    /// Start of the run, CLOCK_REALTIME, ns since 1970.
    pub started_ns: Option<u64>,
    pub host: Option<String>,
    pub board: Option<String>,
    /// Output of `uname -r`.
    pub kernel: Option<String>,
    /// Output of `uname -v`.
    pub kernel_version: Option<String>,
    pub preemption: Option<String>,
    /// All settings that must be equal for latencies to be comparable.
    pub settings: String,
    pub duration_ns: Option<u64>,
    pub period_ns: Option<u64>,
    pub load: String,
    pub cpu: CpuId,
    /// Number of periods with a latency.
    pub samples: u64,
    pub skipped: Option<u64>,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
    pub p9999_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// Highest temperature during the run, m°C.
    pub temperature_max_mc: Option<i64>,
    /// Main cause of the worst wakeup, if a trace shows it.
    pub cause: Option<String>,
    /// Reason why the results do not represent the machine; null if they do.
    pub doubt: Option<String>,
    /// True if the run ended as planned.
    pub complete: bool,
    /// Verdict of the run: `pass`, `fail`, `inconclusive`; null if the run had no claim.
    pub outcome: Option<String>,
}

/// Comparison of the runs of many boards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    pub runs: u64,
    /// All boards, sorted by worst wakeup, largest first.
    pub boards: Vec<FleetBoard>,
    /// Boards whose worst wakeup is too large to be due to chance, compared with all boards with the same load and
    /// settings. The most certain outlier comes first.
    pub outliers: Vec<FleetOutlier>,
    /// Number of tests (boards × loads) made to find outliers.
    pub outlier_tests: u64,
    /// Combinations of load and settings measured on too few boards to look for outliers.
    pub too_few: Vec<FleetTooFew>,
    /// Effects of kernels and of settings.
    pub contrasts: Vec<FleetContrast>,
    /// Runs whose results do not represent their machine, with the reason. They count only in [`Fleet::runs`].
    pub doubtful: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetBoard {
    /// Host name; null if unknown.
    pub host: Option<String>,
    /// Model of the board; null if unknown.
    pub board: Option<String>,
    pub kernels: Vec<String>,
    /// Distinct settings of the board's runs.
    pub settings: Vec<String>,
    pub runs: u64,
    /// Number of runs that did not end as planned.
    pub incomplete: u64,
    pub failed: u64,
    /// Number of runs with an undecided claim and without a failed claim.
    pub inconclusive: u64,
    /// Median of the worst wakeups of the board's runs, ns; null if unknown.
    pub typical_ns: Option<u64>,
    /// Worst wakeup of the board; null if unknown.
    pub worst: Option<FleetWorst>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetWorst {
    pub ns: u64,
    pub load: String,
    pub cpu: CpuId,
    pub run: String,
    /// Main cause of the worst wakeup, if a trace shows it; null otherwise.
    pub cause: Option<String>,
}

/// A combination of load and settings measured on fewer than ten boards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetTooFew {
    pub settings: String,
    pub load: String,
    pub boards: u64,
}

/// A board whose worst wakeup latencies exceed those of the other boards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetOutlier {
    /// The run with the worst wakeup of the board.
    pub run: String,
    /// Host name; null if unknown.
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub load: String,
    pub settings: String,
    /// Median of the worst wakeups of the board's runs, ns.
    pub ns: u64,
    /// Median of `ns` over all boards compared.
    pub median_ns: f64,
    /// Distance from the median on a logarithmic scale, in robust standard deviations.
    pub score: f64,
    /// Probability that a score this high occurs by chance among all these boards, adjusted for all boards and loads
    /// (Benjamini–Hochberg).
    pub p: f64,
    /// Number of boards compared, including the outlier.
    pub boards: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetFactor {
    /// Kernels are compared at equal settings.
    Kernel,
    /// Settings are compared on the same kernel.
    Settings,
}

/// Comparison of the boards with one kernel (or one combination of settings) with all other boards that are otherwise
/// alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetContrast {
    pub factor: FleetFactor,
    /// The kernel or settings under comparison.
    pub level: String,
    /// The property that all compared boards share: the settings or the kernel.
    pub within: String,
    pub load: String,
    /// Number of boards with this kernel or these settings.
    pub boards: u64,
    /// Number of boards with another kernel or other settings.
    pub others: u64,
    /// Ratio of the worst wakeups of these boards to the worst wakeups of the other boards (Hodges–Lehmann estimate).
    pub ratio: f64,
    /// 95 % interval of the ratio; null if there are too few boards.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p-value of the Mann–Whitney test, adjusted for all comparisons (Benjamini–Hochberg).
    pub p: f64,
}
