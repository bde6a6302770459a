//! What was tried on a machine, and what it bought.

use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// `tune.json`: a whole search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuned {
    /// `punctual.tune/1`.
    pub schema: String,
    /// What a block's figure is: `largest latency`, `p99.9`.
    pub objective: String,
    /// Measuring time of a block over all loads.
    pub block_ns: Nanos,
    /// How likely any change at all was kept on a machine where none helps.
    pub alpha: f64,
    /// The figure of blocks with nothing applied, in order, ns.
    pub before_ns: Vec<f64>,
    /// The same with all that was kept.
    pub after_ns: Vec<f64>,
    /// In the order they were made.
    pub trials: Vec<Trial>,
    /// Changes that could not be tried, and why.
    pub not_tried: Vec<(String, String)>,
    /// Changes kept, in the order they were found.
    pub kept: Vec<String>,
    /// Why it ended.
    pub ended: Ended,
}

/// The schema of [`Tuned`].
pub const TUNE_SCHEMA: &str = "punctual.tune/1";

/// One change measured beside itself undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The rule.
    pub rule: String,
    /// What it changes.
    pub what: String,
    /// After how many kept changes.
    pub round: usize,
    /// Figures without and with it, ns, pair by pair.
    pub pairs: Vec<(f64, f64)>,
    /// With minus without, ns: below 0 it helps.
    pub shift_ns: f64,
    /// 95 % interval of it; `None`: too few pairs.
    pub interval_ns: Option<(f64, f64)>,
    /// What it was for.
    pub kind: TrialKind,
}

/// What a trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrialKind {
    /// To find what is worth confirming.
    Screening,
    /// With data of its own.
    Confirmation {
        /// How likely such pairs are if it does not help.
        p: f64,
        /// The error it was decided at.
        alpha: f64,
        /// Did it stay?
        kept: bool,
    },
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// The claims hold.
    ClaimsHold,
    /// Nothing more of what could be tried helps.
    NothingHelps,
    /// There was nothing to try.
    NothingToTry,
    /// Its time was up.
    TimeUp,
    /// By a signal or an error.
    Stopped {
        /// Which.
        why: String,
    },
}
