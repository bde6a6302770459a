//! Tests that `report` prints recorded runs and other tools' files in at most 22 lines of 80 columns, with the verdict
//! first and last. `prove`, `measure` and `import` print the same text.

use crate::common::{answer, punctual};
use punctual_testing::root;
use std::fs;
use std::path::{Path, PathBuf};

const LINES: usize = 22;
const VERDICTS: [&str; 5] = ["PASS", "HELD", "FAIL", "INCONCLUSIVE", "MEASURED"];

fn below(folder: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Returns the text of a run; `None` if it has no latencies.
fn shown(run: &Path, claims: &[&str]) -> Option<String> {
    let mut command = punctual();
    command.arg("report").arg(run);
    command.args(claims.iter().flat_map(|claim| ["--claim", claim]));
    let (_, text, _) = answer(command.env("COLUMNS", "80").output().unwrap());
    let is_of_latencies = |text: &String| !text.contains("no latencies");
    Some(text).filter(|text| VERDICTS.iter().any(|word| text.starts_with(word))).filter(is_of_latencies)
}

#[test]
fn recorded_runs_of_all_kinds_fit_one_screen() {
    let runs = ["cli/tests/fixtures/fleet", "cli/tests/fixtures/lab", "cli/tests/fixtures/watch/runs"];
    let files = ["crates/analysis/import/tests/fixtures", "crates/analysis/import/tests/fixtures/tools"];
    let all: Vec<PathBuf> = runs.iter().chain(&files).flat_map(|folder| below(folder)).collect();
    let mut fitted = 0;
    for run in &all {
        for claims in [&[][..], &["max < 100us", "missed = 0", "P(>80us) < 1e-6"]] {
            let Some(text) = shown(run, claims) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            let word = text.split_whitespace().next().unwrap_or_default();
            assert!(lines.len() <= LINES, "{}: {} lines\n{text}", run.display(), lines.len());
            assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}\n{text}", run.display());
            assert!(lines[lines.len() - 1].starts_with(word), "{}\n{text}", run.display());
            fitted += 1;
        }
    }
    println!("{fitted} texts of {} runs and files", all.len());
    assert!(fitted >= 40, "only {fitted} texts");
}
