//! Tests `punctual explain --hardware` on this machine, with the available privileges.

use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["explain", "--hardware"]).args(words).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Returns the document, after checking it against its schema, which describes every key.
fn document(output: &Output) -> Value {
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    punctual_testing::schema::holds(&document);
    document
}

/// Returns true if this process may trace and use SCHED_FIFO. Otherwise prints what the test could not do.
fn whole(document: &Value) -> bool {
    let narrowed = document["result"]["narrowed"].as_array().unwrap();
    narrowed.iter().for_each(|why| eprintln!("not tested: {why}"));
    narrowed.is_empty()
}

/// Returns the trace instances and journal entries of a process.
fn left_behind(pid: u32) -> Vec<String> {
    let folders = ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances", "/run/punctual"];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(&format!("{pid}"))).collect()
}

fn finish(child: Child) -> (Output, u32) {
    let pid = child.id();
    (child.wait_with_output().unwrap(), pid)
}

#[test]
#[ignore = "live: tracefs, timing"]
fn it_looks_says_what_it_saw_and_leaves_nothing() {
    let (output, pid) = finish(command(&["--duration", "1s", "--json"]).spawn().unwrap());
    let document = document(&output);
    assert_eq!(document["schema"], "punctual.explain-hardware/1");
    let code = if whole(&document) { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(code));
    assert_eq!(document["exit_code"], code);
    let result = &document["result"];
    for cpu in result["cpus"].as_array().unwrap() {
        assert!(cpu["readings"].as_u64().unwrap() > 0, "{cpu}");
    }
    assert_eq!(left_behind(pid), Vec::<String>::new());
}

#[test]
#[ignore = "live: timing"]
fn without_a_trace_it_tells_nothing_apart_and_is_no_pass() {
    let words = ["--duration", "1s", "--trace", "never", "--threshold", "1us"];
    let (output, _) = finish(command(&words).spawn().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("tracing is switched off"), "{text}");
    assert!(text.contains("cannot be distinguished") || text.contains("No gap"), "{text}");
}

#[test]
#[ignore = "live: timing"]
fn a_signal_ends_it_with_what_was_seen() {
    let child = command(&["--duration", "1h", "--json"]).spawn().unwrap();
    sleep(Duration::from_millis(1500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let (output, pid) = finish(child);
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(document(&output)["exit_code"], 130);
    assert_eq!(left_behind(pid), Vec::<String>::new());
}

/// A stopped process does not read the clock. The trace shows which thread ran in the meantime, or that the CPU was
/// idle, so the gap is attributed to Linux.
#[test]
#[ignore = "live: tracefs, timing"]
fn a_gap_that_was_made_by_stopping_it_is_linuxs() {
    let child = command(&["--duration", "3s", "--json"]).spawn().unwrap();
    let kill = |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    // After the first window, some CPU is always reading the clock.
    sleep(Duration::from_millis(1200));
    kill("-STOP");
    sleep(Duration::from_millis(120));
    kill("-CONT");
    let (output, _) = finish(child);
    let document = document(&output);
    if !whole(&document) {
        return;
    }
    let findings = document["result"]["findings"].as_array().unwrap();
    let linux = findings.iter().find(|f| f["class"] == "linux").unwrap();
    assert!(linux["worst_ns"].as_u64().unwrap() >= 60_000_000, "{linux}");
    let worst = &document["result"]["worst"][0];
    assert!(worst["linux_ns"].as_u64().unwrap() > worst["length_ns"].as_u64().unwrap() / 2, "{worst}");
}

/// The thread is a loop at FIFO 99 that runs for 30 ms of every 130 ms, at most 40 times. chrt replaces the shell, so
/// killing it ends the loop.
#[test]
#[ignore = "live: tracefs, chrt"]
fn a_more_urgent_thread_is_named() {
    let script = "for i in $(seq 40); do e=$(( $(date +%s%N) + 30000000 )); while [ $(date +%s%N) -lt $e ]; do :; done; \
                  sleep 0.1; done";
    let mut hog = Command::new("chrt");
    hog.args(["-f", "99", "sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut hog) = hog.spawn() else { return eprintln!("not tested: no chrt") };
    sleep(Duration::from_millis(100));
    if hog.try_wait().unwrap().is_some() {
        return eprintln!("not tested: FIFO 99 is not permitted");
    }
    let (output, _) = finish(command(&["--duration", "3s", "--json"]).spawn().unwrap());
    let _ = (hog.kill(), hog.wait());
    let document = document(&output);
    if !whole(&document) {
        return;
    }
    let findings = document["result"]["findings"].as_array().unwrap();
    let linux = findings.iter().find(|f| f["class"] == "linux").unwrap();
    let named = |part: &Value| part["kind"] == "task" && part["what"].as_str().unwrap().contains("99, pid");
    assert!(linux["parts"].as_array().unwrap().iter().any(named), "{linux}");
}

#[test]
fn wrong_usage_is_told_before_anything_is_done() {
    for words in [&["--threshold", "1ns"][..], &["--cpus", "8000"], &["--live"], &["trace.dat"]] {
        let (output, _) = finish(command(words).spawn().unwrap());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
    let (output, _) = finish(command(&["--threshold", "1ns", "--json"]).spawn().unwrap());
    let refused = document(&output);
    assert_eq!(refused["schema"], "punctual.explain-hardware/1");
    assert!(refused["exit_code"] == 2 && refused["result"]["error"].is_string(), "{refused}");
    let hwlat = Command::new(env!("CARGO_BIN_EXE_punctual")).args(["explain", "--live", "--hwlat"]).output().unwrap();
    assert_eq!(hwlat.status.code(), Some(2));
}
