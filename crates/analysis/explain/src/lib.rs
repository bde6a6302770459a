//! Finds causes of late wakeups: with a trace, for every nanosecond of the delay ([`explain`]); without a trace, from
//! the machine's counters, for each of the worst wakeups of a recorded run ([`suspect`]). Also finds the origin of the
//! gaps observed by a thread that reads the clock ([`GapSorter`]): Linux, a hypervisor, firmware.
//!
//! The counters are sampled about once a second, so they cover the second of a wakeup, not the instant. Every sentence
//! states this together with its values, and claims no more than they show; a counter that could not be read is never
//! treated as unchanged.
//!
//! Architecture invariant: pure. Nothing here reads a file or a clock; the same recording gives the same sentences.

#![forbid(unsafe_code)]

mod attribution;
mod causes;
mod context;
mod hardware;
mod usual;

pub use attribution::{
    Activity, Attribution, Closed, Culprit, Delay, ExplainOptions, Facts, Given, Measured, Released, Timelines,
    Victims, explain, groups, timelines,
};
pub use hardware::{GapEvidence, GapSorter, Surroundings};
pub use punctual_model::{
    Blocked, Cause, Class, Confidence, CulpritGroup as Group, Cycle, Explanation, Link, Moments, Scheduled, Timeline,
    Victim,
};

use context::Index;
use punctual_model::{Recording, Suspicion, Worst};

/// Adds what the counters show about every one of the recording's worst wakeups, the likeliest cause first.
///
/// Replaces [`Worst::suspicions`]. There is at least one entry, of class `Unknown` if no cause is found.
pub fn suspect(recording: &mut Recording) {
    let all: Vec<_> = {
        let mut index = Index::new(recording);
        recording.worst.iter().map(|worst| causes::of(&mut index, worst)).collect()
    };
    for (worst, suspicions) in recording.worst.iter_mut().zip(all) {
        worst.suspicions = suspicions;
    }
}

/// Returns what the counters show about one late wakeup of `recording`, the likeliest cause first; never empty.
///
/// Reads all of the recording's events: for more than one wakeup, use [`suspect`], which reads them once.
pub fn suspicions(recording: &Recording, worst: &Worst) -> Vec<Suspicion> {
    causes::of(&mut Index::new(recording), worst)
}
