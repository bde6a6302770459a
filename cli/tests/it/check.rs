//! Tests `check` on the programs of qa/check.

use super::common::punctual;
use punctual_testing::corpus;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn rules_are_listed_and_explained() {
    let run = |words: &[&str]| {
        let output = punctual().arg("check").args(words).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, _) = run(&["--list"]);
    assert_eq!(code, 0);
    for line in out.lines() {
        let id = line.split(' ').next().unwrap();
        let (code, text, _) = run(&["--explain", id]);
        assert!(code == 0 && text.contains("instead") && text.contains("sources"), "{text}");
    }
    let (code, _, err) = run(&["--explain", "page-falt"]);
    assert!(code == 2 && err.contains("page-fault"), "{err}");
    let (code, _, err) = run(&["--", "./no/such/program"]);
    assert!(code == 2 && err.contains("not found"), "{err}");
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["--order", "a", "--pid", "1"]).0, 2);
}

#[test]
fn options_that_exclude_each_other_are_refused_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (started, there) = (folder.path().join("started"), folder.path().join("there.json"));
    fs::write(&there, "").unwrap();
    let touch = format!("touch {}", started.display());
    for (options, instead) in [
        (&["--after", "5s", "-D", "3s"][..], "--duration 8000ms"),
        (&["--format", "sarif", "--json"], "--format sarif --out FILE"),
        (&["--full", "--format", "html"], "--out FILE"),
        (&["--show-cycles", "--format", "junit"], "--out FILE"),
        (&["--from", "no_such_function"], "--after TIME"),
        (&["--format", "json", "--out", there.to_str().unwrap()], "name a new file"),
        (&["--baseline", "/no/such/file"], "cannot read"),
    ] {
        let output = punctual().arg("check").args(options).args(["--", "/bin/sh", "-c", &touch]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 4)) && error.contains(instead), "{options:?}: {output:?}");
    }
    assert!(!started.exists());
}

#[test]
fn what_is_not_there_is_named_with_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("only-here");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    let error = |words: &[&str]| {
        let output = punctual().current_dir(folder.path()).arg("check").args(words).output().unwrap();
        assert!(matches!(output.status.code(), Some(2 | 4)), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(error(&["--", "only-here"]).contains("punctual check -- ./only-here"));
    assert!(!error(&["--", "no-such-program"]).contains("./"));
    assert!(error(&["--", "./no-such-program"]).contains("program ./no-such-program not found"));
    assert!(error(&["--cgroup", "/sys/fs/cgroup/no/such"]).contains("no control group /sys/fs/cgroup/no/such"));
    if !Path::new("/run/systemd/system").exists() {
        assert!(error(&["--unit", "x.service"]).contains("--cgroup DIR"));
    }
}

/// Builds a program of the corpus and returns the command that runs it; `None` if its compiler or interpreter is
/// missing, or if it needs more CPUs.
fn built(source: &Path, folder: &Path) -> Option<Vec<String>> {
    if corpus::cpus(source) as usize > std::thread::available_parallelism().unwrap().get() {
        return None;
    }
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    if source.extension()? == "py" {
        return Path::new("/usr/bin/env").exists().then(|| vec!["python3".into(), text(source)]);
    }
    Some(vec![text(&corpus::build(source, "", folder)?)])
}

fn checked(command: &[String], options: &[&str]) -> (i32, Value) {
    let mut run = punctual();
    run.args(["check", "--json", "--duration", "4s"]).args(options).arg("--").args(command);
    let output = run.output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{command:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    punctual_testing::schema::holds(&document);
    (output.status.code().unwrap(), document["result"].clone())
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn every_fault_of_the_corpus_is_found_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let mut failed = Vec::new();
    for source in corpus::programs("faulty") {
        let Some(command) = built(&source, folder.path()) else { continue };
        count += 1;
        let (code, result) = checked(&command, &[]);
        failed.extend(corpus::differs(&source, &result));
        let fails = corpus::open(&result).iter().any(|one| one["state"] == "FAIL");
        if code != i32::from(fails) {
            failed.push(format!("{}: exit code {code}, {}", source.display(), result["sources"]));
        }
    }
    assert!(failed.is_empty(), "{} of {count}: {}", failed.len(), failed.join("\n"));
    assert!(count >= 25, "only {count} programs could be built");
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn nothing_is_found_in_clean_programs() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for source in corpus::programs("clean") {
        let Some(command) = built(&source, folder.path()) else { continue };
        count += 1;
        let (code, result) = checked(&command, &[]);
        assert_eq!((code, corpus::differs(&source, &result)), (0, None));
    }
    assert!(count >= 12, "only {count} programs could be built");
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn known_findings_do_not_fail_and_code_scanning_gets_lines() {
    let folder = tempfile::tempdir().unwrap();
    let source = corpus::folder().join("faulty/usleep_loop.c");
    let Some(command) = built(&source, folder.path()) else { return };
    let known = folder.path().join("known.json");
    let sarif = folder.path().join("check.sarif");
    let run = |options: &[&str]| {
        let mut run = punctual();
        run.args(["check", "--duration", "2s"]).args(options).arg("--").args(&command);
        run.current_dir(corpus::folder()).output().unwrap()
    };
    let first = run(&["--format", "json", "--out", known.to_str().unwrap()]);
    assert_eq!(first.status.code(), Some(1));
    assert_eq!(run(&["--baseline", known.to_str().unwrap()]).status.code(), Some(0));
    run(&["--format", "sarif", "--out", sarif.to_str().unwrap()]);
    let document: Value = serde_json::from_slice(&fs::read(sarif).unwrap()).unwrap();
    let at = &document["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert!(at["region"]["startLine"].as_u64().unwrap() > 1, "{at}");
    let text = String::from_utf8(run(&[]).stdout).unwrap();
    assert!(text.lines().count() <= 22 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn a_check_is_not_ended_as_a_start_that_takes_too_long() {
    let output = punctual().args(["check", "--duration", "12s", "--", "sleep", "30"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && text.contains("no thread is real-time"), "{output:?}");
}

#[test]
fn a_thread_of_the_kernel_is_refused() {
    // In a container, PID 2 may be any process, or none.
    let is_kthreadd = fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd");
    let output = punctual().args(["check", "--pid", "2"]).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!is_kthreadd || output.status.code() == Some(2) && error.contains("thread of the kernel"), "{error}");
}
