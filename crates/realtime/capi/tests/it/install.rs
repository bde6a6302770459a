//! Tests the installation steps of docs/c-interface.md in a temporary prefix: a program gets its flags from pkg-config,
//! is linked with the shared and with the static library, and runs.

use crate::archive;
use punctual_starter::{Language, Project};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{error}");
    out.into_owned()
}

/// Returns whether a program is installed. Prints a message if it is not.
fn is_there(name: &str, package: &str) -> bool {
    let there = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        println!("not tested: {name} does not run here (Debian: apt install {package})");
    }
    there
}

fn made_for_this_machine(compiler: &str) -> bool {
    let output = Command::new(compiler).arg("-dumpmachine").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(std::env::consts::ARCH))
}

/// Returns whether a shared library can be built: false, with a message, if all programs are static, or built for
/// another machine (`cargo xtask cross`).
fn is_shared() -> bool {
    let shared = !cfg!(target_feature = "crt-static") && made_for_this_machine("cc");
    if !shared {
        println!("not tested: the compiler of this machine makes no shared library of this archive");
    }
    shared
}

/// Installs the library into this folder, and returns the folder of the library files.
fn install(prefix: &Path) -> PathBuf {
    run(Command::new("sh").arg(folder().join("install.sh")).arg(archive()).arg(prefix));
    prefix.join("lib")
}

fn pkg_config(libraries: &Path, words: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    let text = run(command.args(words).arg("punctual-rt").env("PKG_CONFIG_PATH", libraries.join("pkgconfig")));
    text.split_whitespace().map(String::from).collect()
}

fn link(into: &Path, flags: &[String]) {
    let source = folder().join("examples/periodic.c");
    let mut command = Command::new("cc");
    run(command.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o"]).arg(into).arg(source).args(flags));
}

/// Runs the example and checks that released = ran + skipped + pending.
fn accounts(program: &Path, libraries: Option<&Path>) {
    let mut command = Command::new(program);
    command.args(["500", "100", "10"]).env_remove("LD_LIBRARY_PATH");
    if let Some(libraries) = libraries {
        command.env("LD_LIBRARY_PATH", libraries);
    }
    let text = run(&mut command);
    let numbers: Vec<u64> = text.lines().next().unwrap().split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] >= 100 && numbers[0] == numbers[1..4].iter().sum::<u64>(), "{text}");
}

/// Checks that the loader refuses a library that lacks the symbol version with which the program was linked.
fn needs_the_version(program: &Path, libraries: &Path) {
    let library = libraries.join("libpunctual_rt_c.so.0");
    let version = concat!("PUNCTUAL_RT_", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    let whole = fs::read(&library).unwrap();
    let mut changed = whole.clone();
    let at = whole.windows(version.len()).position(|bytes| bytes == version.as_bytes()).unwrap();
    changed[at] = b'X';
    fs::write(&library, changed).unwrap();
    let output = Command::new(program).env("LD_LIBRARY_PATH", libraries).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(version), "{said}");
    fs::write(&library, whole).unwrap();
}

#[test]
#[ignore = "live: root, pkg-config"]
fn an_installed_library_is_linked_with_what_pkg_config_says() {
    if !(is_shared() && is_there("pkg-config", "pkg-config") && is_there("cc", "gcc libc6-dev")) {
        return;
    }
    let prefix = tempfile::tempdir().unwrap();
    let libraries = install(prefix.path());
    assert_eq!(pkg_config(&libraries, &["--modversion"]), [env!("CARGO_PKG_VERSION")]);

    let shared = prefix.path().join("shared");
    link(&shared, &pkg_config(&libraries, &["--cflags", "--libs"]));
    let missing = Command::new(&shared).env_remove("LD_LIBRARY_PATH").output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(
        !missing.status.success() && said.contains("libpunctual_rt_c.so.0"),
        "it is not the shared library: {said}"
    );
    accounts(&shared, Some(&libraries));
    needs_the_version(&shared, &libraries);

    let whole = prefix.path().join("static");
    let archive = |word: String| if word == "-lpunctual_rt_c" { "-l:libpunctual_rt_c.a".into() } else { word };
    let flags = pkg_config(&libraries, &["--cflags", "--libs", "--static"]);
    link(&whole, &flags.into_iter().map(archive).collect::<Vec<_>>());
    accounts(&whole, None);
}

