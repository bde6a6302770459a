//! From what a machine is and what is wished to the cheapest trustworthy kernel, step by step. Pure.

mod choose;
mod classic;
mod situation;
mod steps;
mod text;
mod wish;

pub use choose::Source;
pub use situation::{Situation, System};
pub use wish::{Tracer, UnknownTracer, Wish};

use crate::{Arch, BoardError, Series, Verified};
use serde::Serialize;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The board.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A series that the table does not have.
    #[error("nothing is known of the series {wished}: name one of {known} (--series)")]
    UnknownSeries {
        /// What was wished.
        wished: Series,
        /// What the table has.
        known: String,
    },
    /// No real-time on this architecture.
    #[error("series {series} has no PREEMPT_RT on {arch}; {instead} (--series)")]
    NoRealTime {
        /// What was wished.
        series: Series,
        /// The board's.
        arch: &'static str,
        /// What has it.
        instead: String,
    },
    /// A tracer that is younger than the series.
    #[error("series {series} has no tracer {tracer}: it came with {since} (--series)")]
    NoTracer {
        /// What was wished.
        series: Series,
        /// Its name.
        tracer: &'static str,
        /// The first series with it.
        since: Series,
    },
    /// A timer frequency the kernel does not offer.
    #[error("{0} Hz is no choice of kernel/Kconfig.hz: name 100, 250, 300 or 1000 (--hz)")]
    BadHz(u32),
    /// No source fits.
    #[error("no source has what is wished for {board}: {}", reasons.join("; "))]
    NoSource {
        /// The board.
        board: String,
        /// Why each was passed over.
        reasons: Vec<String>,
    },
}

/// How long a step takes, minutes, and on what that is based.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// At the least.
    pub minutes_min: u32,
    /// At the most.
    pub minutes_max: u32,
    /// Measured where.
    pub basis: &'static str,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// In a few words.
    pub title: String,
    /// What to type, in order.
    pub commands: Vec<String>,
    /// What it is for.
    pub why: String,
    /// `None`: not known.
    pub time: Option<Estimate>,
    /// Room it takes, MB; `None`: not known.
    pub disk_mb: Option<u32>,
    /// What may go wrong, and what then; empty where nothing is changed.
    pub risk: String,
}

/// A way that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// The way.
    pub way: String,
    /// Why.
    pub why: String,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The board's key.
    pub board: String,
    /// How far the board's entry was tried.
    pub board_verified: Verified,
    /// By what.
    pub board_verified_by: String,
    /// The architecture.
    pub arch: Arch,
    /// The operating system, as far as known.
    pub os: Option<String>,
    /// `uname -r` of the machine.
    pub running: Option<String>,
    /// Is it PREEMPT_RT? `None`: not known.
    pub running_rt: Option<bool>,
    /// Where the kernel comes from.
    pub source: Source,
    /// Why from there.
    pub why: String,
    /// Cheaper ways that do not do.
    pub passed_over: Vec<PassedOver>,
    /// What the configuration has to hold, as a fragment; `None` where nothing is configured.
    pub fragment: Option<String>,
    /// In order.
    pub steps: Vec<Step>,
    /// What has gone wrong on this board, and what else to know.
    pub warnings: Vec<String>,
}

/// Plans.
///
/// # Errors
/// The wish is none, or nothing fulfils it on this board.
pub fn plan(situation: &Situation, wish: &Wish) -> Result<Plan, PlanError> {
    wish.check(situation.board.arch)?;
    let chosen = choose::choose(situation, wish)?;
    let board = situation.board;
    let mut warnings = chosen.warnings;
    warnings.extend(classic::warnings(situation, wish, &chosen.source));
    warnings.extend(board.traps.iter().cloned());
    let fragment = chosen.source.built().map(|series| wish.fragment(board.arch, series));
    Ok(Plan {
        board: board.key.clone(),
        board_verified: board.verified,
        board_verified_by: board.verified_by.clone(),
        arch: board.arch,
        os: situation.system.as_ref().map(System::to_string),
        running: situation.release.clone(),
        running_rt: situation.is_rt,
        steps: steps::steps(situation, wish, &chosen.source),
        source: chosen.source,
        why: chosen.why,
        passed_over: chosen.passed_over,
        fragment,
        warnings,
    })
}
