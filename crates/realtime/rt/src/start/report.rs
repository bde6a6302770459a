//! Results of the checks, and their text.

use crate::Check;
use std::fmt;

/// Whether the program starts if a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program does not start if the check fails.
    Required,
    /// The program starts even if the check fails, and reports the failure.
    Wanted,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The check passed. Contains what was found.
    Pass(String),
    /// The check failed.
    Fail {
        /// What was found.
        found: String,
        /// What to do, often a command.
        fix: String,
    },
    /// The check could not be made on this machine. Contains the reason. Never counts as passed.
    Unknown(String),
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The check that was made.
    pub check: Check,
    /// Whether the program starts if the check fails.
    pub severity: Severity,
    /// What the check found.
    pub outcome: Outcome,
}

impl Outcome {
    /// Returns true if the check passed.
    pub fn is_pass(&self) -> bool {
        matches!(self, Outcome::Pass(_))
    }
}

impl Checked {
    /// Returns true if the check passed.
    pub fn passed(&self) -> bool {
        self.outcome.is_pass()
    }
}

/// Results of all requested checks, in the order in which they were requested.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// One entry per check.
    pub checked: Vec<Checked>,
}

impl Report {
    /// Returns true if all checks passed.
    pub fn passed(&self) -> bool {
        self.checked.iter().all(Checked::passed)
    }

    /// Writes a line for each check that did not pass.
    pub(crate) fn warn(&self, to: &mut impl std::io::Write) -> std::io::Result<()> {
        self.checked.iter().filter(|checked| !checked.passed()).try_for_each(|checked| writeln!(to, "{checked}"))
    }

    pub(crate) fn failed_required(&self) -> bool {
        self.checked.iter().any(|c| c.severity == Severity::Required && !c.passed())
    }
}

punctual_units::debug_as_display!(Report);

/// Formats one line per check: `ok`, `FAILED` or `unknown`, what was found, and what to do.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checked.iter().try_for_each(|checked| writeln!(f, "{checked}"))
    }
}

/// Formats one line of the report.
impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { check, severity, outcome } = self;
        let wanted = if *severity == Severity::Required { "required" } else { "wanted" };
        match outcome {
            Outcome::Pass(found) => write!(f, "ok       {check}: {found}"),
            Outcome::Fail { found, fix } => write!(f, "FAILED   {check} ({wanted}): {found}; {fix}"),
            Outcome::Unknown(why) => write!(f, "unknown  {check} ({wanted}): {why}"),
        }
    }
}
