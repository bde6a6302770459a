//! Comparison of groups of runs.

use serde::{Deserialize, Serialize};

/// Result of comparing groups of runs. Each later group is compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Compared groups in the order given, at least two.
    pub groups: Vec<Group>,
    /// Numbers of boots per group needed to detect a difference, with one entry for each value of the standard
    /// deviation between boots.
    pub recipes: Vec<BootsRecipe>,
    /// True if all runs of all groups are of one boot of one machine, so that nothing follows about what a boot sets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_boot: bool,
    /// Runs that may share a boot with other runs. If there are any, no conclusion is drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_boots: Vec<String>,
    /// For each group after the first: true if it was booted alternately with the first group (A B B A …) and the runs
    /// of both started at similar temperatures.
    pub began_alike: Vec<bool>,
    /// Clock model if all runs share one, in which case all values are in virtual time; null otherwise.
    pub virtual_time: Option<crate::VirtualTime>,
    /// One row per compared quantity. The first is the worst latency over all loads.
    pub rows: Vec<ComparisonRow>,
    /// Differences between the groups, except the difference under test.
    pub unlike: Vec<Unlike>,
    /// Causes of the worst wakeups of each group, found in traces; empty if no wakeup was explained.
    pub causes: Vec<Vec<CauseShare>>,
    /// Loads that are not compared because some groups lack them.
    pub left_out: Vec<String>,
    /// Reasons why the comparison supports no conclusion.
    pub problems: Vec<String>,
    /// Runs with other problems. They are compared, but a difference may be due to the problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<DoubtfulRun>,
    /// Properties that files of other tools do not record and that therefore cannot be compared. Empty if all
    /// properties are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_known: Vec<String>,
}

/// A run whose report names problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoubtfulRun {
    pub run: String,
    /// Outcome of the run with its own claims.
    pub outcome: crate::Outcome,
    /// Not empty.
    pub problems: Vec<crate::Problem>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Name of the group, for example the kernel release.
    pub name: String,
    /// Boots of the group, identified by the names or seeds of their runs, in the order of [`Sampled::values`].
    pub boots: Vec<String>,
    /// Number of runs in the group.
    pub runs: u64,
    /// Directory of the runs; null if they are single files or are in several directories.
    pub folder: Option<String>,
    /// Number of scored periods, which are the periods with a latency, over all runs and CPUs.
    pub scored: u64,
}

