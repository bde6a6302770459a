//! `cargo run -p xtask --features reference-checks schemas`: JSON Schemas of our own formats, made from the types that are written, into docs/schemas.

mod decisions;
mod documents;
mod kernels;
mod labs;
mod plans;
mod tails;

use decisions::{CompareResult, GateResult, HistoryResult, SelftestResult, TuneResult, UndoResult};
use documents::{Answer, AuditResult, Document, ExplainResult, ImportResult, ReportResult, SnapshotResult};
use punctual_model as model;
use punctual_rundir::HistogramFile;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use std::fs;
use std::path::{Path, PathBuf};

/// Where they are.
const FOLDER: &str = "docs/schemas";

/// Name, and what makes it.
type Row = (&'static str, fn() -> String);

/// The table: files of a run directory and of a watch, then documents of `--json`.
const SCHEMAS: &[Row] = &[
    ("run", made::<model::Run>),
    ("hist", made::<HistogramFile>),
    ("worst", made::<model::Worst>),
    ("events", made::<model::Event>),
    ("maxima", made::<model::BlockMaximum>),
    ("causes", made::<model::Explained>),
    ("capture", made::<model::Capture>),
    ("findings", made::<Vec<model::Finding>>),
    ("suite", made::<model::Suite>),
    ("experiment", made::<model::Experiment>),
    ("bench", made::<model::Bench>),
    ("watch", made::<model::Watch>),
    ("series", made::<model::WatchLine>),
    ("fleet-line", made::<model::FleetLine>),
    ("document", made::<Document<serde_json::Map<String, serde_json::Value>>>),
    ("document-report", made::<Document<Answer<ReportResult>>>),
    ("document-audit", made::<Document<Answer<AuditResult>>>),
    ("document-snapshot", made::<Document<SnapshotResult>>),
    ("document-explain", made::<Document<Answer<ExplainResult>>>),
    ("document-explain-hardware", made::<Document<Answer<model::Hardware>>>),
    ("document-watch", made::<Document<Answer<documents::WatchResult>>>),
    ("document-import", made::<Document<Answer<ImportResult>>>),
    ("document-events", made::<Document<Answer<model::Suite>>>),
    ("document-sched", made::<Document<Answer<model::Experiment>>>),
    ("document-fleet", made::<Document<Answer<model::Fleet>>>),
    ("document-bench", made::<Document<Answer<model::Bench>>>),
    ("document-compare", made::<Document<Answer<CompareResult>>>),
    ("document-history", made::<Document<Answer<HistoryResult>>>),
    ("document-history-gate", made::<Document<Answer<GateResult>>>),
    ("document-tune", made::<Document<Answer<TuneResult>>>),
    ("document-undo", made::<Document<Answer<UndoResult>>>),
    ("document-selftest", made::<Document<Answer<SelftestResult>>>),
    ("document-kernel-plan", made::<Document<Answer<plans::PlanResult>>>),
    ("document-kernel-fetch", made::<Document<Answer<kernels::FetchResult>>>),
    ("document-kernel-preflight", made::<Document<Answer<kernels::PreflightResult>>>),
    ("document-kernel-patch", made::<Document<Answer<kernels::PatchResult>>>),
    ("document-kernel-configure", made::<Document<Answer<kernels::ConfigureResult>>>),
    ("document-kernel-build", made::<Document<Answer<kernels::BuildResult>>>),
    ("document-kernel-package", made::<Document<Answer<kernels::PackageResult>>>),
    ("document-kernel-deploy", made::<Document<Answer<kernels::DeployResult>>>),
    ("document-kernel-verify", made::<Document<Answer<kernels::VerifyResult>>>),
    ("document-kernel-commit", made::<Document<Answer<kernels::CommitResult>>>),
    ("document-kernel-rollback", made::<Document<Answer<kernels::RollbackResult>>>),
    ("document-kernel-status", made::<Document<Answer<kernels::StatusResult>>>),
    ("document-lab-boot", made::<Document<Answer<labs::LabBootResult>>>),
    ("document-lab-prove", made::<Document<Answer<labs::LabProveResult>>>),
    ("document-fix", made::<Document<Answer<labs::FixResult>>>),
    ("document-history-add", made::<Document<Answer<labs::AddResult>>>),
    ("document-history-baseline", made::<Document<Answer<labs::BaselineResult>>>),
    ("document-lab-compare", made::<Document<Answer<labs::LabCompareResult>>>),
    ("document-lab-bisect", made::<Document<Answer<labs::LabBisectResult>>>),
];

/// As the type is written, with its documentation.
fn made<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    format!("{:#}\n", schema.as_value())
}

fn path(name: &str) -> PathBuf {
    // The workspace is two folders up; CI checks from anywhere.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER).join(format!("{name}.schema.json"))
}

/// Writes them all.
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
