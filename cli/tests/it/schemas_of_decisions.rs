//! Checks real documents of commands that decide or change something against docs/schemas.

use crate::common;
use common::{answer, may_be_real_time, punctual, run};
use punctual_testing::schema::holds;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns the document that a command prints, after checking that it has a result instead of an error.
fn document(args: &[&str]) -> Value {
    let (_, out, err) = run(args);
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out} {err}"));
    assert!(value["result"]["error"].is_null(), "{args:?}: {value}");
    holds(&value);
    value
}

fn sample(name: &str) -> String {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/import/tests/fixtures").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_comparison_holds_to_its_schema() {
    let kernels = ["histogram_rtkernel_4.19.59-rt23-v7l+.csv", "histogram_stdkernel_4.19.57-v7l+.csv"];
    let [a, b] = kernels.map(sample);
    document(&["compare", &a, "--vs", &b, "--json"]);
}

/// Serializes tests whose real-time threads would disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
#[ignore = "live: timing"]
fn a_history_and_its_gate_hold_to_their_schemas() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("x.db");
    let db = db.to_str().unwrap();
    let runs = ["one", "two"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    for run in &runs {
        document(&["measure", "-D", "500ms", "-a", "0", "--json", "--out", run]);
        document(&["history", "--db", db, "add", run, "--json"]);
    }
    let history = document(&["history", "--db", db, "--json"]);
    assert!(history["result"]["groups"][0]["series"].as_array().is_some_and(|s| !s.is_empty()), "{history}");
    let gate = ["history", "--db", db, "gate", &runs[1], "--baseline", "1", "--json"];
    document(&gate);
}

#[test]
fn what_tune_would_try_holds_to_its_schema() {
    let value = document(&["tune", "--dry-run", "mem-dirty-limits", "cpu-smt", "--json"]);
    assert_eq!(value["result"]["dry_run"], true);
}

/// Real undo operations are tested in cli/tests/it/fix.rs.
#[test]
fn undo_with_nothing_to_undo_holds_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    for words in [["undo", "--json"].as_slice(), &["undo", "--list", "--json"], &["undo", "--confirm", "--json"]] {
        let output = punctual().args(words).env("PUNCTUAL_CHANGES", folder.path().join("changes")).output().unwrap();
        let (code, out, err) = answer(output);
        assert_eq!(code, 0, "{words:?}: {out} {err}");
        holds(&serde_json::from_str(&out).unwrap());
    }
}

#[test]
fn undo_refuses_an_unknown_rule_and_accepts_a_known_one() {
    let folder = tempfile::tempdir().unwrap();
    let undo = |id: &str| {
        let output = punctual().args(["undo", id]).env("PUNCTUAL_CHANGES", folder.path().join("changes")).output();
        answer(output.unwrap())
    };
    for known in ["cpu-governor", "boot-trial", "boot-parameters"] {
        let (code, out, err) = undo(known);
        assert_eq!((code, out.as_str()), (0, "nothing to undo\n"), "{known}: {err}");
    }
    let (code, out, err) = undo("cpu-governer");
    assert!(code == 2 && out.is_empty() && err.contains("similar: cpu-governor"), "{code} {out} {err}");
}

#[test]
#[ignore = "live: timing"]
fn a_selftest_holds_to_its_schema() {
    if !may_be_real_time() {
        eprintln!("not tested: delays are injected by threads of real-time priority");
        return;
    }
    let _alone = alone();
    let (code, out, err) = run(&["selftest", "--json"]);
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out} {err}"));
    holds(&value);
    let refused = value["result"]["error"].as_str();
    if let Some(why) = refused.filter(|why| code == 4 && why.contains("run before or with")) {
        eprintln!("not tested: this machine has other real-time threads: {why}");
        return;
    }
    // Delays that the machine disturbed are injected again.
    assert!(value["result"]["planted"].as_array().is_some_and(|all| all.len() >= 3), "{value}");
}
