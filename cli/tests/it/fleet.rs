//! Tests `report` on several runs.

use crate::common;
use common::{answer, punctual, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Creates a directory with two short runs. Concurrent tests may disturb each other's real-time threads, and a machine
/// that stalls makes a run inconclusive; neither matters here.
fn runs(folder: &Path) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for name in ["a", "b"] {
        let out = folder.join(name);
        let done = punctual().args(["measure", "-D", "300ms", "--quiet", "--out"]).arg(&out).output().unwrap();
        let (code, _, err) = answer(done);
        assert!(code == 0 || code == 3, "{code}: {err}");
    }
}

#[test]
#[ignore = "live: timing"]
fn several_runs_are_a_fleet_in_every_form() {
    let place = tempfile::tempdir().unwrap();
    runs(place.path());
    let folder = place.path().to_str().unwrap();
    let (code, text, err) = run(&["report", folder]);
    assert!(code == 0 && text.starts_with("2 runs of 1 board") && text.contains("kernel"), "{text}{err}");
    let (a, b) = (format!("{folder}/a"), format!("{folder}/b"));
    let (code, same, _) = run(&["report", &a, &b]);
    assert!(code == 0 && same == text);
    let (code, html, _) = run(&["report", folder, "--format", "html"]);
    assert!(code == 0 && html.starts_with("<!DOCTYPE html>"));
    let (code, lines, _) = run(&["report", folder, "--format", "jsonl"]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (_, one, _) = run(&["report", &a, "--format", "jsonl"]);
    assert!(code == 0 && lines.len() == 2 * one.lines().count() && !lines.is_empty());
    assert!(lines.iter().all(|line| line["load"] == "idle" && line["max_ns"].as_u64() > Some(0)), "{lines:?}");
    let (code, json, _) = run(&["report", folder, "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(code == 0 && json["schema"] == "punctual.fleet/1" && json["result"]["runs"] == 2, "{json}");
    let (code, _, err) = run(&["report", folder, "--format", "cyclictest"]);
    assert!(code == 2 && err.contains("cyclictest"), "{err}");
}

#[test]
#[ignore = "live: timing"]
fn a_run_that_cannot_be_read_is_named_and_one_given_twice_counts_once() {
    let place = tempfile::tempdir().unwrap();
    runs(place.path());
    let broken = place.path().join("broken");
    fs::create_dir(&broken).unwrap();
    fs::write(broken.join("run.json"), b"{\"schema\":\"punctual.run/9\"}").unwrap();
    let folder = place.path().to_str().unwrap();
    let a = format!("{folder}/a");
    let (code, text, err) = run(&["report", folder, &a]);
    assert_eq!(code, 0, "{err}");
    assert!(text.contains("2 runs of 1 board") && text.contains("broken"), "{text}");
    assert!(err.contains("duplicate run") && err.contains("punctual.run/9"), "{err}");
    let (code, _, err) = run(&["report", broken.to_str().unwrap(), broken.to_str().unwrap()]);
    assert!(code == 2 && err.contains("no readable run"), "{err}");
}
