//! Moments at which an application was late. The events before each moment are kept.

use crate::Cycle;
use punctual_units::Nanos;
use serde::{Deserialize, Serialize};

/// What reported that an application was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LateBy {
    /// One of the application's threads wrote `punctual: late` to trace_marker.
    Program,
    /// `watch` received SIGUSR1.
    Signal,
    /// A claim was broken.
    Claim,
}

/// A moment at which an application was late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppLate {
    pub by: LateBy,
    /// CLOCK_MONOTONIC time of the line, of the arrival of the signal, or of the end of the cycle that broke the claim.
    pub at_mono_ns: u64,
    /// Name of the thread that wrote the line or whose cycle broke the claim; null for a signal and for a chain.
    pub thread: Option<String>,
    /// ID of the thread in `thread`; null if there is none.
    pub tid: Option<i32>,
    /// NAME of the line `punctual: late NAME`.
    pub name: Option<String>,
    /// The broken claim; null if the moment was not reported by a claim.
    pub claim: Option<String>,
    /// The value that broke the claim; null for releases without a cycle.
    pub value_ns: Option<Nanos>,
    /// CLOCK_MONOTONIC time at which that cycle or pass was released.
    pub release_mono_ns: Option<u64>,
    /// True if the cycle that broke the claim had not yet ended at that moment.
    pub is_open: bool,
    /// True for the end of a cycle that was reported before it had ended. It is no further moment, and is not counted
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// Facts about a window of an application's events, in addition to the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AppWindow {
    /// The moments for which the window was kept.
    pub late: Vec<AppLate>,
    /// The cycle that explains each moment, in the order of `late`; null if there is none. A cycle that had not ended
    /// at the moment is replaced by the complete one when it has ended.
    pub cycles: Vec<Option<Cycle>>,
}
