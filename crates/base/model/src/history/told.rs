//! What a history says, and how a run compares with its baseline.

use super::{Figure, RunSummary};
use serde::Serialize;

/// What a history says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct History {
    /// Which figures were looked at.
    pub figures: Vec<Figure>,
    /// P(a false claim of a trend or a shift anywhere) is at most this where nothing changed.
    pub alpha: f64,
    /// Tests made, which each p is corrected for.
    pub tests: usize,
    /// Runs by machine and settings, the ones with the latest run first.
    pub groups: Vec<HistoryGroup>,
}

/// Comparable runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryGroup {
    /// The machine in a few words.
    pub machine: String,
    /// The clock model; `None`: real time.
    pub virtual_time: Option<String>,
    /// The settings by name.
    pub settings: Vec<(&'static str, String)>,
    /// In the order of time; those without a time last.
    pub runs: Vec<RunSummary>,
    /// Hosts the runs come from, each once.
    pub hosts: Vec<String>,
    /// One a load and figure (and length, where the figure grows with it).
    pub series: Vec<HistorySeries>,
}

/// One figure under one load over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistorySeries {
    /// The load.
    pub load: String,
    /// The figure.
    pub figure: Figure,
    /// How long was measured, where the figure grows with it.
    pub length: Option<String>,
    /// In the order of time.
    pub points: Vec<HistoryPoint>,
    /// Runs that could not be used.
    pub left_out: LeftOut,
    /// Runs from which on a shift and a trend can be told at all.
    pub least_runs: usize,
    /// Up or down over time; `None`: too few runs.
    pub trend: Option<HistoryTrend>,
    /// P(so clear a shift) where there is none, Pettitt's, corrected for all tests; `None`: too few runs.
    pub shift_p: Option<f64>,
    /// Where it shifted, in the order of time.
    pub shifts: Vec<HistoryShift>,
}

/// Runs that a series does not hold, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Without a time.
    pub undated: usize,
    /// Not measured to their end.
    pub incomplete: usize,
    /// Whose load did not run, or whose phase is otherwise in doubt.
    pub doubtful: usize,
    /// Too short to have the figure.
    pub unknown: usize,
    /// Older than the latest 2000.
    pub older: usize,
}

/// One run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryPoint {
    /// The run.
    pub run: String,
    /// When it began, ns since 1970.
    pub started_ns: u64,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// The figure.
    pub ns: u64,
}

/// Does it rise or fall?
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryTrend {
    /// By what factor it changes in 30 days: Theil–Sen's slope of the logarithms.
    pub per_30_days: f64,
    /// Sen's interval; `None`: too few runs.
    pub interval: Option<(f64, f64)>,
    /// The interval's confidence.
    pub confidence: f64,
    /// P(so clear a trend) where there is none, Mann–Kendall's, corrected for all tests.
    pub p: f64,
    /// Is it one: p is at most alpha, and a line fits better than steps?
    pub claimed: bool,
}

/// A shift.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryShift {
    /// The first run after it: its place in the series.
    pub at: usize,
    /// The first run after it.
    pub run: String,
    /// When that began, ns since 1970.
    pub started_ns: u64,
    /// Kernel of the run before.
    pub kernel_before: Option<String>,
    /// Kernel of the run.
    pub kernel: Option<String>,
    /// Median of the runs back to the shift before, ns.
    pub before_ns: f64,
    /// Median of the runs up to the next shift, ns.
    pub after_ns: f64,
    /// The ratio of after and before: Hodges–Lehmann's on logarithms.
    pub ratio: f64,
    /// Its rank interval; `None`: too few runs.
    pub interval: Option<(f64, f64)>,
    /// The interval's confidence.
    pub confidence: f64,
    /// P(so clear a shift) where there is none; of the clearest one corrected for all tests.
    pub p: f64,
    /// What else differs between the run before and this one.
    pub differs: Vec<Difference>,
}

/// One thing in which two runs differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its name.
    pub what: String,
    /// In the earlier run, or in the baseline.
    pub before: String,
    /// In the run.
    pub now: String,
}

/// How a run compares with its baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// The run.
    pub run: String,
    /// Its kernel.
    pub kernel: Option<String>,
    /// The baseline as the user named it.
    pub baseline: String,
    /// Its runs that were used, in the order of time.
    pub baseline_runs: Vec<String>,
    /// How it came out.
    pub outcome: GateOutcome,
    /// How it was decided; `None`: it was not.
    pub method: Option<GateMethod>,
    /// Runs the baseline lacks to judge at all; to judge without a model where it could be judged with one.
    pub runs_needed: usize,
    /// How much worse is still fine, 0.1 for 10 %.
    pub tolerance: f64,
    /// P(called worse anywhere) of a run that is not.
    pub alpha: f64,
    /// One a load and figure.
    pub tests: Vec<GateTest>,
    /// What could not be judged, and why.
    pub left_out: Vec<String>,
    /// Where nothing was comparable: in what the run differs from the nearest of the baseline.
    pub differs: Vec<Difference>,
}

/// How a gate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// Nothing is worse.
    NotWorse,
    /// Something is worse.
    Worse,
    /// Too few runs, or a figure that could not be judged.
    Inconclusive,
    /// No run of the baseline was measured alike.
    NotComparable,
}

/// How a gate was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateMethod {
    /// By the rank of the run among its baseline: no assumption but that runs are exchangeable.
    Rank,
    /// By the interval that a normal distribution of the logarithms predicts for the next run; and it must be beyond every
    /// run of the baseline.
    LogNormal,
}

/// One figure under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateTest {
    /// The load.
    pub load: String,
    /// The figure.
    pub figure: Figure,
    /// Of the run, ns.
    pub ns: u64,
    /// Median of the baseline, ns.
    pub baseline_ns: f64,
    /// The baseline's largest, ns.
    pub baseline_max_ns: u64,
    /// From about here on it would have been called worse, ns.
    pub limit_ns: Option<f64>,
    /// P(so late or later, tolerance taken off) of a run that is not worse, corrected for all tests of the gate.
    pub p: Option<f64>,
    /// Is it worse?
    pub worse: bool,
}
