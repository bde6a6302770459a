//! Builds and runs the program in docs/guide/commands-by-example.md.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Returns the first code block in this language below a heading.
fn block(heading: &str, language: &str) -> String {
    let text = fs::read_to_string(root().join("docs/guide/commands-by-example.md")).unwrap();
    let below = text.split_once(&format!("## {heading}\n")).expect("the heading").1;
    let from = below.split_once(&format!("```{language}\n")).expect("the block").1;
    from.split_once("```").expect("its end").0.into()
}

#[test]
fn the_documented_program_is_the_compiled_example() {
    let example = fs::read_to_string(root().join("crates/realtime/rt/examples/control.rs")).unwrap();
    assert_eq!(block("The library", "rust"), example);
}

#[test]
#[ignore = "live: cargo"]
fn it_compiles_and_runs_in_a_fresh_project() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("control");
    let cargo = |arguments: &[&str], from: &Path| {
        let mut command = std::process::Command::new(env!("CARGO"));
        command.args(arguments).current_dir(from).env("CARGO_TARGET_DIR", project.join("target"));
        let out = command.output().unwrap();
        assert!(out.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&out.stderr));
    };
    cargo(&["new", "control"], folder.path());
    let path = root().canonicalize().unwrap();
    let dependency = block("The library", "toml").replace("/path/to/punctual", path.to_str().unwrap());
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    fs::write(project.join("Cargo.toml"), manifest.replace("[dependencies]\n", &dependency)).unwrap();
    fs::write(project.join("src/main.rs"), block("The library", "rust")).unwrap();
    // Uses the same versions as here, already downloaded.
    fs::copy(path.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    cargo(&["build", "--offline"], &project);
    let mut running = std::process::Command::new(project.join("target/debug/control"));
    let running = running.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = rustix::process::Pid::from_child(&running);
    let ended = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    let out = running.wait_with_output().unwrap();
    let (printed, warned) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    println!("{printed}\n{warned}");
    // Without the privilege the program reports what is missing in a sentence.
    if out.status.success() {
        assert!(ended.is_ok() && printed.starts_with("control, every 1.00 ms: "), "{printed}");
        assert!(printed.lines().count() <= 5, "{printed}");
    } else {
        assert!(warned.contains("Error: this machine is not ready for real time"), "{warned}");
    }
}
