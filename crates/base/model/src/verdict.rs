//! What a run's samples say about its claims, as figures. Sentences are made from them elsewhere.

use crate::{Claim, Problem, Tail};
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Pass, fail, or not enough to tell. Missing data is never a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every claim holds in every phase on every CPU, with the evidence asked for.
    Pass,
    /// It could hold or not.
    Inconclusive,
    /// At least one claim is refuted.
    Fail,
}

/// The answer to a run's claims. Fail wins over inconclusive, inconclusive over pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The worst of the judged claims.
    pub outcome: Outcome,
    /// One entry a claim, in the order given.
    pub claims: Vec<Judged>,
    /// Everything that makes phases inconclusive, with the phase it concerns (`None`: all).
    pub problems: Vec<(Option<String>, Problem)>,
    /// What this run's length can have missed.
    pub coverage: Vec<Coverage>,
    /// The largest corrected latency of all, and where.
    pub worst: Option<CellId>,
    /// Periods released, over everything; `None` where an imported file does not tell.
    pub released: Option<u64>,
    /// Periods that ran.
    pub ran: u64,
    /// Periods skipped; `None` where an imported file does not tell.
    pub skipped: Option<u64>,
    /// With several CPUs in virtual time: what the controls came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_control: Option<VirtualControl>,
    /// The tail of each load; empty where it was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
}

impl Verdict {
    /// Periods that have a latency: all released, or where those are not told the ones that ran.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// The worst wakeups of one virtual CPU while idle and beside a control's spinners, where they differ most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualControl {
    /// The CPU.
    pub cpu: CpuId,
    /// Which control.
    pub control: String,
    /// While idle.
    pub idle_ns: u64,
    /// With the spinners.
    pub beside_spinner_ns: u64,
}

impl VirtualControl {
    /// From this factor on the control fails.
    pub const LIMIT: f64 = 2.0;

    /// How many times later.
    pub fn ratio(&self) -> f64 {
        self.beside_spinner_ns as f64 / (self.idle_ns as f64).max(1.0)
    }

    /// Did the control pass?
    pub fn passed(&self) -> bool {
        self.ratio() < VirtualControl::LIMIT
    }
}

/// One claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// What was claimed.
    pub claim: Claim,
    /// How it came out: the worst of the cells.
    pub outcome: Outcome,
    /// Every phase and CPU, the one that decides first.
    pub cells: Vec<CellJudgement>,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellId {
    /// Phase id.
    pub phase: String,
    /// CPU.
    pub cpu: CpuId,
    /// Its largest corrected latency.
    pub max_ns: u64,
}

/// One claim on one phase and CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellJudgement {
    /// Phase id.
    pub phase: String,
    /// CPU.
    pub cpu: CpuId,
    /// How it came out.
    pub outcome: Outcome,
    /// Corrected samples: periods released.
    pub samples: u64,
    /// Divided by the clustering: as many independent samples say as much.
    pub effective_samples: f64,
    /// How the clustering was found.
    pub clustering: ClusterNote,
    /// Largest corrected latency, `None` without samples.
    pub max_ns: Option<u64>,
    /// How many samples lie beyond the claim's limit (or were missed): at least, at most (bin of the limit).
    pub beyond: (u64, u64),
    /// What is estimated: the quantile in ns, or the probability; with its lower and upper bound at the claim's
    /// confidence. `None`: not bounded by this run.
    pub estimate: Option<f64>,
    /// Lower bound.
    pub lower: Option<f64>,
    /// Upper bound.
    pub upper: Option<f64>,
    /// The bound that the maximum supports: P(> max) ≤ this at the claim's confidence, if independent.
    pub p_beyond_max: Option<f64>,
    /// The same with the effective number of samples.
    pub p_beyond_max_clustered: Option<f64>,
    /// What it would take to decide (or, passed, to claim ten times more).
    pub needed: Option<Needed>,
}

/// How much more is needed for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// The statement: probability of being beyond the limit below this.
    pub p: f64,
    /// Independent samples, none beyond.
    pub samples: f64,
    /// Measuring time on each CPU under each load, at this run's period and clustering.
    pub duration_ns: Nanos,
}

/// How strongly the late wakeups cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ClusterNote {
    /// Extremal index by the intervals estimator (Ferro and Segers 2003) on this many late samples.
    Estimated {
        /// 0 (all in one cluster) to 1 (independent).
        theta: f64,
        /// Samples above the threshold.
        from: u64,
    },
    /// Too few late samples to tell; 1 is assumed and said.
    TooFew {
        /// How many there were.
        from: u64,
    },
}

/// What a run of this length sees of a rare event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// The event comes once in this time on average.
    pub every_ns: Nanos,
    /// Probability that at least one came while a CPU was measured under one load.
    pub p_one_phase: f64,
    /// The same over the whole run.
    pub p_run: f64,
}
