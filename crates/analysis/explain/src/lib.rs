//! Causes of late wakeups: from a trace ([`explain`]) every nanosecond of the delay, and without one what the machine's
//! counters say about each of the worst wakeups of a recorded run ([`suspect`]). Also the origin of the gaps that a
//! thread reading the clock saw ([`GapSorter`]): Linux, a hypervisor, firmware.
//!
//! The counters are sampled about once a second, so they cover the second that a wakeup fell in, not the instant. Every
//! sentence says so, gives its figures, and claims no more than they show; a counter that could not be read is never
//! taken for one that did not change.
//!
//! Architecture invariant: pure. Nothing here reads a file or a clock; the same recording gives the same sentences.

#![forbid(unsafe_code)]

mod attribution;
mod causes;
mod context;
mod hardware;
mod usual;

pub use attribution::{
    Activity, Attribution, Closed, ExplainOptions, Facts, Measured, Timelines, Victims, explain, groups, timelines,
};
pub use hardware::{GapEvidence, GapSorter, Surroundings};
pub use punctual_model::{
    Blocked, Cause, Class, Confidence, CulpritGroup as Group, Cycle, Explanation, Link, Moments, Scheduled, Timeline,
    Victim,
};

use context::Index;
use punctual_model::{Recording, Suspicion, Worst};

/// Fills in what the counters say about every one of the recording's worst wakeups, the likeliest cause first.
///
/// Replaces [`Worst::suspicions`]. At least one entry, of class `Unknown` if nothing can be said.
pub fn suspect(recording: &mut Recording) {
    let all: Vec<_> = {
        let mut index = Index::new(recording);
        recording.worst.iter().map(|worst| causes::of(&mut index, worst)).collect()
    };
    for (worst, suspicions) in recording.worst.iter_mut().zip(all) {
        worst.suspicions = suspicions;
    }
}

/// What the counters say about one late wakeup of `recording`, the likeliest cause first; never empty.
///
/// Reads all of the recording's events: for more than one wakeup, use [`suspect`], which reads them once.
pub fn suspicions(recording: &Recording, worst: &Worst) -> Vec<Suspicion> {
    causes::of(&mut Index::new(recording), worst)
}
