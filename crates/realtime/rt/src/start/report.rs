//! What the checks found, for a log and for a program.

use crate::Check;
use std::fmt;

/// How much a check weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The program does not start without it.
    Required,
    /// It starts and says so.
    Wanted,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be; what was found.
    Pass(String),
    /// Not so.
    Fail {
        /// What was found.
        found: String,
        /// What to do, often a command.
        fix: String,
    },
    /// It cannot be told on this machine; why. Never a pass.
    Unknown(String),
}

/// One check that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Which.
    pub check: Check,
    /// How much it weighs.
    pub severity: Severity,
    /// What it found.
    pub outcome: Outcome,
}

impl Checked {
    /// Did it pass?
    pub fn passed(&self) -> bool {
        matches!(self.outcome, Outcome::Pass(_))
    }
}

/// Every check that was asked for, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The checks.
    pub checked: Vec<Checked>,
}

impl Report {
    /// Did all pass?
    pub fn passed(&self) -> bool {
        self.checked.iter().all(Checked::passed)
    }

    pub(crate) fn failed_required(&self) -> bool {
        self.checked.iter().any(|c| c.severity == Severity::Required && !c.passed())
    }
}

/// A line a check: `ok`, `FAILED` or `unknown`, what was found, and what to do.
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
