//! Tests `audit` and `snapshot` as scripts use them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Serializes tests that change what an audit reads (a latency request, enabled events) and tests that read it twice.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn punctual(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Creates a minimal tree that can be audited.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n"),
        ("proc/sys/kernel/osrelease", "6.12.0\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

fn rules() -> usize {
    punctual_audit::Rules::embedded().iter().count()
}

fn findings(document: &Value) -> &Vec<Value> {
    document["result"]["findings"].as_array().unwrap()
}

fn state<'v>(document: &'v Value, id: &str) -> &'v str {
    let finding = findings(document).iter().find(|finding| finding["id"] == id).unwrap();
    finding["state"].as_str().unwrap()
}

#[test]
fn every_rule_has_one_finding_with_every_key() {
    let folder = tree();
    let output = punctual(&["audit", "--json", "--root", folder.path().to_str().unwrap()]);
    let document = json(&output);
    assert_eq!(document["schema"], "punctual.audit/1");
    assert_eq!(Some(i64::from(output.status.code().unwrap())), document["exit_code"].as_i64());
    assert_eq!(findings(&document).len(), rules());
    for finding in findings(&document) {
        for key in ["id", "group", "severity", "state", "summary", "evidence", "why", "fix"] {
            assert!(finding.get(key).is_some(), "{key}: {finding}");
        }
    }
    assert_eq!(state(&document, "kernel-preempt-rt"), "PASS");
    assert_eq!(state(&document, "cmdline-debug-leftovers"), "UNKNOWN");
    // Nothing fails, and many findings are unknown.
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_failing_rule_decides_the_exit_code() {
    let folder = tree();
    std::fs::write(folder.path().join("proc/sys/kernel/version"), "#1 SMP PREEMPT_DYNAMIC\n").unwrap();
    let output = punctual(&["audit", "--root", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).starts_with("FAIL    fatal  kernel-preempt-rt"), "{}", text(&output));
}

#[test]
fn other_formats_parse() {
    let folder = tree();
    let root = folder.path().to_str().unwrap();
    let sarif: Value = serde_json::from_str(&text(&punctual(&["audit", "--root", root, "--format", "sarif"]))).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), rules());
    let junit = text(&punctual(&["audit", "--root", root, "--format", "junit"]));
    assert_eq!(junit.matches("<testcase ").count(), rules());
    assert!(junit.contains(&format!("tests=\"{}\"", rules())) && junit.trim_end().ends_with("</testsuites>"));
    let markdown = text(&punctual(&["audit", "--root", root, "--format", "markdown", "--all"]));
    assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), rules() + 1);
}

#[test]
#[ignore = "live: timing"]
fn a_snapshot_is_judged_as_the_machine() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("box.tar");
    let file = file.to_str().unwrap();
    assert_eq!(punctual(&["snapshot", file]).status.code(), Some(0));
    assert_eq!(punctual(&["snapshot", file]).status.code(), Some(2), "an existing file stays");
    let (here, there) =
        (json(&punctual(&["audit", "--json"])), json(&punctual(&["audit", "--json", "--snapshot", file])));
    // Tasks start and end between the two audits, and counters rise.
    let moving = ["rogue-", "daemon-", "iso-", "sched-", "virt-steal", "irq-", "fw-", "housekeeping-", "mem-pressure"];
    for finding in findings(&here) {
        let id = finding["id"].as_str().unwrap();
        if !moving.iter().any(|start| id.starts_with(start)) {
            assert_eq!(state(&there, id), finding["state"], "{id}");
        }
    }
}

#[test]
fn wrong_input_is_usage() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let profile = write("my.toml", "extends = \"busy-poll\"\n[severity]\nno-such-rule = \"low\"\n");
    let rubbish = write("rubbish.tar", "rubbish");
    for words in [
        vec!["audit", "--for", "no-such-profile"],
        vec!["audit", "--for", &profile],
        vec!["audit", "--snapshot", &rubbish],
        vec!["audit", "--root", "/no/such/folder"],
        vec!["audit", "--explain", "no-such-rule"],
    ] {
        let output = punctual(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{words:?}");
    }
    let said = String::from_utf8(punctual(&["audit", "--for", &profile]).stderr).unwrap();
    assert!(said.contains("my.toml:3:1"), "{said}");
}

