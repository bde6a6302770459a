//! Tests `references`, `references check` and `snapshot --contribute` on the command line.

use crate::common;

use common::run;
use punctual_model::{Distribution, Recording};
use punctual_testing::schema::holds;
use punctual_units::CpuId;
use std::fs;
use std::path::Path;

/// Writes the measurements of a recording as a run directory.
fn write(folder: &Path, recording: &Recording) {
    let mut run = recording.run.clone();
    let phases = std::mem::take(&mut run.phases);
    let mut writer = punctual_rundir::Writer::create(folder, run, false).unwrap();
    for phase in phases {
        let of = |cpu| (cpu, recording.distribution(&phase.id, cpu).unwrap().clone());
        let kept: Vec<(CpuId, Distribution)> = phase.cpus.iter().map(|result| of(result.cpu)).collect();
        writer.phase_done(phase, &kept, Vec::new()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn boards_are_listed_and_shown_and_unknown_ones_suggested() {
    let (code, out, _) = run(&["references"]);
    assert!(code == 0 && out.lines().count() <= 22 && out.contains("raspberry-pi-4b"), "{out}");
    let (code, out, _) = run(&["references", "Raspberry Pi 4 Model B Rev 1.4"]);
    assert!(code == 0 && out.contains("[1] lemariva") && out.contains('•'), "{out}");
    let (code, _, err) = run(&["references", "raspberry pi 4"]);
    assert!(code == 2 && err.contains("similar: raspberry-pi-4b"), "{err}");
    let (_, _, err) = run(&["references", "Pi4"]);
    assert!(err.contains("similar: raspberry-pi-4b;"), "{err}");
    for args in [&["references", "--json"][..], &["references", "hikey", "--json"], &["references", "none", "--json"]] {
        let (_, out, _) = run(args);
        holds(&serde_json::from_str(&out).unwrap());
    }
}

#[test]
fn a_file_is_checked_with_lines_and_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.toml");
    let file = path.to_str().unwrap();
    fs::write(&path, "key = \"b\"\nname = \"B\"\n\n[[published]]\nflavor = \"stock\"\nworst_us = 10\n").unwrap();
    let (code, out, _) = run(&["references", "check", file]);
    assert!(code == 2 && out.contains(":5: error: `flavor` is not a known field"), "{out}");
    assert!(out.contains(":4: error: `flavour` is missing") && out.contains("not usable; errors: 4"), "{out}");
    let (code, out, _) = run(&["references", "check", file, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    holds(&document);
    assert!(code == 2 && document["result"]["problems"][0]["line"] == 4, "{document}");
    for (bytes, why) in [(&b"\xff"[..], "not UTF-8"), (&[b'#'; (1 << 20) + 1], "larger than")] {
        fs::write(&path, bytes).unwrap();
        let (code, _, err) = run(&["references", "check", file]);
        assert!(code == 2 && err.contains(why), "{err}");
    }
    assert_eq!(run(&["references", "check", "/nonexistent.toml"]).0, 2);
}

/// A recorded run becomes a file that `references check` accepts; an existing file is not replaced; other runs are
/// refused.
#[test]
fn a_run_is_contributed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (recording, _) = punctual_testing::runs::good();
    write(&folder.path().join("run"), &recording);
    let contribute = format!("--contribute={}", path("run"));
    let (code, out, err) = run(&["snapshot", &path("board.toml"), &contribute]);
    assert!(code == 0 && out.contains("nothing was sent") && out.contains("host name"), "{out}{err}");
    let (code, out, _) = run(&["references", "check", &path("board.toml")]);
    assert!(code == 0 && out.contains("`url` is not stated"), "{out}");
    let before = fs::read(path("board.toml")).unwrap();
    let (code, _, err) = run(&["snapshot", &path("board.toml"), &contribute]);
    assert!(code == 2 && err.contains("exists; name a new file"), "{err}");
    assert_eq!(fs::read(path("board.toml")).unwrap(), before);
    let (code, out, _) = run(&["snapshot", &path("second.toml"), &contribute, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    holds(&document);
    assert!(code == 0 && document["result"]["measurements"] == recording.run.phases.len(), "{document}");

    let sample = "../crates/analysis/import/tests/fixtures/ct-hist-stdout.txt";
    assert_eq!(run(&["import", sample, "--out", &path("imported")]).0, 0);
    let (code, _, err) = run(&["snapshot", &path("third.toml"), &format!("--contribute={}", path("imported"))]);
    assert!(code == 2 && err.contains("only wakeups by a timer that punctual measured"), "{err}");
    assert!(!fs::exists(path("third.toml")).unwrap());
}

/// The device tree names the board, and one line of the output has the command that shows what others measured on it.
#[test]
fn the_audit_names_the_command_about_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("proc/device-tree");
    fs::create_dir_all(&tree).unwrap();
    for (model, is_known) in [("Raspberry Pi 4 Model B Rev 1.4", true), ("Raspberry Pi 400 Rev 1.0", false)] {
        fs::write(tree.join("model"), format!("{model}\0")).unwrap();
        let (_, out, _) = run(&["audit", "--root", folder.path().to_str().unwrap()]);
        let named: Vec<&str> = out.lines().filter(|line| line.contains("punctual references ")).collect();
        assert_eq!(named.len(), usize::from(is_known), "{model}: {named:?}");
        assert!(!is_known || named[0].ends_with(": punctual references raspberry-pi-4b"), "{named:?}");
    }
}
