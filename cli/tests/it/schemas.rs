//! Checks real files and documents of each kind against docs/schemas.

use crate::common;
use common::{answer, punctual, run};
use punctual_testing::schema::{assert_exact, exact, holds, schema};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn file(name: &str, path: &Path) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_exact(name, &serde_json::from_str(&text).unwrap());
}

/// Checks every line of a file. Returns the number of lines.
fn lines(name: &str, path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let validator = exact(name);
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&value), "{name}: {line}");
    }
    text.lines().count()
}

/// Returns the document that a command prints with --json.
fn document(args: &[&str]) -> Value {
    let (_, out, err) = run(args);
    let value: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out} {err}"));
    holds(&value);
    value
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(name)
}

#[test]
#[ignore = "live: timing"]
fn a_run_directory_and_its_documents_hold_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let out = root.to_str().unwrap();
    let args = [
        "prove", "-D", "2500ms", "-l", "idle,cpu", "-a", "0", "-c", "max < 1s", "--trace", "never", "--json", "--out",
        out,
    ];
    document(&args);
    document(&["report", out, "--json"]);
    file("run", &root.join("run.json"));
    file("findings", &root.join("findings.json"));
    for phase in std::fs::read_dir(root.join("hist")).unwrap().flatten() {
        std::fs::read_dir(phase.path()).unwrap().flatten().for_each(|cpu| file("hist", &cpu.path()));
    }
    assert!(lines("worst", &root.join("worst.jsonl")) > 0);
    assert!(lines("events", &root.join("events.jsonl")) > 0);
    lines("maxima", &root.join("maxima.jsonl"));
}

#[test]
fn recorded_causes_hold_to_their_schema() {
    assert!(lines("causes", &punctual_testing::root().join("qa/testing/fixtures/causes.jsonl")) > 0);
}

#[test]
fn an_imported_run_and_its_document_hold_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let sample = fixture("analysis/import/tests/fixtures/ct-2.4.json");
    document(&["import", sample.to_str().unwrap(), "--json", "--out", root.to_str().unwrap()]);
    file("run", &root.join("run.json"));
    holds(&common::shown(&root));
}

#[test]
fn an_event_suite_holds_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    document(&["events", "--backend", "mock", "-D", "1s", "--json", "--out", root.to_str().unwrap()]);
    file("suite", &root.join("suite.json"));
    file("run", &root.join("run.json"));
}

#[test]
#[ignore = "live: timing"]
fn a_benchmark_holds_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    document(&["bench", "nqueens", "--json", "-n", "6", "--out", root.to_str().unwrap()]);
    file("bench", &root.join("bench.json"));
}

#[test]
#[ignore = "live: timing"]
fn an_audit_and_a_snapshot_hold_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let tar = folder.path().join("x.tar");
    document(&["audit", "--json"]);
    document(&["snapshot", tar.to_str().unwrap(), "--json"]);
    document(&["audit", "--json", "--snapshot", "/nonexistent.tar"]);
}

#[test]
fn an_explanation_holds_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("trace.txt");
    std::fs::write(&empty, "# tracer: nop\n#\n").unwrap();
    document(&["explain", empty.to_str().unwrap(), "--json"]);
}

#[test]
fn a_schema_refuses_what_is_none() {
    let sample = fixture("analysis/import/tests/fixtures/ct-2.4.json");
    let (_, out, _) = answer(punctual().arg("report").arg(sample).arg("--json").output().unwrap());
    let mut value: Value = serde_json::from_str(&out).unwrap();
    let whole = schema("document-report");
    assert!(whole.is_valid(&value));
    value["result"]["verdict"]["outcome"] = "perhaps".into();
    assert!(!whole.is_valid(&value));
    value["schema"] = "other/1".into();
    assert!(!schema("document").is_valid(&value));
}

/// Tests every kernel command that changes a machine, with an unreachable target.
#[test]
#[ignore = "live: ssh"]
fn a_kernel_command_that_reaches_no_machine_says_so_in_a_document() {
    let folder = tempfile::tempdir().unwrap();
    // No server listens there; without ssh, its absence is the error.
    let (config, none) = (folder.path().join("config"), "ssh://127.0.0.1:1");
    std::fs::write(&config, "BatchMode yes\nConnectTimeout 5\n").unwrap();
    let tried = |command: &str| {
        let package = (command == "deploy").then_some("k.deb");
        let mut words = vec!["kernel", command];
        words.extend(package);
        words.extend(["--target", none, "--ssh-config", config.to_str().unwrap(), "--json"]);
        let (code, out, err) = run(&words);
        let document: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{command}: {e}: {out} {err}"));
        holds(&document);
        assert_eq!(document["schema"], format!("punctual.kernel-{command}/1"));
        assert!(code != 0 && document["exit_code"] == code && document["result"]["error"].is_string(), "{document}");
    };
    // Each command tries to connect for ten seconds.
    std::thread::scope(|threads| {
        for command in ["deploy", "verify", "commit", "rollback", "status"] {
            threads.spawn(move || tried(command));
        }
    });
}
