//! What the latest wakeups of a load say beyond what was seen, and how they lie in time.

use crate::ClusterNote;
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// The tail of one load, on the CPU with its latest wakeup. Derived when a recording is judged for a report, never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// Phase id.
    pub phase: String,
    /// The CPU with the latest wakeup of the phase.
    pub cpu: CpuId,
    /// Corrected samples: periods released.
    pub samples: u64,
    /// Largest corrected latency.
    pub max_ns: u64,
    /// How the latest cluster; the extremal index.
    pub clustering: ClusterNote,
    /// Of what the stationarity was tested; `None`: of nothing.
    pub series: Option<TailSeries>,
    /// KPSS statistic of the logarithms of that series; `None` where it has none.
    pub kpss: Option<f64>,
    /// The generalised Pareto fits above falling numbers of exceedances, the one that a level rests on first.
    pub thresholds: Vec<TailThreshold>,
    /// The level, or why there is none.
    pub outcome: TailOutcome,
    /// How the latest lie in time.
    pub arrivals: Arrivals,
}

/// The run over time, as the stationarity saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TailSeries {
    /// Maxima of seconds.
    Seconds,
    /// Maxima of blocks of minutes.
    Blocks,
}

/// The fit above one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TailThreshold {
    /// The threshold.
    pub threshold_ns: f64,
    /// Samples above it.
    pub exceedances: u64,
    /// Shape ξ: above 0 the tail is heavy, below 0 it ends.
    pub shape: f64,
    /// Ends of its interval by profile likelihood at 95 %; `None` where it has none.
    pub shape_interval: Option<(f64, f64)>,
    /// Scale σ.
    pub scale_ns: f64,
    /// σ − ξ·threshold, which does not change with the threshold in a Pareto tail.
    pub modified_scale_ns: f64,
}

/// A level beyond the data, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TailOutcome {
    /// All gates are open. It carries the distribution of this run on; no bound on what can happen.
    Level {
        /// It is exceeded once in so many wakeups.
        once_in: f64,
        /// The same as time, at the run's period; `None` where that is not known.
        once_in_ns: Option<Nanos>,
        /// The level.
        level_ns: f64,
        /// Lower end of its interval by profile likelihood.
        lower_ns: f64,
        /// Upper end.
        upper_ns: f64,
        /// Confidence of the interval, 0–1.
        confidence: f64,
        /// p of the goodness of fit.
        fit_p: f64,
        /// How many decades rarer than once in the effective number of samples.
        decades: f64,
    },
    /// At least one gate is closed.
    Refused {
        /// It was asked for: once in so many wakeups.
        once_in: f64,
        /// Every closed gate.
        reasons: Vec<TailRefusal>,
    },
}

/// A closed gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum TailRefusal {
    /// The run's problems concern these samples.
    Doubtful,
    /// Samples of an imported file are not told exactly enough.
    Imprecise,
    /// The order of the samples is not known.
    OrderUnknown,
    /// The run did not stay the same.
    NotStationary {
        /// This statistic is not below .463.
        kpss: f64,
    },
    /// Too few late wakeups are known to tell how they cluster.
    ClusteringUnknown {
        /// How many are.
        from: u64,
    },
    /// Too few thresholds have 100 exceedances and a fit.
    FewThresholds {
        /// How many have; 5 are needed.
        thresholds: u64,
    },
    /// No single shape is within all intervals.
    ShapeUnstable {
        /// The smallest upper end.
        at_most: f64,
        /// The largest lower end, above it.
        at_least: f64,
    },
    /// The exceedances are not distributed like the fit.
    PoorFit {
        /// At most .05; `None` where it could not be tested.
        p: Option<f64>,
    },
    /// What was seen lies above the level's whole interval.
    BelowObserved {
        /// Its upper end.
        upper_ns: f64,
        /// The largest latency seen.
        observed_ns: u64,
    },
    /// More than 2 decades beyond the data.
    TooFar {
        /// How many.
        decades: f64,
    },
    /// The interval of the level has no end.
    Unbounded,
    /// There is no tail to speak of: the histogram has no samples, or the level is inside the data.
    NotPossible,
}

/// How the latest lie in time, tested against independent events of one rate (Poisson).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    /// What they are.
    pub source: Latest,
    /// How many of the latest it is said of.
    pub of: u64,
    /// How they lie.
    pub pattern: ArrivalPattern,
}

/// What the latest are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Latest {
    /// Wakeups, known exactly.
    Wakeups,
    /// Seconds with the latest wakeups.
    Seconds,
}

/// How events lie in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// They keep in step with a period.
    Periodic {
        /// Its length.
        period_ns: Nanos,
        /// How likely independent events would, with any period tried.
        p: f64,
        /// How many of them are in step.
        in_step: u64,
    },
    /// They come nearer to each other than independent events.
    Bursts {
        /// How likely independent events would be.
        p: f64,
    },
    /// Nothing found speaks against independent rare events.
    Independent {
        /// p of the test for bursts.
        p: f64,
    },
    /// Too few are known, or not when.
    TooFew,
}
