//! Tests `audit --fix`, `--dry-run` and `undo` on this machine, with harmless values.

use crate::common;

use common::alone::Alone;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Files that the tests change, and the rules that change them.
const FILES: &[&str] = &[
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/kernel/sched_autogroup_enabled",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/soft_watchdog",
];
const RULES: &[&str] = &["mem-dirty-limits", "sched-autogroup", "watchdog-soft"];

impl Alone {
    fn begin_fix() -> Option<Alone> {
        Alone::holding(FILES, || true)
    }

    fn fix(&self, more: &[&str]) -> (i32, Value) {
        let words: Vec<&str> = ["audit", "--fix"].iter().chain(RULES).chain(more).copied().collect();
        self.json(&words)
    }
}

#[test]
#[ignore = "live: root, timing"]
fn a_fix_takes_and_an_undo_takes_it_back() {
    let Some(alone) = Alone::begin_fix() else { return };
    let before = alone.values();
    let (code, shown) = alone.json(&["audit", "--dry-run", "mem-dirty-limits"]);
    assert_eq!(code, 0);
    let step = &shown["result"]["rules"][0]["steps"][0];
    assert_eq!(step["change"], "/proc/sys/vm/dirty_background_ratio: 10 -> 3");
    assert_eq!(alone.values(), before, "a dry run writes nothing");
    let (_, fixed) = alone.fix(&["--look-again", "0s"]);
    let rules = fixed["result"]["rules"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["id"] == "mem-dirty-limits").unwrap();
    assert_eq!(rule["after"], "PASS", "{fixed:#}");
    assert_eq!(alone.values()[0], "3\n");
    let (_, list) = alone.json(&["undo", "--list"]);
    assert!(!list["result"]["changes"].as_array().unwrap().is_empty());
    let (code, undone) = alone.json(&["undo"]);
    assert_eq!((code, &undone["result"]["complete"]), (0, &Value::Bool(true)), "{undone:#}");
    assert_eq!(alone.values(), before);
    let (code, again) = alone.json(&["undo"]);
    assert_eq!((code, again["result"]["changes"].as_array().unwrap().len()), (0, 0));
}

#[test]
#[ignore = "live: root, timing"]
fn what_somebody_else_changed_since_is_left() {
    let Some(alone) = Alone::begin_fix() else { return };
    alone.fix(&["--look-again", "0s"]);
    std::fs::write(FILES[0], "7\n").unwrap();
    let (code, undone) = alone.json(&["undo"]);
    assert_eq!(code, 1, "{undone:#}");
    assert_eq!(alone.values()[0], "7\n");
    let left: Vec<&Value> =
        undone["result"]["changes"].as_array().unwrap().iter().filter(|change| change["outcome"] == "left").collect();
    assert_eq!(left.len(), 1);
    assert!(left[0]["what"].as_str().unwrap().contains("is 7 by now"), "{left:?}");
}