/// Unit of observation: what each value of a row represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SampleUnit {
    /// A boot, represented by the median of its runs. Boots are independent of each other.
    Boot,
    /// A batch of a benchmark. Batches are consecutive within one boot and do not represent other boots.
    Batch,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonRow {
    /// Load: `all loads`, the name of a load, or the subject of a series.
    pub load: String,
    /// Name of the compared quantity: `max`, `p99.9`, `skipped`, or the name of a rate or series.
    pub figure: String,
    /// Unit: `ns`, `s`, `share`, `1/s`, `MiB/s`, …
    pub unit: String,
    pub sample: SampleUnit,
    /// True if larger values are better, as with throughput.
    pub more_is_better: bool,
    /// Values of each group, in the order of the groups.
    pub groups: Vec<Sampled>,
    /// Each group after the first, compared with the first.
    pub against: Vec<Against>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampled {
    /// Values, one per boot or batch.
    pub values: Vec<f64>,
    pub n: u64,
    /// Effective sample size, with the autocorrelation taken into account; absent if the values have no order in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<f64>,
    /// Autocorrelation at lag one; absent if the values have no order in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_one: Option<f64>,
    /// Median of `values`; null if there are none.
    pub median: Option<f64>,
    /// Mean of `values`; null if there are none.
    pub mean: Option<f64>,
    /// For a quantile of a single run: lower 95 % confidence bound by order statistics; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Upper 95 % confidence bound for a quantile of a single run; also absent if the run does not bound the quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// Ratio of this group to the first; null if it cannot be computed.
    pub ratio: Option<Ratio>,
    /// Two-sided p-value under the hypothesis of no difference; null if not tested.
    pub p: Option<f64>,
    /// The p-value adjusted for all rows of the comparison (Benjamini and Hochberg); null if not tested.
    pub q: Option<f64>,
    #[serde(rename = "told")]
    pub conclusion: Conclusion,
    /// True if boots were compared in pairs because the groups were booted alternately.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paired: bool,
    /// Ratio at equal temperature, by analysis of covariance over the boots; absent if temperatures are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal_temperature: Option<Ratio>,
    /// Effect of temperature on the difference; absent if it was not tested or has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covariate: Option<Covariate>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The values of the second group are larger.
    More,
    /// The values of the second group are smaller.
    Less,
    /// No difference was found.
    Alike,
    /// There are too few values for a confidence interval.
    #[default]
    TooFew,
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Hodges–Lehmann estimate on logarithms; for batches the ratio of means.
    pub value: f64,
    /// Ends of the confidence interval; null if there are too few values.
    pub interval: Option<(f64, f64)>,
    /// Actual confidence of the interval; the requested confidence if there is no interval.
    pub confidence: f64,
    /// Minimum number of boots per group needed for a confidence interval.
    pub least_n: u64,
}

/// Effect of temperature on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Covariate {
    /// Threshold temperature above which values differ in both groups, °C.
    pub at: f64,
    /// Ratio of the values at and above the threshold to the values below it, common to both groups.
    pub step: f64,
    /// p-value of the threshold effect.
    pub p: f64,
    /// Ratio of the second group to the first over all values, which are treated as independent.
    pub all: Ratio,
    /// Ratio of the second group to the first over the values below the threshold.
    pub below: Ratio,
    /// Number of values below the threshold in the first and the second group.
    pub n_below: (u64, u64),
    /// Share of the difference (on a logarithmic scale) that vanishes below the threshold.
    pub share: Option<f64>,
    /// True if temperature explains most of the difference.
    pub is_most: bool,
}

/// Number of boots needed to detect a difference in a single quantity with a power of 80 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootsRecipe {
    pub load: String,
    pub figure: String,
    /// Standard deviation of the logarithms of the values of one group's boots.
    pub spread: f64,
    /// True if the spread was estimated from these boots, false if it is assumed.
    pub is_seen: bool,
    /// Number of comparisons for which the p-values are corrected.
    pub tests: u64,
    pub needed: Vec<BootsNeeded>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootsNeeded {
    /// Relative difference; 0.1 means 10 % more.
    pub difference: f64,
    pub boots: u64,
}

/// A difference between the groups that is not the difference under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unlike {
    pub what: UnlikeKind,
    /// Value in each group; null if it is unknown.
    pub values: Vec<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnlikeKind {
    Machine,
    Cpus,
    Period,
    Scheduling,
    Way,
    /// How the releases on different CPUs are aligned.
    Alignment,
    /// CPU exit-latency limit set through /dev/cpu_dma_latency during the measurement.
    DmaLatency,
    Tool,
    /// Resolution of the reported values.
    Resolution,
    /// Number of scored periods per run, which affects the largest latency.
    Length,
    Tracing,
    Governor,
    Virtualisation,
    Parameters,
    /// Median CPU frequency, read between phases.
    Frequency,
    Temperature,
    /// Throttling or under-voltage during the measurement.
    Throttling,
}

/// Share of one cause in the worst wakeups of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    pub class: crate::Class,
    /// Thread, interrupt or other cause; null if the class alone identifies it.
    pub who: Option<String>,
    /// Number of worst wakeups with this main cause.
    pub wakeups: u64,
    /// Number of worst wakeups of the group that were explained.
    pub of: u64,
    /// Longest delay by this cause, ns.
    pub longest_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonDrawings {
    /// For each load, its name and what is known about the corrected latencies of each group.
    pub histograms: Vec<(String, Vec<crate::Known<'static>>)>,
    pub scatters: Vec<Scatter>,
}

/// Values plotted against the temperature at which they were taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    pub of: String,
    pub name: String,
    pub unit: String,
    /// Detected threshold, °C.
    pub at: Option<f64>,
    /// Pairs of temperature and value for each group.
    pub groups: Vec<Vec<(f64, f64)>>,
}
