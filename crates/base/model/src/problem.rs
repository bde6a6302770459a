//! What keeps a run from passing.

use serde::{Deserialize, Serialize};

/// Something that makes a result inconclusive: it can never pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// For programs.
    pub kind: ProblemKind,
    /// For people: what happened, and what to do.
    pub text: String,
}

/// Kinds of [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The load did not run, or did not prove that it ran.
    LoadDidNotRun,
    /// Policy, priority, affinity or memory lock read back differ from what was asked.
    NotAsAsked,
    /// Real-time scheduling was refused; an ordinary thread was measured.
    NoRealTime,
    /// A measured CPU went offline, or the thread was moved off it.
    CpuLost,
    /// The machine throttled or ran under voltage.
    Throttled,
    /// The machine was suspended.
    Suspended,
    /// The phase ended early (signal, kill, error).
    Interrupted,
    /// The user ended the phase early after having seen its results: when to end was not fixed beforehand, so bounds that hold
    /// for a fixed number of samples do not hold.
    EndedEarly,
    /// The measuring thread took page faults while recording.
    PageFaults,
    /// Samples could not be written.
    Storage,
    /// In virtual time: the CPUs disturb each other through the emulator, not the kernel.
    VirtualCpus,
    /// An imported file does not tell what would decide.
    NotTold,
}
