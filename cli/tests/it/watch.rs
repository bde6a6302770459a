//! Tests `watch`: its files, its end by signals and by kill -9, and its continuation.

use crate::common;
use common::{answer, punctual, run};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Serializes the tests: each measures all CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(out: &Path, more: &[&str]) -> Command {
    let mut command = punctual();
    command.args(["watch", "--block", "1s", "--trace", "never", "--out"]).arg(out).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn state(out: &Path) -> Value {
    serde_json::from_slice(&fs::read(out.join("watch.json")).unwrap_or_default()).unwrap_or_default()
}

/// Returns the document of `watch --status`, after checking it against its schema.
fn status(out: &Path) -> Value {
    let (_, shown, err) = run(&["watch", "--status", out.to_str().unwrap(), "--json"]);
    let shown = serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {shown}{err}"));
    punctual_testing::schema::holds(&shown);
    shown
}

/// Waits until a condition on the watch's files is true.
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(90), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn released(out: &Path) -> u64 {
    state(out)["cpus"][0]["released"].as_u64().unwrap_or(0)
}

fn lines(out: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(out.join("series.jsonl")).unwrap_or_default();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["line"] == kind).collect()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
#[ignore = "live: timing"]
fn a_planned_watch_leaves_whole_run_directories_and_a_series() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let (out, textfile) = (place.path().join("w"), place.path().join("punctual.prom"));
    let done = watch(&out, &["--segment", "2s", "--duration", "7s", "--keep", "2", "--textfile"])
        .arg(&textfile)
        .output()
        .unwrap();
    let (code, text, err) = answer(done);
    assert_eq!(code, 0, "{text}{err}");
    assert!(text.contains("ended as planned") && text.contains("CPU"), "{text}");
    assert!(err.contains("punctual: measures CPUs ") && err.contains("for 7.00 s: a "), "{err}");
    assert!(err.contains(&format!("To see it: punctual watch --attach {}; to stop it", out.display())), "{err}");
    let shown = status(&out);
    let segments = shown["result"]["segments"].as_array().unwrap();
    assert!(!segments.is_empty() && segments.len() <= 2 && shown["result"]["damage"].as_array().unwrap().is_empty());
    for segment in segments {
        let run = common::shown(&out.join(segment.as_str().unwrap()));
        let cpu = &run["result"]["phases"][0]["cpus"][0];
        assert!(cpu["ran"].as_u64() > Some(20), "{run}");
    }
    let ever = state(&out)["cpus"][0]["ever"]["latency_ns"].as_u64().unwrap();
    let blocks = lines(&out, "block");
    assert!(blocks.len() >= 2 && blocks.iter().all(|b| b["max_ns"][0][1].as_u64() <= Some(ever)), "{blocks:?}");
    let prom = fs::read_to_string(&textfile).unwrap();
    assert!(
        prom.contains("punctual_watch_wakeup_latency_seconds_bucket{cpu=\"") && prom.contains("since=\"ever\""),
        "{prom}"
    );
    assert_eq!(fs::metadata(&textfile).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
#[ignore = "live: timing"]
fn a_signal_ends_it_within_a_second_and_what_was_measured_is_whole() {
    let _alone = alone();
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1), (Signal::INT, 2)] {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("w");
        let child = watch(&out, &["--segment", "1h"]).spawn().unwrap();
        until("something is measured", || released(&out) > 50);
        let begun = Instant::now();
        send(&child, signal);
        let (code, text, err) = answer(child.wait_with_output().unwrap());
        // The documented figure is one second; a machine loaded by tests may take longer.
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(code, 128 + number, "{text}{err}");
        let shown = status(&out);
        let run = common::shown(&out.join(shown["result"]["segments"][0].as_str().unwrap()));
        let cpu = &run["result"]["phases"][0]["cpus"][0];
        assert_eq!(cpu["released"].as_u64().unwrap(), cpu["ran"].as_u64().unwrap() + cpu["skipped"].as_u64().unwrap());
        assert_eq!(cpu["released"], state(&out)["cpus"][0]["released"]);
    }
}

#[test]
#[ignore = "live: timing"]
fn a_killed_watch_is_continued_and_the_gap_is_reported() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("w");
    let mut child = watch(&out, &["--segment", "1h"]).spawn().unwrap();
    until("something is measured", || released(&out) > 100);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = released(&out);
    let (code, text, _) = run(&["watch", "--status", out.to_str().unwrap()]);
    assert!(code == 0 && text.contains("killed after"), "{text}");
    let (code, text, err) = answer(watch(&out, &["--duration", "4s", "--json"]).output().unwrap());
    assert_eq!(code, 0, "{text}{err}");
    let shown: Value = serde_json::from_str(&text).unwrap();
    punctual_testing::schema::holds(&shown);
    let kinds: Vec<&str> =
        shown["result"]["lines"].as_array().unwrap().iter().filter_map(|l| l["line"].as_str()).collect();
    assert!(kinds.contains(&"gap") && !kinds.contains(&"block"), "{kinds:?}");
    assert!(err.contains("continuing an earlier series (killed)"), "{err}");
    let gaps = lines(&out, "gap");
    assert!(gaps.len() == 1 && gaps[0]["why"] == "killed", "{gaps:?}");
    assert!(released(&out) > before + 200, "{before} {}", released(&out));
}

