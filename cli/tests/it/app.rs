//! Tests `prove --app`: what is refused before anything is measured, and a shell loop whose period is known.

use crate::common::run;
use serde_json::Value;
use std::fs;
use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn what_is_no_application_is_wrong_usage() {
    for (words, said) in [
        (&["prove", "--thread", "control"][..], "--app"),
        (&["prove", "--app", " "], "empty"),
        (&["prove", "--app", "true", "--via", "timerfd"], "--via is for wakeups"),
        (&["prove", "--app", "true", "--interval", "2ms"], "--interval is for wakeups"),
        (&["prove", "--app", "true", "--claim", "chain(a > b > a) < 1ms"], "a occurs twice in the chain"),
        (&["prove", "--app", "true", "--pid", "4194999"], "no process 4194999"),
        (&["prove", "--app", "true", "--deadline", "1ms"], "response(THREAD)"),
        (&["prove", "--app", "true", "--claim", "response() < 1ms"], "name of a thread"),
        (&["prove", "--app", "true", "--claim", "chain(a) < 1ms"], "two or more threads"),
        (&["prove", "--pid", "4194999"], "no process 4194999"),
        (&["prove", "--app", "/nowhere/program"], "ended before it was measured"),
    ] {
        let (code, _, errors) = run(words);
        // In a container no application can be measured, whatever its name.
        let is_refused = code == 4 && errors.contains("namespace");
        assert!(code == 2 && errors.contains(said) || is_refused, "{words:?}: {code} {errors}");
    }
}

/// The process that starts a program adopts the processes that its children leave behind, and ends them on SIGTERM,
/// which the kernel sends if the measuring process is killed.
#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 300' &", file.display());
    let words = ["__app-reaper", "/bin/sh", "-c", &script];
    let mut starter = Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).stdout(Stdio::piped()).spawn().unwrap();
    // The first line is the PID of the program, which is stopped.
    let mut line = String::new();
    std::io::BufReader::new(starter.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let runs = Command::new("sh").args(["-c", "kill -CONT $0", line.trim()]).status().unwrap();
    assert!(runs.success());
    while !file.exists() {
        assert!(starter.try_wait().unwrap().is_none(), "it ended before the program");
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = Path::new("/proc").join(fs::read_to_string(&file).unwrap().trim());
    // The command has ended by then; its daemon has not.
    std::thread::sleep(Duration::from_millis(100));
    assert!(left.exists() && starter.try_wait().unwrap().is_none());
    let ended = Command::new("sh").args(["-c", "kill $0", &starter.id().to_string()]).status().unwrap();
    assert!(ended.success() && starter.wait().unwrap().success());
    assert!(!left.exists());
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn the_cycles_of_a_program_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let program = format!("{} cyclictest -q -t 1 -p 80 -i 2000 -D 30s", env!("CARGO_BIN_EXE_punctual"));
    let (_, cycles, errors) = run(&["prove", "--app", &program, "--show-cycles", "--json"]);
    let found: Value = serde_json::from_str(&cycles).unwrap_or_else(|e| panic!("{e}: {errors}"));
    let thread = &found["result"]["threads"][0];
    let period = thread["period_ns"].as_u64().unwrap();
    assert!((1_990_000..2_010_000).contains(&period) && thread["release"] == "absolute sleep", "{thread}");
    let claim = format!("response({}) < 10s", thread["name"].as_str().unwrap());
    let words = ["prove", "--app", &program, "--claim", &claim, "-l", "idle", "-D", "2s", "--json", "-o"];
    let (_, answer, errors) = run(&[&words[..], &[out.to_str().unwrap()]].concat());
    let result: Value = serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {errors}"));
    let cycles = &result["result"]["application"]["cycles"][0];
    let sum = |name: &str| cycles[name].as_u64().unwrap();
    let delays: u64 = cycles["delays"].as_array().unwrap().iter().map(|delay| delay["ns"].as_u64().unwrap()).sum();
    assert_eq!(sum("behind_ns") + sum("ran_ns") + sum("blocked_ns") + delays, sum("response_ns"));
    assert!((950..=1_001).contains(&(sum("cycles") + sum("skipped"))), "{cycles}");
}
