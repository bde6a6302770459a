//! Judgement of a run's claims, as plain data.

use crate::{AppCounterfactual, AppMargin, Claim, Problem, Tail};
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Verdict on a claim or a run. It is never a pass if data is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every claim holds in every phase on every CPU, with the required confidence.
    Pass,
    /// Every claim holds, but at least one of them (`max`, `missed`) was only not refuted during the measurement.
    Held,
    Inconclusive,
    /// At least one claim is refuted.
    Fail,
}

/// Judgement of all claims. Fail takes precedence over inconclusive, inconclusive over held, and held over pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The worst outcome of the claims.
    pub outcome: Outcome,
    /// Judgement of each claim, in the order given.
    pub claims: Vec<Judged>,
    /// Problems that make phases inconclusive, each with its phase, which is null if the problem concerns all phases.
    pub problems: Vec<(Option<String>, Problem)>,
    /// Probabilities that a run of this length includes a rare event.
    pub coverage: Vec<Coverage>,
    /// For each load, the longest period for which every periodic event was observed; empty if the times are unknown.
    pub periods: Vec<PeriodSeen>,
    /// Location of the run's largest corrected latency; null if there are no samples.
    pub worst: Option<CellId>,
    /// Number of releases; null if an imported file does not state it.
    pub released: Option<u64>,
    pub ran: u64,
    /// Number of skipped periods; null if an imported file does not state it.
    pub skipped: Option<u64>,
    /// Result of the control measurement, for virtual time with several CPUs; null otherwise.
    pub virtual_control: Option<VirtualControl>,
    /// Tail analysis of each load; empty if not requested.
    pub tails: Vec<Tail>,
    /// Margins of an application's threads; empty if wakeup latency was measured, or if no claim limits a response
    /// time.
    pub margins: Vec<AppMargin>,
    /// What an application's longest responses would be without one of the threads or interrupts that delayed them,
    /// largest reduction first.
    pub counterfactuals: Vec<AppCounterfactual>,
}

impl Verdict {
    /// Returns the number of periods with a latency: all periods with a release or, if their number is unknown, the
    /// periods in which the thread woke.
    pub fn scored(&self) -> u64 {
        self.released.unwrap_or(self.ran)
    }
}

/// Result of the control measurement for virtual time: worst wakeups of one virtual CPU while idle and while other
/// threads spin, for the CPU on which they differ most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualControl {
    pub cpu: CpuId,
    pub control: String,
    /// Worst latency while the machine is idle, ns.
    pub idle_ns: u64,
    /// Worst latency while other threads spin, ns.
    pub beside_spinner_ns: u64,
}

impl VirtualControl {
    /// Ratio at or above which the control fails.
    pub const LIMIT: f64 = 2.0;

    /// Returns the ratio of the worst latency while other threads spin to the worst latency while idle.
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
    /// The worst outcome over all phases and CPUs.
    pub outcome: Outcome,
    /// Judgement for each phase and CPU; the judgement that determines the outcome comes first.
    pub cells: Vec<CellJudgement>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellId {
    pub phase: String,
    pub cpu: CpuId,
    /// Largest corrected latency of this CPU in this phase.
    pub max_ns: u64,
}

/// Judgement of one claim for one phase and CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellJudgement {
    pub phase: String,
    pub cpu: CpuId,
    pub outcome: Outcome,
    /// Number of corrected samples, one per release.
    pub samples: u64,
    /// Number of independent samples that would contain the same information: samples times extremal index.
    pub effective_samples: f64,
    /// How the clustering was determined.
    pub clustering: ClusterNote,
    /// Largest corrected latency; null if there are no samples.
    pub max_ns: Option<u64>,
    /// Lower and upper bound on the number of samples that are beyond the limit of the claim, or missed. They differ by
    /// the samples in the histogram bin that contains the limit.
    pub beyond: (u64, u64),
    /// Estimated quantile in ns, or estimated probability; null if there is no estimate.
    pub estimate: Option<f64>,
    /// Lower bound of the estimate at the claim's confidence; null if this run does not bound it.
    pub lower: Option<f64>,
    /// Upper bound of the estimate at the claim's confidence; null if this run does not bound it.
    pub upper: Option<f64>,
    /// Upper bound on P(> max) at the claim's confidence, assuming that each disturbance makes only one release late.
    pub p_beyond_max: Option<f64>,
    /// True if an episode has more late releases than fit into the longest stall that the claim allows. A longer run
    /// cannot change this.
    pub stall_exceeded: bool,
    /// Late episodes beyond the limit; null for a quantile, or if the order of the samples is unknown.
    pub episodes: Option<EpisodeCounts>,
    /// Upper bounds on the share beyond the limit, for several assumed stall lengths: one period, 10 ms, 50 ms, and the
    /// length declared in the claim. Empty for a quantile, or if the period is unknown.
    pub bounds: Vec<StallBound>,
    /// Measurement needed to decide the claim or, if it passed, to prove a claim that is ten times stronger; null if
    /// unknown.
    pub needed: Option<Needed>,
}

/// Counts of late episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpisodeCounts {
    pub count: u64,
    /// Number of late releases in all episodes.
    pub late: u64,
    /// Largest number of late releases in one episode.
    pub most_late: u64,
    /// Length of the longest episode in periods, from its first late release to its last.
    pub longest: u64,
    /// Sum of the lengths of all episodes, in periods.
    pub length: u64,
}

/// Upper bound on the share of releases beyond the limit. It holds if no disturbance makes releases late for longer
/// than `stall_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StallBound {
    pub stall_ns: Nanos,
    pub upper: f64,
}

/// Measurement needed for a statement about the claim's limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Needed {
    /// Bound on the probability of exceeding the claim's limit.
    pub p: f64,
    /// Number of independent samples needed, if no sample exceeds the limit.
    pub samples: f64,
    /// Measurement time on each CPU under each load, at this run's period and clustering.
    pub duration_ns: Nanos,
}

/// Clustering of late wakeups, and how it was determined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ClusterNote {
    /// The extremal index was estimated by the intervals estimator (C. A. T. Ferro and J. Segers, J. R. Statist. Soc. B
    /// 65, 2003).
    Estimated {
        /// Extremal index, from 0 (all in one cluster) to 1 (independent).
        theta: f64,
        /// Number of samples above the threshold.
        from: u64,
    },
    /// Too few late samples to estimate the index; 1 is assumed.
    TooFew { from: u64 },
}

/// The longest period with which a periodic event still falls into the measurement time of a load with a probability of
/// 95 % (averaged uniformly over the phase of the event).
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
