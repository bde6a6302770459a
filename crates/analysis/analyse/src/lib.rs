//! Finds the causes of the worst wakeups of a run, from counters and from saved traces. All commands use it, for runs
//! that were just measured, read from a directory or imported, so they all report the same causes. `judge` then judges
//! the claims.
//!
//! Architecture invariant: writes nothing, and needs neither privileges nor the measuring crates.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod traces;

pub use traces::{Known, capture_beside, explain_capture, explain_captures, facts_beside};

use punctual_directory::Dir;
use punctual_model::{Claim, Recording};

/// Fills in the causes of the worst wakeups: from counters ([`punctual_model::Worst::suspicions`]), and from the
/// unexplained traces in the run directory `dir` ([`Recording::explained`]). Returns `true` if traces were explained.
/// Unreadable data is noted in [`Recording::damage`].
pub fn causes(dir: Option<&Dir>, recording: &mut Recording) -> bool {
    punctual_explain::suspect(recording);
    match dir {
        Some(dir) if recording.explained.is_empty() => traces::explain(dir, recording),
        _ => false,
    }
}

/// Selects the claims for judging a stored run: the given claims, otherwise the claims of the run. A run without claims
/// has no verdict, neither when it is measured nor when it is read again.
pub fn claims(given: &[Claim], recording: &Recording) -> Vec<Claim> {
    if given.is_empty() { recording.run.settings.claims.clone() } else { given.to_vec() }
}
