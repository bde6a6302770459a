//! `cargo run -p xtask --features reference-checks schemas`: writes JSON Schemas of the program's own formats, made
//! from the types that are written, to docs/schemas.

use punctual_audit as audit;
use punctual_deploy as deploy;
use punctual_fix::{FixResult, UndoResult};
use punctual_kbuild as kbuild;
use punctual_kernel as kernel;
use punctual_lab as lab;
use punctual_model::{self as model, history};
use punctual_report::{self as report, Document, ResultOrError};
use punctual_rundir::HistogramFile;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of the schemas.
const FOLDER: &str = "docs/schemas";

/// Name of a schema, and the function that generates it.
type Row = (&'static str, fn() -> String);

/// The files of a run directory and of a watch, then the documents of `--json`.
const SCHEMAS: &[Row] = &[
    ("run", made::<model::Run>),
    ("hist", made::<HistogramFile>),
    ("worst", made::<model::Worst>),
    ("events", made::<model::Event>),
    ("maxima", made::<model::BlockMaximum>),
    ("causes", made::<model::Explained>),
    ("capture", made::<model::Capture>),
    ("findings", made::<Vec<model::Finding>>),
    ("application", made::<model::Application>),
    ("suite", made::<model::Suite>),
    ("experiment", made::<model::Experiment>),
    ("bench", made::<model::Bench>),
    ("watch", made::<model::Watch>),
    ("series", made::<model::WatchLine>),
    ("fleet-line", made::<model::FleetLine>),
    ("document", made::<Document<serde_json::Map<String, serde_json::Value>>>),
    ("document-report", made::<Document<ResultOrError<report::RunResult>>>),
    ("document-audit", made::<Document<ResultOrError<audit::AuditResult>>>),
    ("document-snapshot", made::<Document<audit::SnapshotResult>>),
    ("document-references", made::<Document<ResultOrError<report::ReferencesResult>>>),
    ("document-prove-show-cycles", made::<Document<ResultOrError<model::Application>>>),
    ("document-references-check", made::<Document<ResultOrError<report::CheckedResult>>>),
    ("document-explain", made::<Document<ResultOrError<model::ExplainResult>>>),
    ("document-explain-hardware", made::<Document<ResultOrError<model::Hardware>>>),
    ("document-watch", made::<Document<ResultOrError<model::Watched>>>),
    ("document-import", made::<Document<ResultOrError<report::ImportResult>>>),
    ("document-events", made::<Document<ResultOrError<model::Suite>>>),
    ("document-sched", made::<Document<ResultOrError<model::Experiment>>>),
    ("document-list", made::<Document<ResultOrError<model::Listing>>>),
    ("document-fleet", made::<Document<ResultOrError<model::Fleet>>>),
    ("document-bound", made::<Document<ResultOrError<model::LatencyBound>>>),
    ("document-bench", made::<Document<ResultOrError<model::Bench>>>),
    ("document-compare", made::<Document<ResultOrError<report::ComparisonResult>>>),
    ("document-history", made::<Document<ResultOrError<report::HistoryResult>>>),
    ("document-history-gate", made::<Document<ResultOrError<report::GateResult>>>),
    ("document-tune", made::<Document<ResultOrError<report::tune::TuneResult>>>),
    ("document-check", made::<Document<ResultOrError<model::Check>>>),
    ("document-undo", made::<Document<ResultOrError<UndoResult>>>),
    ("document-selftest", made::<Document<ResultOrError<punctual_selftest::Tested>>>),
    ("document-kernel-plan", made::<Document<ResultOrError<kernel::Plan>>>),
    ("document-kernel-fetch", made::<Document<ResultOrError<kbuild::fetch::SourceManifest>>>),
    ("document-kernel-preflight", made::<Document<ResultOrError<kernel::PreflightResult>>>),
    ("document-kernel-patch", made::<Document<ResultOrError<kernel::PatchResult>>>),
    ("document-kernel-configure", made::<Document<ResultOrError<kernel::ConfigureResult>>>),
    ("document-kernel-build", made::<Document<ResultOrError<kbuild::BuildResult>>>),
    ("document-kernel-package", made::<Document<ResultOrError<kbuild::PackageResult>>>),
    ("document-kernel-deploy", made::<Document<ResultOrError<deploy::DeployResult>>>),
    ("document-kernel-verify", made::<Document<ResultOrError<deploy::VerifyResult>>>),
    ("document-kernel-commit", made::<Document<ResultOrError<deploy::CommitResult>>>),
    ("document-kernel-rollback", made::<Document<ResultOrError<deploy::Back>>>),
    ("document-kernel-status", made::<Document<ResultOrError<deploy::Status>>>),
    ("document-lab-boot", made::<Document<ResultOrError<lab::LabBootResult>>>),
    ("document-lab-prove", made::<Document<ResultOrError<lab::LabProveResult>>>),
    ("document-fix", made::<Document<ResultOrError<FixResult>>>),
    ("document-history-add", made::<Document<ResultOrError<history::AddResult>>>),
    ("document-history-remove", made::<Document<ResultOrError<history::RemoveResult>>>),
    ("document-history-baseline", made::<Document<ResultOrError<history::BaselineResult>>>),
    ("document-lab-compare", made::<Document<ResultOrError<lab::LabCompareResult>>>),
    ("document-lab-bisect", made::<Document<ResultOrError<lab::LabBisectResult>>>),
];

/// Returns the schema of the type as it is written, with its documentation.
fn made<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    format!("{:#}\n", schema.as_value())
}

fn path(name: &str) -> PathBuf {
    // Relative to the workspace, which is one directory up, because the check may run anywhere.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER).join(format!("{name}.schema.json"))
}

pub fn run(words: &[String]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("cargo run -p xtask --features reference-checks schemas".into());
    }
    for (name, make) in SCHEMAS {
        let path = path(name);
        fs::write(&path, make()).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    println!("{} schemas in {FOLDER}", SCHEMAS.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_in_docs_are_those_of_the_types() {
        for (name, make) in SCHEMAS {
            let kept = fs::read_to_string(path(name)).unwrap_or_default();
            assert!(
                kept == make(),
                "docs/schemas/{name}.schema.json is old: cargo run -p xtask --features reference-checks schemas"
            );
        }
    }

    #[test]
    fn every_schema_in_docs_is_made_here() {
        let files = fs::read_dir(path("x").parent().unwrap()).unwrap().flatten();
        let names: Vec<String> = files.map(|f| f.file_name().into_string().unwrap()).collect();
        let known = |name: &String| SCHEMAS.iter().any(|(n, _)| *name == format!("{n}.schema.json"));
        assert!(names.iter().all(known), "{names:?}");
    }
}
