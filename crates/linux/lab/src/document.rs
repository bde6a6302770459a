//! Results of `lab boot`, `prove`, `compare` and `bisect`.

use crate::{BisectReport, LabRun, Proven, Step};
use punctual_model::Comparison;
use punctual_report::{ComparisonResult, RunResult, comparison_json, json};
use punctual_vm::Booted;
use serde::Serialize;
use std::path::Path;

/// The result of `lab boot`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabBootResult<'a> {
    /// Guests, in the order of their numbers.
    guests: Vec<Guest<'a>>,
    /// Directory of the fetched files; null if none were requested.
    out: Option<&'a Path>,
}

/// Outcome of a guest.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Guest<'a> {
    /// Exit code of the guest's script.
    exit_code: i32,
    /// Output on the guest's console.
    console: &'a str,
    /// Run time of the emulator.
    lasted_s: f64,
}

/// The result of `lab prove`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabProveResult<'a> {
    /// The clock, always `virtual`.
    clock: &'static str,
    /// Folder that contains the run directories.
    out: &'a Path,
    boots: Vec<LabRunPart<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LabRunPart<'a> {
    /// The run as printed by `report`.
    #[serde(flatten)]
    run: RunResult<'a>,
    /// Seed that determines the order of the run's loads and its memory addresses.
    seed: u64,
    run_directory: String,
}

/// The result of `lab compare`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabCompareResult<'a> {
    /// The comparison as printed by `compare`.
    #[serde(flatten)]
    comparison: ComparisonResult<'a>,
    /// Directory that contains the run directories and the comparison's page.
    out: String,
}

/// The result of `lab bisect`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabBisectResult<'a> {
    /// The clock, always `virtual`.
    clock: &'static str,
    /// The first bad commit, or all candidates.
    suspects: &'a [String],
    /// The commits that were tried, in order.
    steps: &'a [Step],
    /// Directory of builds and runs.
    out: &'a Path,
}

impl<'a> LabBootResult<'a> {
    /// Creates the result; `out` is the directory of the fetched files.
    pub fn new(booted: &'a [Booted], out: Option<&'a Path>) -> LabBootResult<'a> {
        let guest =
            |b: &'a Booted| Guest { exit_code: b.exit_code, console: &b.console, lasted_s: b.lasted.as_secs_f64() };
        LabBootResult { guests: booted.iter().map(guest).collect(), out }
    }
}

impl<'a> LabProveResult<'a> {
    /// Creates the result; `out` is the folder that contains the run directories.
    pub fn new(proven: &'a Proven, out: &'a Path) -> LabProveResult<'a> {
        let boots = proven.runs.iter().map(LabRunPart::new).collect();
        LabProveResult { clock: "virtual", out, boots }
    }
}

impl<'a> LabRunPart<'a> {
    fn new(of: &'a LabRun) -> LabRunPart<'a> {
        let run = json(&of.recording, &of.verdict);
        LabRunPart { run, seed: of.seed, run_directory: of.root.display().to_string() }
    }
}

impl<'a> LabCompareResult<'a> {
    /// Creates the result; `out` is the directory that contains the run directories and the page.
    pub fn new(comparison: &'a Comparison, out: &Path) -> LabCompareResult<'a> {
        LabCompareResult { comparison: comparison_json(comparison), out: out.display().to_string() }
    }
}

impl<'a> LabBisectResult<'a> {
    /// Creates the result; `out` is the directory of builds and runs.
    pub fn new(report: &'a BisectReport, out: &'a Path) -> LabBisectResult<'a> {
        LabBisectResult { clock: "virtual", suspects: &report.suspects, steps: &report.steps, out }
    }
}
