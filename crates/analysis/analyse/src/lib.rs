//! What a recorded run says of its worst wakeups: by the counters, and by the traces that were kept. A run that was just measured, one
//! read from a directory and one imported come through here, so that all say the same. `judge` then judges the claims.
//!
//! Architecture invariant: writes nothing; needs no privileges and no measuring engine.

#![forbid(unsafe_code)]

mod traces;

pub use traces::{Known, explain_capture};

use punctual_model::{Claim, Recording};
use std::path::Path;

/// Fills in the causes of the worst wakeups: what the counters know ([`punctual_model::Worst::suspicions`]), and where traces were kept in the
/// run directory `root` and not explained yet, what they show ([`Recording::explained`]). `true`: traces were explained. What cannot be
/// read is noted in [`Recording::damage`].
pub fn causes(root: Option<&Path>, recording: &mut Recording) -> bool {
    punctual_explain::suspect(recording);
    match root {
        Some(root) if recording.explained.is_empty() => traces::explain(root, recording),
        _ => false,
    }
}

/// What a stored run is judged by: the claims that are given; where none is, the run's own; where it has none, that no release is
/// missed. Of another tool's file nothing is claimed but what is given.
pub fn claims(given: &[Claim], recording: &Recording) -> Vec<Claim> {
    match (given, &recording.run.settings.claims[..]) {
        ([], []) if recording.run.import.is_some() => Vec::new(),
        ([], []) => vec![Claim::none_missed()],
        ([], own) => own.to_vec(),
        (given, _) => given.to_vec(),
    }
}