#[test]
fn a_profile_of_ones_own_switches_rules_off() {
    let folder = tree();
    let profile = folder.path().join("my.toml");
    let text = "extends = \"control-loop\"\n[[suppress]]\nrule = \"kernel-preempt-rt\"\nreason = \"a test\"\nuntil = \"2999-01-01\"\n";
    std::fs::write(&profile, text).unwrap();
    std::fs::write(folder.path().join("proc/sys/kernel/version"), "#1 SMP PREEMPT_DYNAMIC\n").unwrap();
    let root = folder.path().to_str().unwrap();
    let document = json(&punctual(&["audit", "--json", "--for", profile.to_str().unwrap(), "--root", root]));
    assert_eq!(state(&document, "kernel-preempt-rt"), "SKIP");
}

#[test]
fn a_rule_explains_itself() {
    let output = punctual(&["audit", "--explain", "cpu-smt"]);
    assert_eq!(output.status.code(), Some(0));
    for part in ["Threads of a core", "- reads:", "- FAIL if ", "- fix now:", "- undo:", "- sources:"] {
        assert!(text(&output).contains(part), "{part}");
    }
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules/cpu.md").exists());
}

#[test]
fn cpus_are_planned_for_text_and_scripts() {
    let tree = tree();
    let root = tree.path().to_str().unwrap();
    let plain = punctual(&["audit", "--plan-cpus", "--root", root]);
    let said = text(&plain);
    assert!(said.starts_with("isolate CPU 1 on ") && said.contains("isolcpus=managed_irq,domain,1"), "{said}");
    assert_eq!(plain.status.code(), Some(0));
    let document = json(&punctual(&["audit", "--plan-cpus=1", "--root", root, "--json"]));
    assert_eq!(document["result"]["plan"]["isolated"], "1");
    let too_many = punctual(&["audit", "--plan-cpus=2", "--root", root]);
    assert_eq!(too_many.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&too_many.stderr).contains("the maximum is 1"));
    assert_eq!(punctual(&["audit", "--near", "eth0"]).status.code(), Some(2));
}

/// The user may or may not have the privileges; the finding must say which is the case.
#[test]
#[ignore = "live: timing"]
fn what_is_tried_is_said() {
    let _alone = alone();
    let tried = json(&punctual(&["audit", "--probe", "--json"]));
    assert!(["PASS", "FAIL"].contains(&state(&tried, "perm-test-real")));
    let untried = json(&punctual(&["audit", "--json"]));
    assert_eq!(state(&untried, "perm-test-real"), "SKIP");
}

#[test]
#[ignore = "live: root, runuser"]
fn another_users_rights_are_tried_with_a_login_of_theirs() {
    let _alone = alone();
    let output = punctual(&["audit", "--user", "nobody", "--json"]);
    let document = json(&output);
    if output.status.code() == Some(4) {
        // The user is not root, or runuser(1) is missing.
        assert!(document["result"]["error"].to_string().contains("runuser"), "{document}");
        return;
    }
    // The user nobody has no real-time priority unless an administrator grants it.
    assert_eq!(state(&document, "perm-rtprio"), state(&document, "perm-test-real"));
    let unknown = punctual(&["audit", "--user", "no-such-user"]);
    assert_eq!(unknown.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no-such-user"));
}

/// Takes the measuring threads of this program as the application.
#[test]
#[ignore = "live: tracefs, timing"]
fn an_applications_calls_are_traced_where_that_is_allowed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["measure", "--duration", "6s", "--load", "idle", "--quiet", "--trace", "never", "--out"]).arg(&out);
    let mut application = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let pid = application.id().to_string();
    let output = punctual(&["audit", "--pid", &pid, "--window", "1s", "--json"]);
    application.kill().unwrap();
    application.wait().unwrap();
    let document = json(&output);
    let clock = findings(&document).iter().find(|finding| finding["id"] == "app-clock").unwrap();
    let said = clock["summary"].as_str().unwrap();
    let is_traced = output.stderr.is_empty();
    if is_traced && state(&document, "app-policy") == "PASS" {
        assert!(said.contains("CLOCK_MONOTONIC absolute") && said.contains("clock_nanosleep "), "{said}");
    }
    assert!(is_traced || String::from_utf8_lossy(&output.stderr).contains("not traced"));
}
