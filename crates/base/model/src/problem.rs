//! Problems that prevent a run from passing.

use serde::{Deserialize, Serialize};

/// A problem that makes a result inconclusive, so that it can never pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    pub kind: ProblemKind,
    /// Description of the problem, with advice.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The load did not run, or there is no proof that it ran.
    LoadDidNotRun,
    /// The policy, priority, affinity or memory lock read back from the kernel differs from the requested one.
    NotAsAsked,
    /// Real-time scheduling was refused, so an ordinary thread was measured.
    NoRealTime,
    /// A measured CPU went offline, or the measuring thread was migrated.
    CpuLost,
    /// The machine was throttled, or its supply voltage was too low.
    Throttled,
    Suspended,
    /// The phase ended early because of a signal or an error, or because the process was killed.
    Interrupted,
    /// The user ended the phase early after seeing its results. Bounds that hold for a fixed number of samples do not
    /// apply.
    EndedEarly,
    /// The measuring thread took page faults during the recording.
    PageFaults,
    /// Results could not be written.
    Storage,
    /// In virtual time, the CPUs disturb each other through the emulator, not through the kernel.
    VirtualCpus,
    /// An imported file lacks information needed to decide.
    #[serde(rename = "not_told")]
    Unreported,
    /// Settings changed during the measurement or may change at any time, or another program measured at the same time.
    MachineChanged,
    /// The measured application has changed since its cycles were determined.
    ApplicationChanged,
    /// A kind from a later version; the text describes it.
    #[serde(other)]
    Unknown,
}
