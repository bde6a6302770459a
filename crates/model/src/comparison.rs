//! Two groups of runs beside each other.

use serde::{Deserialize, Serialize};

/// What comparing two groups of runs came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first group: what the second is compared with.
    pub a: Group,
    /// The second.
    pub b: Group,
    /// What counts as one sample: `boot`.
    pub sample: String,
    /// The clock model of both, where it is one; every figure is of that model then.
    pub virtual_time: Option<crate::VirtualTime>,
    /// One row a figure compared; the first is the worst over all loads.
    pub rows: Vec<ComparisonRow>,
    /// What stands against reading anything from it.
    pub problems: Vec<String>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its name, for example the kernel's release.
    pub name: String,
    /// Seeds or names of its runs, in the order of the values.
    pub runs: Vec<String>,
    /// Where the runs are.
    pub folder: String,
}

/// One figure in both groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// Of what: `all loads`, or a load.
    pub load: String,
    /// Which figure: `max`, `p50`.
    pub figure: String,
    /// One value a run of the first group, ns.
    pub a_ns: Vec<f64>,
    /// One value a run of the second, ns.
    pub b_ns: Vec<f64>,
    /// Median of the first group, ns.
    pub median_a_ns: Option<f64>,
    /// Median of the second, ns.
    pub median_b_ns: Option<f64>,
    /// The second over the first.
    pub ratio: Option<Ratio>,
    /// Two-sided p of "neither group tends to be later" (Mann–Whitney).
    pub p: Option<f64>,
}

/// A ratio and what is known of its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Hodges–Lehmann's estimate on logarithms.
    pub value: f64,
    /// The rank interval's ends; `None`: too few runs for one.
    pub interval: Option<(f64, f64)>,
    /// The interval's real confidence; without one, the confidence asked for.
    pub confidence: f64,
    /// Runs in each group from which there is an interval.
    pub least_n: u64,
}
