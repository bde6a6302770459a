//! Results of the checks, for a log and for programs.

use crate::Check;
use std::fmt;

/// Weight of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program does not start if it fails.
    Required,
    /// The program starts, and reports the failure.
    Wanted,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Passed; says what was found.
    Pass(String),
    /// The check failed.
    Fail {
        /// What was found.
        found: String,
        /// What to do, often a command.
        fix: String,
    },
    /// Cannot be determined on this machine; says why. Never a pass.
    Unknown(String),
}

/// A check and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The check that was made.
    pub check: Check,
    /// How much the check matters.
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

/// Results of all requested checks, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// One entry per check.
    pub checked: Vec<Checked>,
}

impl Report {
    /// Returns true if all checks passed.
    pub fn passed(&self) -> bool {
        self.checked.iter().all(Checked::passed)
    }

    pub(crate) fn failed_required(&self) -> bool {
        self.checked.iter().any(|c| c.severity == Severity::Required && !c.passed())
    }
}

/// One line per check: `ok`, `FAILED` or `unknown`, what was found, and what to do.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Checked { check, severity, outcome } in &self.checked {
            let wanted = if *severity == Severity::Required { "required" } else { "wanted" };
            match outcome {
                Outcome::Pass(found) => writeln!(f, "ok       {check}: {found}")?,
                Outcome::Fail { found, fix } => writeln!(f, "FAILED   {check} ({wanted}): {found}; {fix}")?,
                Outcome::Unknown(why) => writeln!(f, "unknown  {check} ({wanted}): {why}")?,
            }
        }
        Ok(())
    }
}
