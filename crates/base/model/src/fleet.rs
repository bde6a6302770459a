//! Many boards: their runs beside each other.

use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// One phase on one CPU of one run, flat: a line of the JSONL for DuckDB. Latencies are corrected: skipped periods are scored. `None`:
/// not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetLine {
    /// The run's identity.
    pub run: String,
    /// Where it lies.
    pub folder: Option<String>,
    /// When it began, ns since 1970.
    pub started_ns: Option<u64>,
    /// The machine's name.
    pub host: Option<String>,
    /// What board it is.
    pub board: Option<String>,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// `uname -v`.
    pub kernel_version: Option<String>,
    /// The active preemption mode.
    pub preemption: Option<String>,
    /// Everything of the settings that must be alike for latencies to be comparable, in words.
    pub settings: String,
    /// Total measuring time.
    pub duration_ns: Option<u64>,
    /// Period of every measuring thread.
    pub period_ns: Option<u64>,
    /// The load.
    pub load: String,
    /// CPU.
    pub cpu: CpuId,
    /// Periods that have a latency.
    pub samples: u64,
    /// Periods skipped.
    pub skipped: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99 % of the periods are no later.
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    pub p999_ns: Option<u64>,
    /// 99.99 %.
    pub p9999_ns: Option<u64>,
    /// The latest.
    pub max_ns: Option<u64>,
    /// The highest temperature seen, m°C.
    pub temperature_max_mc: Option<i64>,
    /// The main cause of the latest wakeup, where a trace shows it.
    pub cause: Option<String>,
    /// Why its figures say nothing of the machine.
    pub doubt: Option<String>,
    /// Did the run end as planned?
    pub complete: bool,
    /// The run's verdict: `pass`, `fail`, `inconclusive`; `None`: nothing was claimed.
    pub outcome: Option<String>,
}

/// Runs of many boards beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// Runs.
    pub runs: u64,
    /// Every board, the one with the latest wakeup first.
    pub boards: Vec<FleetBoard>,
    /// Runs whose latest wakeup is far from those of other boards under the same load and settings, the farthest first.
    pub outliers: Vec<FleetOutlier>,
    /// What a kernel, or settings, have to do with it.
    pub contrasts: Vec<FleetContrast>,
    /// Runs with figures that say nothing of their machine: which, and why. They count nowhere else but in [`Fleet::runs`].
    pub doubtful: Vec<(String, String)>,
}

/// One board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetBoard {
    /// The machine's name.
    pub host: Option<String>,
    /// What board it is.
    pub board: Option<String>,
    /// Kernels it ran.
    pub kernels: Vec<String>,
    /// Its settings, each once.
    pub settings: Vec<String>,
    /// Its runs.
    pub runs: u64,
    /// Those that did not end as planned.
    pub incomplete: u64,
    /// Those whose claims fail.
    pub failed: u64,
    /// Those whose claims were decided neither way.
    pub inconclusive: u64,
    /// Median over its runs of the run's latest wakeup, ns.
    pub typical_ns: Option<u64>,
    /// Its latest wakeup; `None`: nothing is known of any.
    pub worst: Option<FleetWorst>,
}

/// A latest wakeup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetWorst {
    /// How late, ns.
    pub ns: u64,
    /// Under which load.
    pub load: String,
    /// On which CPU.
    pub cpu: CpuId,
    /// In which run.
    pub run: String,
    /// Why, where a trace shows it.
    pub cause: Option<String>,
}

/// A run far from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetOutlier {
    /// Which.
    pub run: String,
    /// Of which board.
    pub host: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// Under which load.
    pub load: String,
    /// The settings it is compared under.
    pub settings: String,
    /// Its latest wakeup, ns.
    pub ns: u64,
    /// The median of all boards there, ns.
    pub median_ns: f64,
    /// How far it is from that on a logarithmic scale, in robust standard deviations (above 0: later).
    pub score: f64,
    /// Boards it is compared with, itself among them.
    pub boards: u64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetFactor {
    /// Kernels, under the same settings.
    Kernel,
    /// Settings, on the same kernel.
    Settings,
}

/// Boards with one kernel (or settings) beside all other boards that are alike otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetContrast {
    /// What differs.
    pub factor: FleetFactor,
    /// The kernel, or the settings.
    pub level: String,
    /// What is alike: the settings, or the kernel.
    pub within: String,
    /// Under which load.
    pub load: String,
    /// Boards with it.
    pub boards: u64,
    /// Boards with another.
    pub others: u64,
    /// Its latest wakeups to those of the others: the ratio (Hodges–Lehmann).
    pub ratio: f64,
    /// Its 95 % interval; `None`: too few boards to have one.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p of Mann and Whitney, corrected for all comparisons made (Benjamini–Hochberg).
    pub p: f64,
}
