//! Tests `import`, and `report` on other tools' files: totals, exit codes, and that nothing is left behind.

use crate::common;
use common::{answer, punctual, run, shown};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/analysis/import/tests/fixtures").join(name)
}

#[test]
fn the_pi_4b_files_become_a_run_with_their_totals() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/run");
    let files = [sample("histogram_rtkernel_4.19.59-rt23-v7l+.csv"), sample("histogram_stdkernel_4.19.57-v7l+.csv")];
    let (code, text, err) =
        answer(punctual().arg("import").args(&files).arg("--out").arg(&out).arg("--json").output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
    let value: Value = serde_json::from_str(&text).unwrap();
    let phases = value["result"]["phases"].as_array().unwrap();
    let reported: Vec<_> = phases.iter().map(|p| (p["samples"].as_u64(), p["max_ns"].as_u64())).collect();
    assert_eq!(reported, [(Some(199_998_964), Some(93_000)), (Some(199_999_114), Some(301_000))]);
    let report = shown(&out);
    assert_eq!(
        (&report["result"]["run"]["kind"], &report["result"]["run"]["schema_version"]),
        (&"imported".into(), &"1.3".into())
    );
    let cpu = &report["result"]["phases"][0]["cpus"][0];
    assert!(cpu["skipped"].is_null() && cpu["tid"].is_null() && report["result"]["run"]["started"].is_null());
    // An existing directory is not overwritten.
    let (code, _, err) = answer(punctual().arg("import").args(&files).arg("--out").arg(&out).output().unwrap());
    assert!(code == 2 && err.contains("--out"), "{err}");
}

#[test]
fn report_reads_files_and_judges_what_they_tell() {
    let json = sample("ct-2.4.json");
    let verdict = |claim: &str| {
        let (code, out, err) =
            answer(punctual().arg("report").arg(&json).args(["--json", "-c", claim]).output().unwrap());
        assert_eq!((code, err.as_str()), (0, ""));
        serde_json::from_str::<Value>(&out).unwrap()["result"]["verdict"]["outcome"].clone()
    };
    assert_eq!((verdict("max < 30ms"), verdict("max < 20ms")), ("held".into(), "fail".into()));
    // 5 to 9 % of the samples lie between 60 µs and 25 ms.
    assert_eq!((verdict("p99 < 100us"), verdict("p50 < 60us")), ("inconclusive".into(), "held".into()));
    for format in ["text", "html", "csv"] {
        let (code, out, _) = answer(punctual().arg("report").arg(&json).args(["--format", format]).output().unwrap());
        assert!(code == 0 && !out.is_empty());
    }
    let queens = sample("rt_kernel_4B_multithread_output.csv");
    let (_, out, _) = answer(punctual().arg("report").arg(&queens).output().unwrap());
    assert!(out.starts_with("MEASURED") && out.contains("24.27"), "{out}");
}

#[test]
fn bad_files_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, out) = (folder.path().join("notes.txt"), folder.path().join("run"));
    std::fs::write(&bad, "nothing to see\n").unwrap();
    let name = |p: &Path| p.to_string_lossy().into_owned();
    for (file, word) in [
        (name(&bad), "complete output"),
        (name(&folder.path().join("none")), "cannot read"),
        (name(folder.path()), "directory"),
    ] {
        let (code, text, err) =
            run(&["import", &sample("ct-2.4.json").to_string_lossy(), &file, "--out", &name(&out), "--json"]);
        assert!(code == 2 && err.contains(word) && text.contains("\"error\""), "{code} {err}{text}");
        assert!(!out.exists() && std::fs::read_dir(folder.path()).unwrap().count() == 1);
    }
}

/// `--board` adds published latencies with their sources, for both kinds of kernel if the file does not say which it
/// was.
#[test]
fn the_board_told_has_what_was_published() {
    let file = sample("histogram_rtkernel_4.19.59-rt23-v7l+.csv");
    let (code, text, err) =
        answer(punctual().arg("report").arg(&file).args(["--board", "raspberry-pi-4b", "--full"]).output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
    // Lines are wrapped at arbitrary places for the terminal.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["93.0 µs: PREEMPT_RT", "301 µs: stock", "lemariva/rPI-Tests", "2019", "this run's kernel is unknown"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let reported = ["--board", "Raspberry Pi 4 Model B"];
    let (code, _, err) =
        answer(punctual().arg("import").arg(&file).args(reported).arg("--out").arg(&out).output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
    let published = &shown(&out)["result"]["published"];
    let kernels: Vec<&str> =
        published["entries"].as_array().unwrap().iter().filter_map(|e| e["kernel"].as_str()).collect();
    assert!(kernels.contains(&"PREEMPT_RT") && kernels.contains(&"stock"), "{published}");
    assert_eq!((&published["board"], &published["worst_ns"]), (&"raspberry-pi-4b".into(), &93_000.into()));
    let (code, _, err) = answer(punctual().arg("report").arg(&file).args(["--board", "raspberry"]).output().unwrap());
    assert!(code == 2 && err.contains("raspberry-pi-4b") && err.contains("punctual references --full"), "{err}");
}

/// The run was packed on a board, once as a directory and once as the contents of the directory.
#[test]
fn a_packed_run_is_unpacked_or_refused_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (run_here, text) = (at("run"), sample("ct-hist-stdout.txt"));
    let (code, _, err) = run(&["import", text.to_str().unwrap(), "--out", &run_here]);
    assert_eq!(code, 0, "{err}");
    let pack = |words: &[&str]| {
        let done = std::process::Command::new("tar").current_dir(folder.path()).args(words).status().unwrap();
        assert!(done.success());
    };
    pack(&["-czf", "folder.tar.gz", "run"]);
    pack(&["-C", "run", "-cf", "content.tar", "."]);
    for (archive, out) in [("folder.tar.gz", "a/one"), ("content.tar", "two")] {
        let (code, said, err) = run(&["import", &at(archive), "--out", &at(out)]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(said.contains("samples"), "{said}");
        let (here, there) = (shown(Path::new(&run_here)), shown(Path::new(&at(out))));
        assert_eq!(here["result"]["phases"], there["result"]["phases"]);
    }
    std::os::unix::fs::symlink("/etc/passwd", at("run/link")).unwrap();
    pack(&["-czf", "link.tar.gz", "run"]);
    pack(&["-czf", "other.tar.gz", "folder.tar.gz"]);
    for (archive, word) in [("link.tar.gz", "`run/link` is a link"), ("other.tar.gz", "no run directory")] {
        let (code, _, err) = run(&["import", &at(archive), "--out", &at("bad")]);
        assert!(code == 2 && err.contains(word), "{code} {err}");
    }
    let (code, _, err) = run(&["import", &at("folder.tar.gz"), "--out", &at("two")]);
    assert!(code == 2 && err.contains("not empty"), "{code} {err}");
    // No link was unpacked, and no partial directory is left.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 7);
}
