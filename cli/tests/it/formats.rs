//! `report --format`: every format of every kind of run, exit codes, and files that are replaced or refused.

use crate::common;
use common::{answer, punctual, run};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/import/tests/fixtures").join(name)
}

const OF_EVERY_RUN: [&str; 11] =
    ["html", "text", "json", "csv", "junit", "tap", "lava", "kcidb", "squad-tests", "squad-metrics", "bencher"];

/// Exit code, standard output and error of `report RUN --format FORMAT …`.
fn report(run: &Path, format: &str, more: &[&str]) -> (i32, String, String) {
    answer(punctual().arg("report").arg(run).args(["--format", format]).args(more).output().unwrap())
}

#[test]
#[ignore = "live: timing"]
fn a_measured_run_is_written_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, _, err) = run(&[
        "measure",
        "-D",
        "300ms",
        "-a",
        "0",
        "--no-context",
        "-c",
        "max < 10s",
        "--out",
        out.to_str().unwrap(),
        "-q",
    ]);
    assert!(code == 0 || code == 3, "{code} {err}");
    for format in OF_EVERY_RUN.iter().chain(&["cyclictest", "cyclictest-json", "rt-tests", "prometheus", "squad"]) {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 0 && !text.is_empty() && err.is_empty(), "{format}: {code} {err}");
    }
    for (format, says) in [("sarif", "punctual audit --format sarif"), ("perfetto", "--trace always")] {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 2 && text.is_empty() && err.contains(says), "{format}: {code} {err}");
    }
    let (code, _, err) = report(&out, "cyclictest", &["--load", "none"]);
    assert!(code == 2 && err.contains("load `none`"), "{err}");
}

#[test]
fn another_tools_file_is_written_where_it_tells_enough() {
    let file = sample("ct-2.4.json");
    for format in OF_EVERY_RUN.iter().chain(&["cyclictest", "cyclictest-json", "prometheus"]) {
        let (code, text, err) = report(&file, format, &["-c", "max < 20ms"]);
        assert!(code == 0 && !text.is_empty(), "{format}: {code} {err}");
    }
    let (_, junit, _) = report(&file, "junit", &["-c", "max < 20ms"]);
    assert!(junit.contains("<failure"), "{junit}");
    let (code, _, err) = report(&file, "perfetto", &[]);
    assert!(code == 2 && err.contains("punctual explain FILE --perfetto OUT"), "{err}");
}

#[test]
fn what_a_file_does_not_tell_is_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    let text = "T: 0 ( 1201) P:99 I:1000 C: 100000 Min:      5 Act:   10 Avg:   40 Max:     900\n";
    std::fs::write(&file, text).unwrap();
    for format in ["csv", "lava", "squad-metrics", "bencher", "prometheus", "cyclictest", "cyclictest-json", "junit"] {
        let (code, text, err) = report(&file, format, &[]);
        assert!(code == 0 && !text.contains("p99") && !text.contains("Overflow"), "{format}: {code} {text}");
        assert!(err.contains("not known: of 100,000 samples the file has only number, smallest"), "{format}: {err}");
    }
}

#[test]
fn a_collectors_file_is_replaced_and_every_other_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample("ct-2.4.json");
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for _ in 0..2 {
        assert_eq!(report(&file, "prometheus", &["--out", &out("x.prom")]).0, 0);
    }
    assert!(std::fs::read_to_string(out("x.prom")).unwrap().contains("punctual_wakeup_latency_seconds_bucket"));
    assert_eq!(report(&file, "junit", &["--out", &out("x.xml")]).0, 0);
    let (code, _, err) = report(&file, "junit", &["--out", &out("x.xml")]);
    assert!(code == 4 && err.contains("exists"), "{err}");
    std::os::unix::fs::symlink(out("elsewhere"), out("link.xml")).unwrap();
    assert_eq!(report(&file, "junit", &["--out", &out("link.xml")]).0, 4, "a planted link is not followed");
    assert!(!Path::new(&out("elsewhere")).exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing half-written stays");
}

#[test]
fn an_event_suite_is_cases_too_and_what_it_is_not_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let (code, _, err) = run(&["events", "--backend", "mock", "-D", "1s", "--out", out.to_str().unwrap(), "-q"]);
    assert!([0, 1, 3].contains(&code), "{code} {err}");
    for format in OF_EVERY_RUN.iter().filter(|f| **f != "kcidb") {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 0 && !text.is_empty(), "{format}: {code} {err}");
    }
    for format in ["prometheus", "cyclictest", "sarif", "perfetto"] {
        let (code, text, err) = report(&out, format, &[]);
        assert!(code == 2 && text.is_empty() && err.contains("an event suite"), "{format}: {code} {err}");
    }
}
