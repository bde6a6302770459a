//! Results of the audit's rules.

use serde::{Deserialize, Serialize};

/// Result of one rule on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// ID of the rule, for example `cpu-governor`.
    pub id: String,
    /// Group of the rule, for example `CPU: SMT, frequency, idle, thermal`.
    pub group: String,
    pub severity: Severity,
    pub state: State,
    /// Subject and result in one sentence: `Clocksource: it is tsc`.
    pub summary: String,
    pub evidence: Vec<Evidence>,
    /// Why the setting matters, with a measured effect if one is known.
    pub why: String,
    /// Command that corrects the setting; null if there is none.
    pub fix: Option<String>,
}

impl Finding {
    /// Beginning of the sentence about what the rule reads and single files of a machine do not have.
    pub const NOT_GIVEN: &str = "not in the given files: ";

    /// Returns true if the rule was not judged because single files of a machine do not have what it reads.
    pub fn is_not_given(&self) -> bool {
        self.state == State::Skip && self.summary.contains(Finding::NOT_GIVEN)
    }
}

/// Severity of a failure, in the terms of the kernel's real-time guide and two additional terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule is disabled and is not judged.
    Off,
    /// Informative; no cost is known.
    Info,
    /// A failure costs microseconds of latency.
    Low,
    /// A failure costs tens of microseconds of latency, or its effect is rare.
    Medium,
    /// A failure costs hundreds of microseconds of latency or more.
    High,
    /// A failure rules out real-time operation.
    Fatal,
}

/// Result of a rule. Only `Pass` means that the rule passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// The value was read and is correct.
    Pass,
    Fail,
    /// The value is doubtful.
    Warn,
    /// The rule reports a fact without judging it.
    Info,
    Skip,
    /// The value could not be read because of permissions or lockdown.
    Blocked,
    /// The value could not be read for another reason.
    Unknown,
}

/// A source read by a rule, and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Path, system call or command.
    pub source: String,
    /// Content, shortened, or the reason why it could not be read.
    pub value: String,
}