/// `punctual new --lang c` and `cpp` create projects that can be built and print their statistics.
#[test]
#[ignore = "live: root, g++, pkg-config, timing"]
fn a_new_project_is_built_and_prints_its_statistics() {
    let prefix = tempfile::tempdir().unwrap();
    let libraries = install(prefix.path());
    for language in [Language::C, Language::Cpp] {
        let begun = Instant::now();
        let project = prefix.path().join(format!("{language:?}"));
        Project { name: "my-loop".into(), language, library: None }.write(&project).unwrap();
        run(Command::new("sh").arg(project.join("build.sh")).env("PKG_CONFIG_PATH", libraries.join("pkgconfig")));
        let program = project.join("my-loop");
        let text = run(Command::new(&program).arg("2").env_remove("LD_LIBRARY_PATH"));
        println!("{language:?}: {} s from nothing to its statistics", begun.elapsed().as_secs());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("second 1: ") && lines[1].starts_with("second 2: "), "{text}");
        let steps = |line: &str| line.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
        let last = lines.last().unwrap();
        assert!(last.starts_with("2000 releases: "), "{text}");
        let ran = last.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
        assert_eq!(lines[..2].iter().map(|line| steps(line)).sum::<u64>(), ran, "{text}");
        the_program_ends_at_any_time(&program);
    }
}

/// Checks that the program prints a line each second, with or without a number of seconds as its argument, ends on a
/// signal, and rejects invalid arguments.
fn the_program_ends_at_any_time(program: &Path) {
    for arguments in [&[][..], &["60"], &["86400", "0"]] {
        let begun = Instant::now();
        let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut first, mut rest) = (String::new(), String::new());
        output.read_line(&mut first).unwrap();
        assert!(first.starts_with("second 1: ") && first.ends_with("; 0 samples dropped so far\n"), "{first}");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        output.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success() && rest.contains(" releases: "), "{arguments:?}: {rest}");
        assert!(begun.elapsed().as_secs() < 50, "{arguments:?}");
    }
    // Under nohup, a hang-up must not end the program.
    let mut child = Command::new("nohup").arg(program).arg("60").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (begin, signal) in [("second 1: ", Signal::HUP), ("second 2: ", Signal::TERM)] {
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with(begin), "{line}");
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    assert!(lines.any(|line| line.unwrap().contains(" releases: ")) && child.wait().unwrap().success());
    for arguments in [&["-5"][..], &["5s"], &["--help"], &["1", "x"], &["99999999999"], &["1", "0", "0"], &[""]] {
        let output = Command::new(program).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(output.stderr, b"usage: my-loop [SECONDS [CPU]]\n", "{arguments:?}");
    }
}

/// The shared library exports each function of the header with the version that added it, and nothing else.
#[test]
fn the_shared_library_has_the_functions_of_the_map_and_no_other() {
    if !(is_shared() && is_there("nm", "binutils")) {
        return;
    }
    let prefix = tempfile::tempdir().unwrap();
    let library = install(prefix.path()).join("libpunctual_rt_c.so");
    let symbols = run(Command::new("nm").args(["-D", "--defined-only", "--with-symbol-versions"]).arg(library));
    let mut exported: Vec<String> = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        // The symbol of the version itself.
        .filter(|name| !name.starts_with("PUNCTUAL_RT_"))
        .map(str::to_owned)
        .collect();
    exported.sort();
    assert_eq!(exported, mapped());
}

/// Returns `NAME@@VERSION` for each function in the linker's map.
fn mapped() -> Vec<String> {
    let text = fs::read_to_string(folder().join("punctual_rt.map")).unwrap();
    let (mut version, mut names) = ("", Vec::new());
    for line in text.lines() {
        match (line.strip_suffix(" {"), line.strip_prefix("    ").and_then(|line| line.strip_suffix(';'))) {
            (Some(node), _) => version = node,
            (_, Some(name)) => names.push(format!("{name}@@{version}")),
            _ => {}
        }
    }
    names.sort();
    names
}