#[test]
#[ignore = "live: timing"]
fn two_watches_cannot_share_a_folder() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("w");
    let mut child = watch(&out, &[]).spawn().unwrap();
    until("it runs", || out.join("watch.json").exists());
    assert_eq!(status(&out)["result"]["running"], true);
    let (code, _, err) = answer(watch(&out, &["--duration", "1s"]).output().unwrap());
    assert!(code == 4 && err.contains(&format!("pid {}", child.id())) && err.contains("--out"), "{code} {err}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
#[ignore = "live: root, timing"]
fn a_full_disk_is_said_measuring_goes_on_and_it_is_written_when_there_is_room() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "none"]).arg(place.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("not tested: mounting a small tmpfs needs root");
        return;
    }
    let out = place.path().join("w");
    let child = watch(&out, &["--segment", "1h"]).spawn().unwrap();
    until("something is measured", || released(&out) > 50);
    let filler = place.path().join("filler");
    let _full = fs::write(&filler, vec![0u8; 4 << 20]);
    let before = released(&out);
    std::thread::sleep(Duration::from_secs(5));
    fs::remove_file(&filler).unwrap();
    until("it is written again", || released(&out) > before + 300);
    until("it is said", || !lines(&out, "note").is_empty());
    send(&child, Signal::TERM);
    let (code, _, err) = answer(child.wait_with_output().unwrap());
    let notes = lines(&out, "note");
    let unmounted = Command::new("umount").arg("-l").arg(place.path()).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(code, 128 + 15, "{err}");
    assert!(err.contains("measuring continues") && err.contains("could not be written"), "{err}");
    assert!(notes.iter().any(|note| note["text"].as_str().unwrap().contains("written again")), "{notes:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (more, says) in [
        (["--segment", "100ms"], "shorter than a block"),
        (["--interval", "1us"], "not supported by watch"),
        (["--keep", "0"], "neither a number"),
        (["--textfile-every", "1s"], "use that or more"),
        (["--disk-per-day", "0"], "is not a size"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("w");
        let (code, _, err) = answer(watch(&out, &[]).args(more).output().unwrap());
        assert!(code == 2 && err.contains(says), "{more:?}: {code} {err}");
        assert!(!out.exists());
    }
    let (code, out, err) = run(&["watch", "--status", "/nowhere", "--json"]);
    assert!(code == 2 && err.contains("no watch.json"), "{err}");
    let refused: Value = serde_json::from_str(&out).unwrap();
    punctual_testing::schema::holds(&refused);
    assert!(refused["result"]["error"].as_str().is_some_and(|why| why.contains("no watch.json")), "{refused}");
}

/// A measurement continues if standard error is on a full disk, or on a terminal that was closed.
#[test]
#[ignore = "live: timing"]
fn a_watch_whose_standard_error_cannot_be_written_ends_as_planned() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return eprintln!("not tested: no /dev/full");
    };
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("w");
    let textfile = place.path().join("not/there.prom");
    let mut command = watch(&out, &["--duration", "1s", "--textfile"]);
    let (code, text, _) = answer(command.arg(&textfile).stderr(full).output().unwrap());
    // A panic would abort (-1: a signal) before anything is written about the series.
    assert!(matches!(code, 0 | 4), "{code}: {text}");
    assert!(text.contains("files can be written again") || text.contains("could not be written"), "{text}");
}

#[test]
fn claims_of_a_watch_break_in_one_cycle() {
    for (words, said) in [
        (&["watch", "--claim", "late(control) = 0"][..], "--app"),
        (&["watch", "--keep", "20ms"], "name it with --app"),
        (&["watch", "--keep", "20x", "--app", "true"], "20ms"),
        (&["watch", "--thread", "control"], "--app"),
    ] {
        let (code, _, errors) = run(words);
        assert!(code == 2 && errors.contains(said), "{words:?}: {code} {errors}");
    }
}

