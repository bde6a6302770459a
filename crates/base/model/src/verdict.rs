//! Judgement of a run's claims, as figures. The sentences are made elsewhere.

use crate::{Claim, Problem, Tail};
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Verdict on a claim or a run. Missing data is never a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every claim holds in every phase on every CPU, with the required confidence.
    Pass,
    /// Every claim holds, but at least one of them (`max`, `missed`) was merely not refuted, up to the bound that was
    /// measured.
    Held,
    Inconclusive,
    /// At least one claim is refuted.
    Fail,
}

/// Judgement of all claims. Fail takes precedence over inconclusive, inconclusive over held, held over pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The worst outcome of the claims.
    pub outcome: Outcome,
    /// One entry per claim, in the order given.
    pub claims: Vec<Judged>,
    /// Problems that make phases inconclusive, with the phase (null: all phases).
    pub problems: Vec<(Option<String>, Problem)>,
    /// Rare events that a run of this length may have missed.
    pub coverage: Vec<Coverage>,
    /// For each load, the longest period up to which every regular event was observed; empty if the times are unknown.
    pub periods: Vec<PeriodSeen>,
    /// The largest corrected latency of the run, and where; null without samples.
    pub worst: Option<CellId>,
    /// Released periods in total; null if an imported file does not state them.
    pub released: Option<u64>,
    pub ran: u64,
    /// Skipped periods; null if an imported file does not state them.
    pub skipped: Option<u64>,
    /// Result of the control, in virtual time with several CPUs.
    pub virtual_control: Option<VirtualControl>,
    /// Tail of each load; empty if not requested.
    pub tails: Vec<Tail>,
}

impl Verdict {
    /// Periods with a latency: all released ones, or, if those are unknown, the ones that ran.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// Worst wakeups of one virtual CPU when idle and next to the spinning threads of the control, for the CPU where they
/// differ most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualControl {
    pub cpu: CpuId,
    pub control: String,
    /// Worst latency when idle.
    pub idle_ns: u64,
    /// Worst latency next to the spinners.
    pub beside_spinner_ns: u64,
}

impl VirtualControl {
    /// The control fails from this ratio on.
    pub const LIMIT: f64 = 2.0;

    /// Latency next to the spinners relative to idle.
    pub fn ratio(&self) -> f64 {
        self.beside_spinner_ns as f64 / (self.idle_ns as f64).max(1.0)
    }

    pub fn passed(&self) -> bool {
        self.ratio() < VirtualControl::LIMIT
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    pub claim: Claim,
    /// The worst outcome of its cells.
    pub outcome: Outcome,
    /// Every phase and CPU, the deciding one first.
    pub cells: Vec<CellJudgement>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellId {
    pub phase: String,
    pub cpu: CpuId,
    /// Largest corrected latency of the cell.
    pub max_ns: u64,
}

/// One claim on one phase and CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellJudgement {
    pub phase: String,
    pub cpu: CpuId,
    pub outcome: Outcome,
    /// Corrected samples: released periods.
    pub samples: u64,
    /// Number of independent samples with equal information: samples times extremal index.
    pub effective_samples: f64,
    /// How the clustering was determined.
    pub clustering: ClusterNote,
    /// Largest corrected latency; null without samples.
    pub max_ns: Option<u64>,
    /// Lower and upper bound of the number of samples beyond the limit of the claim, or missed; they differ by the
    /// samples in the bin of the limit.
    pub beyond: (u64, u64),
    /// The estimated quantile in ns, or the estimated probability; null if there is none.
    pub estimate: Option<f64>,
    /// Lower bound of the estimate at the claim's confidence; null if this run does not bound it.
    pub lower: Option<f64>,
    /// Upper bound of the estimate at the claim's confidence; null if this run does not bound it.
    pub upper: Option<f64>,
    /// Upper bound on P(> max) at the claim's confidence, assuming that a disturbance makes one release late.
    pub p_beyond_max: Option<f64>,
    /// True if an episode has more late releases than the longest stall that the claim allows; a longer run cannot
    /// change that.
    pub stall_exceeded: bool,
    /// Late episodes beyond the limit; null for a quantile, or if the order of the samples is unknown.
    pub episodes: Option<EpisodeCounts>,
    /// Upper bounds on the share beyond the limit, each for a longest time that one disturbance makes releases late:
    /// one period, 10 ms, 50 ms, and the time the claim declares. Empty for a quantile, or if there is no period.
    pub bounds: Vec<StallBound>,
    /// What is needed to decide the claim or, if it passed, to make one that is ten times stronger.
    pub needed: Option<Needed>,
}

/// Counts of late episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpisodeCounts {
    pub count: u64,
    /// Late releases in all of them.
    pub late: u64,
    /// Largest number of late releases in one episode.
    pub most_late: u64,
    /// Length of the longest episode in periods, from its first late release to its last.
    pub longest: u64,
    /// Sum of the lengths of all episodes, in periods.
    pub length: u64,
}

/// An upper bound on a share, which holds if no disturbance makes releases late for longer than stated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StallBound {
    pub stall_ns: Nanos,
    pub upper: f64,
}

/// How much more measuring a statement requires.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// The statement: the probability of being beyond the limit is below this.
    pub p: f64,
    /// Number of independent samples needed, none of them beyond.
    pub samples: f64,
    /// Measuring time on each CPU under each load, at this run's period and clustering.
    pub duration_ns: Nanos,
}

/// How strongly late wakeups cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ClusterNote {
    /// Extremal index by the intervals estimator (Ferro and Segers 2003).
    Estimated {
        /// From 0 (all in one cluster) to 1 (independent).
        theta: f64,
        /// Number of samples above the threshold.
        from: u64,
    },
    /// Too few late samples to estimate it; 1 is assumed, and reported as such.
    TooFew { from: u64 },
}

/// Events that recur with any period up to this one fall into the measuring time of a load with a probability of 95 %
/// (averaged uniformly over their phase).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodSeen {
    pub phase: String,
    pub period_ns: Nanos,
}

/// The probability that a run of this length includes a rare event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Mean interval between the events.
    pub every_ns: Nanos,
    /// Probability of at least one event while a CPU is measured under one load.
    pub p_one_phase: f64,
    /// Probability of at least one event during the whole run.
    pub p_run: f64,
}
