//! What was tried on a machine, and how much it helped.

use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// `tune.json`: result of a whole search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuned {
    pub schema: String,
    /// Figure that is minimised: `largest latency`, `p99.9`.
    pub objective: String,
    /// Measuring time of a block over all loads.
    pub block_ns: Nanos,
    /// Probability that any change is kept if none helps.
    pub alpha: f64,
    /// Seed of the order in which blocks were measured.
    #[serde(default)]
    pub seed: u64,
    /// Figure of each block without changes, in order, ns.
    pub before_ns: Vec<f64>,
    /// Figure of each block with everything that was kept, in order, ns.
    pub after_ns: Vec<f64>,
    /// In the order they were made.
    pub trials: Vec<Trial>,
    /// Changes that could not be tried, and why.
    pub not_tried: Vec<(String, String)>,
    /// Kept changes, in the order they were found.
    pub kept: Vec<String>,
    pub ended: Ended,
}

/// Value of [`Tuned::schema`].
pub const TUNE_SCHEMA: &str = "punctual.tune/1";

/// A change measured alternately with and without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Id of the rule.
    pub rule: String,
    /// What the rule changes.
    pub what: String,
    /// Number of changes that were kept before.
    pub round: usize,
    /// Figures without and with the change, ns, pair by pair.
    pub pairs: Vec<(f64, f64)>,
    /// With minus without, ns; negative if it helps.
    pub shift_ns: f64,
    /// 95 % confidence interval of the shift; null if there are too few pairs.
    pub interval_ns: Option<(f64, f64)>,
    pub kind: TrialKind,
    /// What the change costs, for one that was confirmed: `power` in the blocks, `throughput` of a benchmark; without
    /// what is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<TrialCost>,
}

/// A quantity without and with a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialCost {
    /// `power` or `throughput`.
    pub what: String,
    /// `W` or `1/s`.
    pub unit: String,
    /// Without and with the change, pair by pair.
    pub pairs: Vec<(f64, f64)>,
    /// With / without: Hodges–Lehmann's estimate for pairs.
    pub ratio: f64,
    /// Its 95 % interval; null if there are too few pairs.
    pub interval: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialKind {
    /// To find changes worth confirming.
    Screening,
    /// To confirm a change with independent data.
    Confirmation {
        /// p-value of the pairs if the change does not help.
        p: f64,
        /// Significance level.
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
    /// A signal or an error.
    Stopped {
        /// The signal or error.
        why: String,
    },
}
