//! What the audit says about one rule.

use serde::{Deserialize, Serialize};

/// One rule, judged on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's id, for example `cpu-governor`.
    pub id: String,
    /// The rule's group, for example `CPU: SMT, frequency, idle, thermal`.
    pub group: String,
    /// How bad a FAIL is.
    pub severity: Severity,
    /// How it came out.
    pub state: State,
    /// One sentence: what was found.
    pub summary: String,
    /// What was read.
    pub evidence: Vec<Evidence>,
    /// Why it matters, with the figure where one is known.
    pub why: String,
    /// The command to type, where there is one.
    pub fix: Option<String>,
}

/// How bad a rule's failure is; the words of the kernel's real-time guide and two more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Not judged.
    Off,
    /// Worth knowing.
    Info,
    /// Microseconds.
    Low,
    /// Tens of microseconds, or rare.
    Medium,
    /// Hundreds of microseconds and more.
    High,
    /// No real-time without it.
    Fatal,
}

/// How a rule came out. Only `Pass` is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// As it should be, and read.
    Pass,
    /// Not as it should be.
    Fail,
    /// Doubtful.
    Warn,
    /// For the reader.
    Info,
    /// Does not apply here.
    Skip,
    /// Could not be read: permission or lockdown.
    Blocked,
    /// Could not be read for another reason.
    Unknown,
}

/// One thing that was read, and what stood there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Path, system call or command.
    pub source: String,
    /// Its content, shortened; or why it could not be read.
    pub value: String,
}
