//! Creates, builds and runs a project in Rust. Projects in C and C++ are tested in crates/realtime/capi, which has the
//! library that they need.

use punctual_starter::{Language, Project};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

#[test]
#[ignore = "live: root, cargo, timing"]
fn the_loop_in_rust_prints_its_statistics() {
    let begun = Instant::now();
    let scratch = tempfile::tempdir().unwrap();
    // The project must also build inside another workspace.
    std::fs::write(scratch.path().join("Cargo.toml"), "[workspace]\n").unwrap();
    let folder = scratch.path().join("my-loop");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rt").canonicalize().unwrap();
    let project = Project { name: "my-loop".to_owned(), language: Language::Rust, library: Some(library) };
    project.write(&folder).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--offline"]).current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target"));
    let built = cargo.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(folder.join("target/release/my-loop")).arg("2").output().unwrap();
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}{error}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("second 1: ") && lines[1].starts_with("second 2: "), "{text}");
    assert!(lines.last().unwrap().starts_with("2000 releases: "), "{text}");
    println!("{} s from nothing to its statistics", begun.elapsed().as_secs());
    let program = folder.join("target/release/my-loop");
    // `timeout` sends SIGTERM; the program ends in order, with its statistics.
    for arguments in [&[][..], &["86400", "0"]] {
        let output =
            Command::new("timeout").args(["--preserve-status", "3"]).arg(&program).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.starts_with("second 1: ") && text.contains(" releases: "), "{text}");
    }
    for arguments in [&["-5"][..], &["5s"], &["--help"], &["1", "x"], &["99999999999"], &["1", "0", "0"], &[""]] {
        let output = Command::new(&program).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(output.stderr, b"usage: my-loop [SECONDS [CPU]]\n", "{arguments:?}");
    }
}
