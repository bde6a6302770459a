//! Results computed from a history: shifts, and the comparison of a run with its baseline.

use super::{Figure, RunSummary};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub figures: Vec<Figure>,
    /// Accepted number of false alarms per year over all series.
    pub alarms_per_year: f64,
    /// Number of series with enough runs for shift detection.
    pub watched: usize,
    /// Runs grouped by machine and settings; the group with the most recent run comes first.
    pub groups: Vec<HistoryGroup>,
}

/// Runs that are comparable with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryGroup {
    pub machine: String,
    /// Clock model of the runs; null for real time.
    pub virtual_time: Option<String>,
    pub settings: Vec<(&'static str, String)>,
    /// Runs in chronological order, followed by runs without a start time.
    pub runs: Vec<RunSummary>,
    /// Distinct hosts of the runs.
    pub hosts: Vec<String>,
    /// One series per load and statistic; a statistic that grows with the length of the measurement has one series per
    /// length.
    pub series: Vec<HistorySeries>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistorySeries {
    pub load: String,
    pub figure: Figure,
    /// Length of the measurement, if the statistic grows with it; null otherwise.
    pub length: Option<String>,
    /// Points in chronological order.
    pub points: Vec<HistoryPoint>,
    /// Numbers of runs that could not be used.
    pub left_out: LeftOut,
    /// Number of runs needed to detect a shift.
    pub least_runs: usize,
    /// Detected shifts, in chronological order.
    pub shifts: Vec<HistoryShift>,
    /// Current level; null if there are too few runs since the last shift.
    pub level: Option<HistoryLevel>,
    /// Number of runs that lay within their predicted bounds; null if no bound was computed.
    pub bounds: Option<HistoryBounds>,
}

/// Numbers of runs that a series does not include, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Number of runs without a start time.
    pub undated: usize,
    /// Number of runs that did not complete.
    pub incomplete: usize,
    /// Number of runs whose load did not run, or whose phase is otherwise doubtful.
    pub doubtful: usize,
    /// Number of runs too short to yield the statistic.
    pub unknown: usize,
    /// Number of runs that are not among the most recent 20,000.
    pub older: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryPoint {
    pub run: String,
    /// Start of the run, CLOCK_REALTIME, ns since 1970.
    pub started_ns: u64,
    /// Output of `uname -r`.
    pub kernel: Option<String>,
    pub ns: u64,
}

/// Current level, estimated from at least 16 runs since the last shift, and a prediction of the next run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryLevel {
    /// Lag-one autocorrelation of the logarithms of the runs' values.
    pub autocorrelation: f64,
    /// Standard deviation of a run's value given the value of the previous run, as a factor.
    pub spread: f64,
    /// Smallest change, as a factor, that is detected within [`HistoryLevel::within_runs`] runs with a probability of
    /// 75 %; null if there is none.
    pub least_shift: Option<f64>,
    pub within_runs: usize,
    /// Upper 95 % bound on the value of the next run, ns; null if there are fewer than 20 runs.
    pub next_ns: Option<f64>,
}

/// Number of runs that lay within the 95 % bound computed from the runs before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryBounds {
    pub inside: usize,
    pub of: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryShift {
    /// Index in the series of the first run after the shift.
    pub at: usize,
    /// ID of the first run after the shift.
    pub run: String,
    /// Start of the first run after the shift, CLOCK_REALTIME, ns since 1970.
    pub started_ns: u64,
    /// Kernel of the run before the shift.
    pub kernel_before: Option<String>,
    /// Kernel of the first run after the shift.
    pub kernel: Option<String>,
    /// Median of the runs since the previous shift, ns.
    pub before_ns: f64,
    /// Median of the runs until the next shift, ns.
    pub after_ns: f64,
    /// Ratio of `after_ns` to `before_ns`.
    pub ratio: f64,
    /// 95 % interval of the ratio, widened for autocorrelation, on the assumption that the location of the shift is
    /// right; null if one side has only one run.
    pub interval: Option<(f64, f64)>,
    /// ID of the run that raised the alarm.
    pub seen: String,
    /// Number of runs from the shift to the alarm.
    pub runs_to_see: usize,
    /// Other differences between the last run before the shift and the first run after it.
    pub differs: Vec<Difference>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    pub what: String,
    /// Value in the earlier run, or in the baseline.
    pub before: String,
    /// Value in the later run.
    pub now: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    pub run: String,
    pub kernel: Option<String>,
    /// The baseline as named by the user.
    pub baseline: String,
    /// Runs of the baseline that were used, in chronological order.
    pub baseline_runs: Vec<String>,
    pub outcome: GateOutcome,
    /// Method used for the decision; null if no decision was possible.
    pub method: Option<GateMethod>,
    /// Number of additional baseline runs needed for a decision or, if the log-normal model already decides, for a
    /// decision by rank.
    pub runs_needed: usize,
    /// Accepted increase, for example 0.1 for 10 %.
    pub tolerance: f64,
    /// Upper bound on the probability that a run is reported as worse although it is not.
    pub alpha: f64,
    /// One test per load and statistic.
    pub tests: Vec<GateTest>,
    /// Statistics that could not be tested, with the reason.
    pub left_out: Vec<String>,
    /// Differences from the most similar run of the baseline; empty if at least one run was comparable.
    pub differs: Vec<Difference>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    NotWorse,
    Worse,
    /// There are too few runs, or a statistic could not be tested.
    Inconclusive,
    /// No run of the baseline is comparable.
    NotComparable,
}

/// Method by which a run is compared with its baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GateMethod {
    /// The rank of the run within its baseline. This method assumes only that runs are exchangeable.
    Rank,
    /// Prediction interval of a log-normal distribution for the next run. In addition, the run must exceed every run of
    /// the baseline.
    LogNormal,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateTest {
    pub load: String,
    pub figure: Figure,
    /// Value in the run, ns.
    pub ns: u64,
    /// Median of the baseline, ns.
    pub baseline_ns: f64,
    /// Largest value of the baseline, ns.
    pub baseline_max_ns: u64,
    /// Approximate limit above which the run counts as worse, ns; null if there is none.
    pub limit_ns: Option<f64>,
    /// Probability of a value this large by chance, after subtraction of the tolerance, corrected for all tests of this
    /// comparison; null if not computed.
    pub p: Option<f64>,
    pub worse: bool,
}
