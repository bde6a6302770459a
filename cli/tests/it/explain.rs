//! Tests `punctual explain` on recorded traces.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/trace/tests/fixtures").join(name);
    path.display().to_string()
}

fn explain(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.arg("explain").args(words).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_culprit_stands_in_the_first_line() {
    let output = explain(&[&fixture("g612.dat"), "-n", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains(" on CPU 1, 49.8 ms late: multipathd (RT 99, pid 244) ran 29.6 ms of it"), "{text}");
    assert!(text.contains("4 times, every ~700 ms"), "{text}");
}

#[test]
fn the_document_is_that_of_the_contract() {
    let output = explain(&[&fixture("g612.dat"), "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["exit_code"], 0);
    let victim = &document["result"]["victims"][0];
    for key in ["tid", "comm", "cpu", "latency_ns", "causes", "unaccounted_ns", "coverage", "verdict"] {
        assert!(!victim[key].is_null(), "{key}");
    }
    let causes = victim["causes"].as_array().unwrap();
    let sum: u64 = causes.iter().map(|c| c["ns"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), victim["latency_ns"].as_u64());
    assert_eq!(causes[0]["class"], "higher_priority");
    assert_eq!(document["result"]["trace_format"], "trace.dat 7");
}

#[test]
fn what_is_no_trace_is_wrong_usage() {
    let output = explain(&[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a known trace format"));
    let missing = explain(&["/nowhere/trace.dat", "--json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(serde_json::from_slice::<Value>(&missing.stdout).is_ok());
}

#[test]
fn a_thread_that_is_not_there_has_no_late_wakeup() {
    let output = explain(&[&fixture("g612.dat"), "--task", "999999"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_timeline_stands_below_the_verdicts() {
    let output = explain(&[&fixture("g612.dat"), "-n", "1", "--timeline"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("CPU 1 ")).unwrap();
    assert!(row.contains("AAAAAAAAAA") && text.contains("A multipathd (RT 99, pid 244)"), "{text}");
    let document = explain(&[&fixture("g612.dat"), "-n", "2", "--timeline", "--json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    let timelines = document["result"]["timelines"].as_array().unwrap();
    assert_eq!(timelines.len(), 2);
    assert_eq!(timelines[0]["lanes"][0]["cpu"], 1);
    assert_eq!(timelines[0]["moments"], document["result"]["victims"][0]["moments"]);
    let none = explain(&["-", "--timeline"]);
    assert_eq!(none.status.code(), Some(2));
}

#[test]
fn files_are_new_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (page, trace) = (folder.path().join("page.html"), folder.path().join("trace.pftrace"));
    let words = [&fixture("g612.dat"), "--html", page.to_str().unwrap(), "--perfetto", trace.to_str().unwrap()];
    let output = explain(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("49.8\u{a0}ms late: multipathd") && html.contains("<svg role=\"img\""));
    let binary = std::fs::read(&trace).unwrap();
    // The first byte is the tag of field 1 of `Trace`, a packet.
    assert!(binary.len() > 100_000 && binary[0] == 0x0a);
    let again = explain(&words);
    assert_eq!(again.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&again.stderr).contains("page.html exists; name a new file"));
    assert_eq!(std::fs::read(&trace).unwrap(), binary);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// The other threads of a window may have been woken late as well; the window was kept because of one.
#[test]
fn a_kept_window_leads_with_the_moment_for_which_it_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("1-watch-late-1.dat");
    std::fs::copy(fixture("g612.dat"), &file).unwrap();
    let note = |tid: u32, by: Value| {
        let mut late = serde_json::json!({
            "by": "claim", "at_mono_ns": 7_000_000_000u64, "thread": "control", "tid": tid, "name": null, "claim": null,
            "value_ns": null, "release_mono_ns": null, "is_open": false
        });
        late.as_object_mut().unwrap().extend(by.as_object().unwrap().clone());
        let cycle = serde_json::json!({
            "tid": tid, "comm": "control", "policy": "FIFO", "prio": 50, "cpu": 1, "release_ns": 6_000_000_000u64,
            "length_ns": 1_000_000_000, "ran_ns": 1_000_000_000, "delays": [], "blocked": [],
            "verdict": "CPU1 cycle of 1.00 s: ran 1.00 s (100 %)"
        });
        let note = serde_json::json!({
            "phase": "1-watch", "file": "traces/1-watch-late-1.dat", "from_mono_ns": 6_980_000_000u64,
            "to_mono_ns": 7_000_000_000u64, "late": [], "overwritten": [], "policies": {}, "fair_server": null,
            "throttled": null, "application": { "late": [late], "cycles": [cycle] }
        });
        std::fs::write(file.with_extension("json"), note.to_string()).unwrap();
    };
    let file = file.to_str().unwrap();
    let claim = serde_json::json!({ "claim": "response(control) < 800us", "value_ns": 1_000_000_000 });
    note(999_999, claim);
    let output = explain(&[file]);
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let led = "7.000000: response(control) < 800us: 1.00 s: CPU1 cycle of 1.00 s: ran 1.00 s (100 %); it began 980 ms \
               before these events: watch --keep with a longer time keeps all of it";
    assert!(output.status.success() && text.starts_with(led), "{text}");
    assert!(!text.contains("multipathd"), "{text}");
    // The wakeups that follow are those of the late thread.
    let document: Value = serde_json::from_slice(&explain(&[file, "--json"]).stdout).unwrap();
    assert_eq!(document["result"]["victims"].as_array().unwrap().len(), 0);
    assert_eq!(document["result"]["moments"].as_array().unwrap().len(), 1);
    let all = String::from_utf8(explain(&[file, "--all-rt", "--full"]).stdout).unwrap();
    assert!(all.starts_with("7.000000: response") && all.contains("multipathd (RT 99, pid 244) ran"), "{all}");
    note(999_999, serde_json::json!({ "by": "program", "name": "axis" }));
    let text = String::from_utf8(explain(&[file, "--cycle"]).stdout).unwrap();
    assert!(text.starts_with("7.000000: control said it is late (axis): CPU1 cycle of 1.00 s"), "{text}");
    assert!(text.contains("Longest cycles\n  - CPU1 cycle of 1.00 s: ran 1.00 s (100 %)\n"), "{text}");
}

#[test]
fn a_summary_is_stated_and_explains_no_wakeup() {
    let table = std::env::temp_dir().join(format!("punctual-explain-summary-{}.txt", std::process::id()));
    let text = "                                     Timer Latency\n  0 00:00:10   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)\n\
                CPU COUNT      |      cur       min       avg       max |      cur       min       avg       max\n  \
                0 #9000      |        1         0         1        12 |        7         3         8        95\n";
    std::fs::write(&table, text).unwrap();
    let output = explain(&[&table.display().to_string()]);
    let said = String::from_utf8(output.stdout).unwrap();
    std::fs::remove_file(&table).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("the table of rtla timerlat top (the worst thread latency is 95 us on CPU 0"), "{said}");
}
