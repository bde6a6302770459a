//! Formats the result of `import`.

use crate::json::{ProblemPart, problems};
use crate::words;
use punctual_model::{Blur, CpuResult, Import, Phase, Problem, Recording, Settings, Verdict};
use punctual_units::CpuId;
use serde::Serialize;
use std::path::Path;

/// The result of `import`: totals and extremes, and what the files do not contain.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportResult<'a> {
    /// Path of the run directory that was created.
    run: String,
    /// What the files contain, and what they do not contain.
    import: &'a Option<Import>,
    /// The settings as far as the files contain them.
    settings: &'a Settings,
    phases: Vec<ImportedPhase<'a>>,
    /// Problems that make phases inconclusive.
    problems: Vec<ProblemPart<'a>>,
    /// Descriptions of what was lost.
    lost: Vec<String>,
}

/// A phase of a run that was imported from another tool's output.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ImportedPhase<'a> {
    /// Identifier, unique in the run.
    id: &'a str,
    /// Kind of the phase's figures, for example `thread latency`.
    label: &'a Option<String>,
    /// Number of samples, summed over all CPUs.
    samples: u64,
    /// Largest latency on any CPU, ns.
    max_ns: Option<u64>,
    cpus: Vec<ImportedCpu<'a>>,
    /// Problems that make the phase inconclusive.
    problems: &'a [Problem],
}

/// A CPU of an imported phase, or a thread if the file contains no affinities.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ImportedCpu<'a> {
    cpu: CpuId,
    samples: u64,
    /// Skipped periods; null if the file does not contain them.
    skipped: Option<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    mean_ns: Option<f64>,
    /// Maximum difference between samples and the values in the file; null if they are exact.
    blur: &'a Option<Blur>,
}

/// Builds the result; `out` is the run directory, `verdict` the verdict without claims.
pub fn import_json<'a>(out: &Path, recording: &'a Recording, verdict: &'a Verdict) -> ImportResult<'a> {
    let run = &recording.run;
    ImportResult {
        run: out.to_string_lossy().into_owned(),
        import: &run.import,
        settings: &run.settings,
        phases: run.phases.iter().map(ImportedPhase::new).collect(),
        problems: problems(verdict),
        lost: words::lost(recording),
    }
}

impl<'a> ImportedPhase<'a> {
    fn new(phase: &'a Phase) -> ImportedPhase<'a> {
        ImportedPhase {
            id: &phase.id,
            label: &phase.label,
            samples: phase.cpus.iter().fold(0u64, |sum, c| sum.saturating_add(c.ran)),
            max_ns: phase.cpus.iter().filter_map(|c| c.max_ns).max(),
            cpus: phase.cpus.iter().map(ImportedCpu::new).collect(),
            problems: &phase.problems,
        }
    }
}

impl<'a> ImportedCpu<'a> {
    fn new(of: &'a CpuResult) -> ImportedCpu<'a> {
        ImportedCpu {
            cpu: of.cpu,
            samples: of.ran,
            skipped: of.skipped,
            min_ns: of.min_ns,
            max_ns: of.max_ns,
            mean_ns: of.mean_ns,
            blur: &of.blur,
        }
    }
}
