//! Changes tried on a machine, and their effect on latency.

use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// `tune.json`: result of a whole search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuned {
    pub schema: String,
    /// Quantity to minimise, for example `largest latency` or `p99.9`.
    pub objective: String,
    /// Measurement time of a block, summed over all loads.
    pub block_ns: Nanos,
    /// Probability that at least one change is kept although no change helps.
    pub alpha: f64,
    /// Seed for the random order in which blocks were measured.
    #[serde(default)]
    pub seed: u64,
    /// Value of the objective for each block measured without changes, in order, ns.
    pub before_ns: Vec<f64>,
    /// Value of the objective for each block measured with all kept changes, in order, ns.
    pub after_ns: Vec<f64>,
    /// Trials in the order in which they were made.
    pub trials: Vec<Trial>,
    /// Changes that could not be tried, with the reason.
    pub not_tried: Vec<(String, String)>,
    /// Kept changes, in the order in which they were found.
    pub kept: Vec<String>,
    pub ended: Ended,
}

pub const TUNE_SCHEMA: &str = "punctual.tune/1";

/// Comparison of alternating measurements with and without one change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// ID of the rule that makes the change.
    pub rule: String,
    /// What the rule changes.
    pub what: String,
    /// Number of changes that had been kept before this trial.
    pub round: usize,
    /// Values of the objective without and with the change, ns, pair by pair.
    pub pairs: Vec<(f64, f64)>,
    /// Value of the objective with the change minus the value without it, ns; negative if the change helps.
    pub shift_ns: f64,
    /// 95 % confidence interval of the shift; null if there are too few pairs.
    pub interval_ns: Option<(f64, f64)>,
    pub kind: TrialKind,
    /// Costs of a confirmed change: `power` measured in the blocks, `throughput` of a benchmark. A cost that is not
    /// listed is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<TrialCost>,
}

/// A quantity measured without and with a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialCost {
    /// Name of the quantity: `power` or `throughput`.
    pub what: String,
    /// Unit of the quantity: `W` or `1/s`.
    pub unit: String,
    /// Quantity without and with the change, pair by pair.
    pub pairs: Vec<(f64, f64)>,
    /// Ratio of the quantity with the change to the quantity without it (Hodges–Lehmann estimate for pairs).
    pub ratio: f64,
    /// 95 % interval of the ratio; null if there are too few pairs.
    pub interval: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialKind {
    /// A short trial to find out whether the change is worth confirming.
    Screening,
    /// Confirmation of a change with independent data.
    Confirmation {
        /// p-value computed from the pairs, under the hypothesis that the change does not help.
        p: f64,
        /// Significance level that the p-value must not exceed.
        alpha: f64,
        kept: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    ClaimsHold,
    /// No remaining change helps.
    NothingHelps,
    NothingToTry,
    TimeUp,
    /// A signal or an error stopped the search.
    Stopped {
        why: String,
    },
}
