//! What would go wrong, before it is begun: each check comes from a failure that people report. Pure.

mod building;
mod configured;
mod target;

use crate::config::Options;
use crate::host::Host;
use crate::{Board, Patched, Release, Series};
use punctual_machine::Machine;
use serde::Serialize;
use std::path::Path;

/// How a check came out. Only `Pass` is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is as it has to be.
    Pass,
    /// The build or the boot would fail.
    Fail,
    /// It may go wrong, or costs something.
    Warn,
    /// It could not be looked at; the fix says what to give.
    Unknown,
    /// It does not concern this board or this way.
    Skip,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its name.
    pub id: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// What was found.
    pub found: String,
    /// What goes wrong otherwise.
    pub why: &'static str,
    /// What to type; `None` where nothing is to be done.
    pub fix: Option<String>,
}

/// What is looked at.
pub struct Given<'g> {
    /// For which board.
    pub board: &'static Board,
    /// The series to build.
    pub series: Option<Series>,
    /// The machine that builds.
    pub host: &'g Host,
    /// make's O=, as the user wrote it.
    pub out: Option<&'g Path>,
    /// The source's release.
    pub tree: Option<Release>,
    /// The patch to apply.
    pub patch: Option<Patched>,
    /// The configuration, when there is one.
    pub config: Option<&'g Options>,
    /// The board itself, where it can be looked at.
    pub target: Option<&'g dyn Machine>,
    /// Bytes free on the target's boot partition.
    pub boot_free_bytes: Option<u64>,
}

/// All checks, in order.
pub fn preflight(given: &Given) -> Vec<Check> {
    let mut all = building::checks(given);
    all.extend(configured::checks(given));
    all.extend(target::checks(given));
    all
}

fn check(id: &'static str, why: &'static str, outcome: Outcome, found: impl Into<String>, fix: &str) -> Check {
    let fix = (!fix.is_empty() && outcome != Outcome::Pass).then(|| fix.to_owned());
    Check { id, outcome, found: found.into(), why, fix }
}

#[cfg(test)]
mod tests;