/// A thread with a period of 5 ms; one cycle in 200 works for 12 ms.
const LATE: &str = r#"
import ctypes, os, time
libc = ctypes.CDLL(None)
class Spec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))
place = "/sys/kernel/tracing/trace_marker"
mark = os.open(place, os.O_WRONLY) if os.path.exists(place) else -1
due, n = time.monotonic_ns(), 0
while True:
    due += 5_000_000
    spec = Spec(due // 10**9, due % 10**9)
    libc.clock_nanosleep(1, 1, ctypes.byref(spec), None)
    n += 1
    if n % 600 == 0:
        end = time.monotonic_ns() + 12_000_000
        while time.monotonic_ns() < end:
            pass
        due = time.monotonic_ns() // 5_000_000 * 5_000_000
    if n % 600 == 300 and mark >= 0:
        os.write(mark, b"punctual: late by_itself\n")
"#;

#[test]
#[ignore = "live: root, tracefs, python3, timing"]
fn the_events_before_a_late_application_are_kept_and_explained() {
    let _alone = alone();
    let place = tempfile::tempdir().unwrap();
    let (out, program) = (place.path().join("w"), place.path().join("late.py"));
    fs::write(&program, LATE).unwrap();
    let app = format!("exec python3 {}", program.display());
    let child = watch(&out, &["--keep", "20ms", "--duration", "3min", "--app", &app]).spawn().unwrap();
    let late = |by: &str| -> Vec<Value> {
        let of = |line: &Value| line["late"]["by"] == by && line["verdict"].is_string();
        lines(&out, "late").into_iter().filter(of).collect()
    };
    let claimed = |line: &Value| line["late"]["value_ns"].as_u64() > Some(11_500_000);
    until("a claim breaks", || late("claim").iter().any(claimed));
    let has_marker = Path::new("/sys/kernel/tracing/trace_marker").exists();
    if has_marker && state(&out)["application"]["no_marks"].is_null() {
        until("the program says that it is late", || !late("program").is_empty());
        assert_eq!(late("program")[0]["late"]["name"], "by_itself");
    }
    send(&child, Signal::USR1);
    until("a signal says so", || !late("signal").is_empty());
    let line = late("claim").into_iter().find(claimed).unwrap();
    let verdict = line["verdict"].as_str().unwrap();
    assert!(verdict.contains("cycle of 1") && verdict.contains("ran "), "{verdict}");
    let shown = status(&out);
    let app = &shown["result"]["watch"]["application"];
    assert!(app["cycles"][0]["cycles"].as_u64() > Some(100) && app["is_proposed"] == true, "{app}");
    let of = |line: &&Value| line["late"]["by"] == "claim" && line["trace"].is_string();
    let kept = shown["result"]["lines"].as_array().unwrap().iter().find(of).unwrap();
    let segment = out.join(kept["segment"].as_str().unwrap());
    let trace = segment.join(kept["trace"].as_str().unwrap());
    let note: Value = serde_json::from_slice(&fs::read(trace.with_extension("json")).unwrap()).unwrap();
    let (from, to) = (note["from_mono_ns"].as_u64().unwrap(), note["to_mono_ns"].as_u64().unwrap());
    assert!((20_000_000..40_000_000).contains(&(to - from)) && note["overwritten"] == serde_json::json!([]), "{note}");
    let (code, explained, errors) = crate::common::run(&["explain", trace.to_str().unwrap()]);
    assert!(code == 0 && explained.contains("late(python3) = 0: "), "{explained}{errors}");
    let (_, text, _) = run(&["watch", "--status", out.to_str().unwrap()]);
    assert!(
        text.contains("late(python3) = 0: ") && text.contains("a signal said it is late: 1 moment from "),
        "{text}"
    );
    send(&child, Signal::TERM);
    let (code, text, err) = answer(child.wait_with_output().unwrap());
    assert!(code == 143 && text.contains("Application:") && err.contains("watches the cycles of"), "{text}{err}");
    // The run of an application can be read as well.
    common::shown(&segment);
}

/// What is late while the disk is full is explained, counted, and shown at the end.
#[test]
#[ignore = "live: root, tracefs, python3, timing"]
fn windows_that_a_full_disk_refuses_are_counted_and_their_moments_explained() {
    let _alone = alone();
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "none"]).arg(place.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return eprintln!("not tested: mounting a small tmpfs needs root");
    }
    let (out, program) = (place.path().join("w"), other.path().join("late.py"));
    let textfile = other.path().join("watch.prom");
    fs::write(&program, LATE).unwrap();
    let app = format!("exec python3 {}", program.display());
    let words = ["--keep", "20ms", "--duration", "3min", "--textfile", textfile.to_str().unwrap(), "--app", &app];
    let child = watch(&out, &words).spawn().unwrap();
    until("something is measured", || state(&out)["application"]["cycles"][0]["cycles"].as_u64() > Some(10));
    let _full = fs::write(place.path().join("filler"), vec![0u8; 8 << 20]);
    // A cycle is late every 3 s. A signal is a moment of its own, whatever else happens.
    std::thread::sleep(Duration::from_secs(7));
    send(&child, Signal::USR1);
    std::thread::sleep(Duration::from_secs(1));
    send(&child, Signal::TERM);
    let (code, text, err) = answer(child.wait_with_output().unwrap());
    let unmounted = Command::new("umount").arg("-l").arg(place.path()).status().unwrap();
    assert!(unmounted.success() && code == 143, "{code} {text}{err}");
    assert!(text.contains("could not be saved (a full disk, or files that were removed)"), "{text}{err}");
    assert!(text.contains("a signal said it is late: CPU") && text.contains("could not be written"), "{text}{err}");
    let metrics = fs::read_to_string(&textfile).unwrap();
    let metric = "punctual_watch_application_windows_unsaved_total ";
    let unsaved = metrics.lines().find_map(|line| line.strip_prefix(metric)?.parse::<u64>().ok());
    assert!(unsaved >= Some(1), "{metrics}");
}
