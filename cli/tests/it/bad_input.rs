//! Tests that bad input causes a clear error with a remedy and the documented exit code, and leaves nothing behind.

use crate::common;
use common::{answer, punctual, run};
use std::fs;

#[test]
fn impossible_options_are_refused_with_the_fix() {
    let cases: &[(&[&str], &str)] = &[
        (&["measure", "-D", "10"], "500us"),
        (&["measure", "-D", "1x"], "unknown unit"),
        (&["measure", "-D", "-5s"], "--help"),
        (&["measure", "-D", "900000000h"], "292 years"),
        (&["measure", "-D", "100us"], "measure longer"),
        (&["measure", "-D", "400d"], "typing error"),
        (&["measure", "-i", "1us"], "--period"),
        (&["measure", "-i", "2h", "-D", "9h"], "--period"),
        (&["measure", "-a", "4095"], "--cpus"),
        (&["measure", "-a", "3-1"], "a range ends before it begins"),
        (&["measure", "-p", "0"], "1 to 99"),
        (&["measure", "-p", "100"], "1 to 99"),
        (&["measure", "-p", "50", "--policy", "other"], "--policy fifo"),
        (&["measure", "--policy", "turbo"], "deadline"),
        (&["measure", "-l", "coffee"], "loopback"),
        (&["measure", "-l", "network"], "--peer"),
        (&["measure", "-l", "cmd:"], "cmd:"),
        (&["measure", "-c", "max < 100"], "max < 100us"),
        (&["measure", "-c", "mean < 1us"], "max < 100us"),
        (&["measure", "--worst", "0"], "1..=128"),
        (&["measure", "--cpu-dma-latency", "low"], "invalid value"),
        (&["prove", "--no-such-option"], "--help"),
        (&["report", "/nonexistent"], "run directory"),
    ];
    let place = tempfile::tempdir().unwrap();
    for (args, expected) in cases {
        let (code, out, err) = answer(punctual().args(*args).current_dir(&place).output().unwrap());
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?} does not say `{expected}`: {err}");
        assert!(out.is_empty(), "{args:?}: {out}");
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "something was left behind");
}

#[test]
fn a_folder_in_use_is_not_touched() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("precious"), "x").unwrap();
    let out = place.path().to_str().unwrap();
    let (code, _, err) = run(&["measure", "-D", "100ms", "--out", out]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("not empty") && err.contains("--out"), "{err}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_the_environments_fault() {
    let (code, out, err) = run(&["measure", "-D", "100ms", "--json", "--out", "/dev/null/punctual"]);
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("/dev/null/punctual"), "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["exit_code"], 4);
}

#[test]
fn help_and_version_are_no_errors() {
    for args in [&["--help"][..], &["prove", "--help"], &["--version"]] {
        let (code, out, _) = run(args);
        assert_eq!(code, 0);
        assert!(out.contains("punctual"));
    }
}

/// Tests a file system that is full from the start, and one that fills up during the measurement.
#[test]
#[ignore = "live: root, timing"]
fn a_full_disk_is_said_and_the_summary_still_printed() {
    let place = tempfile::tempdir().unwrap();
    let mount = |size: &str| {
        let options = format!("size={size}");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(place.path())
            .output()
            .is_ok_and(|o| o.status.success());
        if !mounted {
            eprintln!("not tested: mounting a small tmpfs needs root");
        }
        mounted
    };
    let out = place.path().join("run");
    let out = out.to_str().unwrap();
    if !mount("64k") {
        return;
    }
    let (code, _, err) = run(&["measure", "-D", "100ms", "--out", out]);
    let unmount = || std::process::Command::new("umount").arg(place.path()).status().unwrap();
    unmount();
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("--out"), "{err}");

    assert!(mount("3m"));
    let filler = place.path().join("filler");
    let begun = std::path::Path::new(out).join("run.json");
    let thread = std::thread::spawn(move || {
        for _ in 0..600 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            if begun.exists() {
                break;
            }
        }
        // Fills the disk.
        while fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(&filler)
            .and_then(|mut f| std::io::Write::write_all(&mut f, &[0; 1 << 16]))
            .is_ok()
        {}
    });
    let (code, text, err) = run(&["measure", "-D", "1500ms", "--out", out]);
    thread.join().unwrap();
    let kept = common::shown(std::path::Path::new(out));
    unmount();
    // A checkpoint failed, which is reported; the reserve still lets all results be kept.
    assert_eq!(code, 4, "{err}");
    assert!(err.contains("free some space"), "{err}");
    assert!(text.contains("idle"), "{text}");
    assert_eq!(kept["result"]["run"]["complete"], true, "{kept}");
}
