//! Groups of runs beside each other.

use serde::{Deserialize, Serialize};

/// What comparing groups of runs came to. The first group is what the others are compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The groups, in the order given; two at least.
    pub groups: Vec<Group>,
    /// What one run is: `boot` where each was booted for itself, else `run`.
    pub sample: String,
    /// The clock model of all, where it is one; every figure is of that model then.
    pub virtual_time: Option<crate::VirtualTime>,
    /// One row a figure compared; the first is the worst over all loads.
    pub rows: Vec<ComparisonRow>,
    /// What differs between the groups besides what is compared.
    pub unlike: Vec<Unlike>,
    /// What traces say of the latest wakeups, for each group; empty where nothing was explained.
    pub causes: Vec<Vec<CauseShare>>,
    /// Loads that not all groups have: they are not compared.
    pub left_out: Vec<String>,
    /// What stands against reading anything from it.
    pub problems: Vec<String>,
}

/// One group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Its name, for example the kernel's release.
    pub name: String,
    /// Seeds or names of its runs, in the order of the values.
    pub runs: Vec<String>,
    /// Where the runs are; `None`: they are files, or in several folders.
    pub folder: Option<String>,
    /// Periods scored over all runs and CPUs.
    pub scored: u64,
}

/// What one value of a row is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SampleUnit {
    /// A run: independent of the others where each was booted for itself.
    Run,
    /// A second of one run: says nothing of other boots.
    Second,
    /// A batch of a benchmark, one after the other in one run.
    Batch,
}

/// One figure in all groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparisonRow {
    /// Of what: `all loads`, a load, or what a series is of.
    pub load: String,
    /// Which figure: `max`, `p99.9`, `skipped`, `worst of a second`, or the name of a rate or series.
    pub figure: String,
    /// `ns`, `s`, `share`, `1/s`, `MiB/s`, …
    pub unit: String,
    /// What one value is taken of.
    pub sample: SampleUnit,
    /// Is more better, as of a throughput?
    pub more_is_better: bool,
    /// The figures of each group, in the order of the groups.
    pub groups: Vec<Sampled>,
    /// Each group after the first, compared with the first.
    pub against: Vec<Against>,
}

/// One figure of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampled {
    /// The values, one a run or batch; empty where they are seconds.
    pub values: Vec<f64>,
    /// How many there are.
    pub n: u64,
    /// As many independent values say as much, where they are in the order of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective: Option<f64>,
    /// Autocorrelation of neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_one: Option<f64>,
    /// Their median.
    pub median: Option<f64>,
    /// Their mean.
    pub mean: Option<f64>,
    /// A quantile of one run: its lower bound at 95 %, by order statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Its upper bound; `None`: not bounded by this run (or no quantile, or several runs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
}

/// A group compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Against {
    /// This group over the first.
    pub ratio: Option<Ratio>,
    /// Two-sided p of "no difference".
    pub p: Option<f64>,
    /// The same with all rows of the comparison counted in (Benjamini and Hochberg).
    pub q: Option<f64>,
    /// What it comes to.
    pub told: Told,
    /// What the temperature has to do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covariate: Option<Covariate>,
}

/// What a row says of two groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The second has more.
    More,
    /// The second has less.
    Less,
    /// They cannot be told apart.
    Alike,
    /// Too few values for an interval.
    #[default]
    TooFew,
    /// One of them has no value.
    Missing,
}

/// A ratio and what is known of its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// Hodges–Lehmann's estimate on logarithms; of seconds the ratio of medians, of batches that of means.
    pub value: f64,
    /// The ends of its interval; `None`: too few values for one.
    pub interval: Option<(f64, f64)>,
    /// The interval's real confidence; without one, the confidence asked for.
    pub confidence: f64,
    /// Runs in each group from which there is an interval.
    pub least_n: u64,
}

/// Whether a difference is one of the temperature at which the values were taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Covariate {
    /// The temperature from which on values of both groups differ, °C.
    pub at: f64,
    /// Values at and above it over values below, the same in both groups.
    pub step: f64,
    /// P(so good a step) if the temperature said nothing.
    pub p: f64,
    /// The ratio of all values, taken as independent.
    pub all: Ratio,
    /// The ratio of the values below.
    pub below: Ratio,
    /// How many values are below, of the first and of the second.
    pub n_below: (u64, u64),
    /// The share of the difference, on logarithms, that is gone below.
    pub share: Option<f64>,
    /// Is most of the difference the temperature's?
    pub is_most: bool,
}

/// What differs between groups besides what is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unlike {
    /// What.
    pub what: UnlikeKind,
    /// As it is in each group; `None`: not known.
    pub values: Vec<Option<String>>,
}

/// Kinds of [`Unlike`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnlikeKind {
    /// Board or processor.
    Machine,
    /// How many CPUs were measured.
    Cpus,
    /// Period of the threads.
    Period,
    /// Policy and priority.
    Scheduling,
    /// By what the threads were woken.
    Way,
    /// How the threads' releases lie to each other.
    Alignment,
    /// The limit on exit latency while measuring.
    DmaLatency,
    /// Who measured.
    Tool,
    /// The width of the values told.
    Resolution,
    /// Periods scored by a run; matters to the largest of them.
    Length,
    /// Was it traced meanwhile?
    Tracing,
    /// Frequency governor.
    Governor,
    /// Hypervisor.
    Virtualisation,
    /// Parameters of the kernel.
    Parameters,
    /// Median frequency, as it was read between phases.
    Frequency,
    /// Median temperature.
    Temperature,
    /// Throttling or too low voltage while measuring.
    Throttling,
}

/// A cause's part in the latest wakeups of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseShare {
    /// Its class.
    pub class: crate::Class,
    /// Thread, interrupt or whatever is to blame; `None`: the class says it all.
    pub who: Option<String>,
    /// Late wakeups of which it is the largest cause.
    pub wakeups: u64,
    /// Of so many that were explained.
    pub of: u64,
    /// The longest delay by it, ns.
    pub longest_ns: u64,
}

/// What is drawn of a comparison, beside its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonDrawings {
    /// Load, and the corrected latencies of each group.
    pub histograms: Vec<(String, Vec<punctual_units::Histogram>)>,
    /// Values over temperature.
    pub scatters: Vec<Scatter>,
}

/// Values over the temperature they were taken at.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// What they are of.
    pub of: String,
    /// What they are.
    pub name: String,
    /// Their unit.
    pub unit: String,
    /// The threshold found, °C.
    pub at: Option<f64>,
    /// Temperature and value, for each group.
    pub groups: Vec<Vec<(f64, f64)>>,
}