#[test]
#[ignore = "live: root, timing"]
fn a_value_that_another_program_changes_back_is_reported() {
    let Some(alone) = Alone::begin_fix() else { return };
    let mut child = alone.punctual(&["audit", "--fix", "mem-dirty-limits", "--look-again", "3s", "--json"]);
    let child = child.stdout(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while alone.values()[0] != "3\n" && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(FILES[0], "5\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let reported = document["result"]["reverted"][0].as_str().unwrap();
    assert!(reported.contains("reads 5"), "{reported}");
}

#[test]
#[ignore = "live: root, timing"]
fn what_is_not_confirmed_is_undone_automatically() {
    let Some(alone) = Alone::begin_fix() else { return };
    let before = alone.values();
    alone.fix(&["--look-again", "0s", "--confirm", "2s"]);
    assert_eq!(alone.values()[0], "3\n");
    let begun = Instant::now();
    while alone.values() != before && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(alone.values(), before);
    assert!(begun.elapsed() > Duration::from_millis(500));
}

#[test]
#[ignore = "live: root, timing"]
fn what_is_confirmed_stays() {
    let Some(alone) = Alone::begin_fix() else { return };
    alone.fix(&["--look-again", "0s", "--confirm", "3s"]);
    let (code, kept) = alone.json(&["undo", "--confirm"]);
    assert_eq!((code, kept["result"]["kept"].as_u64()), (0, Some(1)));
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(alone.values()[0], "3\n");
    assert_eq!(alone.json(&["undo"]).0, 0);
    assert_eq!(alone.values()[0], "10\n");
}

#[test]
#[ignore = "live: root, timing"]
fn throttling_goes_only_with_a_watchdog_or_knowingly() {
    let Some(alone) = Alone::begin_fix() else { return };
    let throttle = "/proc/sys/kernel/sched_rt_runtime_us";
    let before = std::fs::read_to_string(throttle).unwrap();
    let words = ["audit", "--fix", "sched-rt-throttle", "--for", "dedicated-core", "--look-again", "0s"];
    let (_, fixed) = alone.json(&words);
    if fixed["result"]["rules"].as_array().unwrap().is_empty() {
        return eprintln!("not tested: the rule has nothing to say here");
    }
    if punctual_fix::armed(&punctual_fix::Real::new()).is_some() {
        return eprintln!("not tested: a watchdog is armed here");
    }
    assert_eq!(std::fs::read_to_string(throttle).unwrap(), before);
    assert!(fixed["result"]["rules"][0]["refused"][0].as_str().unwrap().contains("watchdog"), "{fixed:#}");
}

#[test]
fn unknown_rules_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .env("PUNCTUAL_CHANGES", folder.path().join("changes"))
        .args(["audit", "--dry-run", "no-such-rule"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!Path::new(&folder.path().join("changes")).exists());
}

/// Kills a fix with SIGKILL at random instants, then undoes it. `cargo trials kill-fix` repeats this 200 times.
#[test]
#[ignore = "live: root, timing"]
fn twenty_kills_leave_nothing() {
    let Some(alone) = Alone::begin_fix() else { return };
    let before = alone.values();
    let begun = Instant::now();
    alone.fix(&["--look-again", "0s"]);
    let whole = begun.elapsed();
    assert_eq!(alone.json(&["undo"]).0, 0);
    let mut changed = 0;
    for i in 0..20_u32 {
        let words: Vec<&str> = ["audit", "--fix"].iter().chain(RULES).chain(&["--look-again", "0s"]).copied().collect();
        let mut child = alone.punctual(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Half of the kills are spread over the run. The others follow the first record within 15 ms, because most of a
        // run is the audit.
        if i % 2 == 0 {
            std::thread::sleep(whole.mul_f64(f64::from(i) / 20.0));
        } else {
            let length = || std::fs::metadata(alone.place.path().join("changes/journal")).map_or(0, |m| m.len());
            let (first, begun) = (length(), Instant::now());
            while length() == first && begun.elapsed() < whole * 2 {
                std::thread::sleep(Duration::from_micros(200));
            }
            std::thread::sleep(Duration::from_micros(u64::from(i) * 750));
        }
        let _ = child.kill();
        child.wait().unwrap();
        changed += u32::from(alone.values() != before);
        let (code, undone) = alone.json(&["undo"]);
        assert_eq!(code, 0, "kill {i}: {undone:#}");
        assert_eq!(alone.values(), before, "kill {i}");
    }
    eprintln!("{changed} of 20 kills came after a change");
}

/// Lowers the priority of another program's real-time thread, then restores it.
#[test]
#[ignore = "live: root, chrt"]
fn a_thread_that_comes_first_is_lowered_and_raised_again() {
    let Some(alone) = Alone::begin_fix() else { return };
    let Ok(mut other) = Command::new("chrt").args(["-f", "85", "sleep", "60"]).spawn() else {
        return eprintln!("not tested: no chrt");
    };
    std::thread::sleep(Duration::from_millis(300));
    let priority = |pid: u32| punctual_uapi::scheduling(pid as i32).map(|(scheduling, _)| scheduling.to_string());
    let before = priority(other.id());
    if before.as_deref().is_ok_and(|text| text.contains("85")) {
        let (_, fixed) = alone.json(&["audit", "--fix", "rogue-rt-task", "-p", "80", "--look-again", "0s"]);
        let text = fixed.to_string();
        assert!(text.contains("sleep (thread"), "{fixed:#}");
        assert!(priority(other.id()).unwrap().contains("79"));
        let (code, undone) = alone.json(&["undo"]);
        assert_eq!(code, 0, "{undone:#}");
        assert_eq!(priority(other.id()).unwrap(), before.unwrap());
    } else {
        eprintln!("not tested: FIFO 85 is not permitted");
    }
    let _ = other.kill();
    other.wait().unwrap();
}
