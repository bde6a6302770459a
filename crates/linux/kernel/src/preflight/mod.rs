//! Finds problems before a build starts: each check is based on a failure that people have reported. A pure function.

mod building;
mod configured;
mod drivers;
mod target;

use crate::config::Options;
use crate::host::Host;
use crate::{Board, Patched, Release, Series};
use punctual_machine::Machine;
use serde::Serialize;
use std::path::Path;

/// Outcome of a check. Only `Pass` counts as success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Pass,
    Fail,
    /// The item may cause a failure, or has a cost.
    Warn,
    /// The item could not be checked; `fix` names what the check needs.
    Unknown,
    /// Not applicable to this board or source.
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    pub id: &'static str,
    pub outcome: Outcome,
    pub found: String,
    pub why: &'static str,
    /// The command to run; `None` if nothing has to be done.
    pub fix: Option<String>,
}

pub struct Given<'g> {
    pub board: &'static Board,
    pub series: Option<Series>,
    pub host: &'g Host,
    /// make's O=, as the user gave it.
    pub out: Option<&'g Path>,
    pub tree: Option<Release>,
    pub patch: Option<Patched>,
    pub config: Option<&'g Options>,
    /// The board, if it is accessible.
    pub target: Option<&'g dyn Machine>,
    /// Free space on the target's boot partition.
    pub boot_free_bytes: Option<u64>,
}

pub fn preflight(given: &Given) -> Vec<Check> {
    let mut all = building::checks(given);
    all.extend(configured::checks(given));
    all.extend(drivers::checks(given));
    all.extend(target::checks(given));
    all
}

fn check(id: &'static str, why: &'static str, outcome: Outcome, found: impl Into<String>, fix: &str) -> Check {
    let fix = (!fix.is_empty() && outcome != Outcome::Pass).then(|| fix.to_owned());
    Check { id, outcome, found: found.into(), why, fix }
}

#[cfg(test)]
mod tests;
