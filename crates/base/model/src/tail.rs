//! The tail of the latencies under a load: extrapolation, and the arrival pattern of the worst wakeups.

use crate::ClusterNote;
use punctual_units::{CpuId, Nanos};
use serde::{Deserialize, Serialize};

/// Tail analysis of one load, on the CPU with its worst wakeup. It is computed when a report judges a recording, and is
/// not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    pub phase: String,
    /// CPU with the worst wakeup of the phase.
    pub cpu: CpuId,
    /// Number of corrected samples, one per release.
    pub samples: u64,
    pub max_ns: u64,
    /// Clustering of the worst wakeups (extremal index).
    pub clustering: ClusterNote,
    /// Series tested for stationarity; null if none could be tested.
    pub series: Option<TailSeries>,
    /// KPSS statistic of the logarithms of the tested series; null if none could be computed.
    pub kpss: Option<f64>,
    /// Generalised Pareto fits above thresholds with decreasing numbers of exceedances. The first fit determines the
    /// level.
    pub thresholds: Vec<TailThreshold>,
    /// The extrapolated level, or the reason why there is none.
    pub outcome: TailOutcome,
    /// Arrival pattern of the worst wakeups.
    pub arrivals: Arrivals,
}

/// Series tested for stationarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TailSeries {
    /// The maximum of each second.
    Seconds,
    /// The maximum of each block of several minutes.
    Blocks,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TailThreshold {
    pub threshold_ns: f64,
    /// Number of samples above the threshold.
    pub exceedances: u64,
    /// Shape ξ: the tail is heavy if positive, and bounded if negative.
    pub shape: f64,
    /// Ends of the 95 % profile likelihood interval of the shape; null if it could not be computed.
    pub shape_interval: Option<(f64, f64)>,
    pub scale_ns: f64,
    /// σ − ξ·threshold, which does not depend on the threshold if the tail is Pareto.
    pub modified_scale_ns: f64,
}

/// An extrapolated latency level, or the reasons why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TailOutcome {
    /// All checks passed. The level extrapolates the distribution of this run; it does not bound the latency.
    Level {
        /// Number of wakeups in which the level is exceeded once on average.
        once_in: f64,
        /// Mean time between exceedances, computed from the period of the run; null if the period is unknown.
        once_in_ns: Option<Nanos>,
        level_ns: f64,
        /// Lower end of the level's profile likelihood interval.
        lower_ns: f64,
        /// Upper end of the level's profile likelihood interval.
        upper_ns: f64,
        /// Confidence of the interval, 0–1.
        confidence: f64,
        /// p-value of the goodness-of-fit test.
        fit_p: f64,
        /// Distance of the extrapolation: number of decades by which the level is rarer than once in the effective
        /// number of samples.
        decades: f64,
    },
    /// At least one check failed.
    Refused {
        /// Number of wakeups in which the requested level would be exceeded once on average.
        once_in: f64,
        reasons: Vec<TailRefusal>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "gate", rename_all = "snake_case")]
pub enum TailRefusal {
    /// Problems of the run make these samples doubtful.
    Doubtful,
    /// The samples of an imported file are not precise enough.
    Imprecise,
    /// The order of the samples is unknown.
    OrderUnknown,
    NotStationary {
        /// KPSS statistic, at least .463.
        kpss: f64,
    },
    /// Too few late wakeups to estimate their clustering.
    ClusteringUnknown { from: u64 },
    /// Too few thresholds have at least 100 exceedances and a bounded interval of the shape.
    FewThresholds {
        /// Number of usable thresholds; 5 are needed.
        thresholds: u64,
    },
    /// No single shape lies within the confidence intervals of all thresholds.
    ShapeUnstable {
        /// Smallest upper end of the intervals.
        at_most: f64,
        /// Largest lower end of the intervals, above the smallest upper end.
        at_least: f64,
    },
    /// The exceedances do not follow the fitted distribution.
    PoorFit {
        /// p-value, at most .05; null if the fit could not be tested.
        p: Option<f64>,
    },
    /// The largest observed latency lies above the confidence interval of the level.
    BelowObserved {
        /// Upper end of the interval.
        upper_ns: f64,
        observed_ns: u64,
    },
    /// The level is more than 2 decades beyond the data.
    TooFar { decades: f64 },
    /// The interval of the level is unbounded.
    Unbounded,
    /// There is nothing to extrapolate: the histogram has no samples, or the level lies within the data.
    NotPossible,
}

/// Arrival pattern of the worst wakeups, tested against a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    pub source: ArrivalSource,
    pub of: u64,
    pub pattern: ArrivalPattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArrivalSource {
    /// Single wakeups, whose exact times are known.
    Wakeups,
    /// The seconds in which the worst wakeups occurred.
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// The events are in phase with a period.
    Periodic {
        period_ns: Nanos,
        /// p-value under the hypothesis that the events are independent, adjusted for all periods tried.
        p: f64,
        /// Number of events in phase.
        in_step: u64,
    },
    /// The events are closer together than independent events would be.
    Bursts {
        /// p-value under the hypothesis that the events are independent.
        p: f64,
    },
    /// No evidence against independent, rare events.
    Independent {
        /// p-value of the test for bursts.
        p: f64,
    },
    /// There are too few events, or their times are unknown.
    TooFew,
}
