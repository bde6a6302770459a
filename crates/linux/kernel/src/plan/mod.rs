//! Plans the cheapest trustworthy kernel for a machine, step by step; a pure function.

mod choose;
mod classic;
mod loader;
mod package;
mod request;
mod situation;
mod steps;
mod system;
mod text;

pub use choose::Source;
pub(crate) use classic::trouble;
pub use loader::Loader;
pub use request::{Request, Tracer, UnknownTracer, diagnostic};
pub use situation::Situation;
pub use system::System;

use crate::{Arch, BoardError, Series, Verified};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Board(#[from] BoardError),
    #[error("series {requested} is unknown: choose one of {known} (--series)")]
    UnknownSeries { requested: Series, known: String },
    #[error("series {series} has no PREEMPT_RT on {arch}; {instead} (--series)")]
    NoRealTime { series: Series, arch: &'static str, instead: String },
    #[error("series {series} has no tracer {tracer}: it was added in {since} (--series)")]
    NoTracer { series: Series, tracer: &'static str, since: Series },
    #[error("{0} Hz is not a choice in kernel/Kconfig.hz: use 100, 250, 300 or 1000 (--hz)")]
    BadHz(u32),
    #[error("no source provides what is requested for {board}: {}", reasons.join("; "))]
    NoSource { board: String, reasons: Vec<String> },
}

/// Estimated duration of a step, and where it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    pub minutes_min: u32,
    pub minutes_max: u32,
    pub basis: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    pub title: String,
    /// Commands to run, in order.
    pub commands: Vec<String>,
    pub why: String,
    pub time: Option<Estimate>,
    /// Disk space in MB; `None` if unknown.
    pub disk_mb: Option<u32>,
    /// What may go wrong, and what to do then; empty if nothing is changed.
    pub risk: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PassedOver {
    pub way: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    pub board: String,
    pub board_verified: Verified,
    pub board_verified_by: String,
    pub arch: Arch,
    pub os: Option<String>,
    /// The boot loader and how it was determined; `None` if the machine was not examined.
    pub loader: Option<String>,
    /// Output of `uname -r` on the machine.
    pub running: Option<String>,
    pub running_rt: Option<bool>,
    pub source: Source,
    pub why: String,
    /// Cheaper sources that are not sufficient.
    pub passed_over: Vec<PassedOver>,
    /// Required options as a fragment; `None` if nothing is configured.
    pub fragment: Option<String>,
    pub steps: Vec<Step>,
    /// Known problems of this board, and further notes.
    pub warnings: Vec<String>,
}

/// Plans a kernel.
///
/// # Errors
/// The request is invalid, or nothing satisfies it on this board.
pub fn plan(situation: &Situation, request: &Request) -> Result<Plan, PlanError> {
    request.check(situation.board.arch)?;
    let chosen = choose::choose(situation, request)?;
    let board = situation.board;
    let mut warnings = chosen.warnings;
    warnings.extend(classic::warnings(situation, request, &chosen.source));
    // These warnings are for kernels built for the board, and for those of Raspberry Pi OS.
    let is_pi_os = situation.system.as_ref().is_some_and(|system| system.id == "raspberry-pi-os");
    if chosen.source.is_built() || is_pi_os {
        warnings.extend(board.traps.iter().cloned());
    }
    let fragment = chosen.source.built().map(|series| request.fragment(board.arch, series));
    let fragment = fragment.map(|text| text + steps::without_debug_info(&chosen.source).unwrap_or_default());
    Ok(Plan {
        board: board.key.clone(),
        board_verified: board.verified,
        board_verified_by: board.verified_by.clone(),
        arch: board.arch,
        os: situation.system.as_ref().map(System::to_string),
        loader: situation.loader.said(),
        running: situation.release.clone(),
        running_rt: situation.is_rt,
        steps: steps::steps(situation, request, &chosen.source),
        source: chosen.source,
        why: chosen.why,
        passed_over: chosen.passed_over,
        fragment,
        warnings,
    })
}
