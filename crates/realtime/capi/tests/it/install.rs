//! The installation steps of docs/c-interface.md in a temporary prefix: a program gets its flags from pkg-config, is
//! linked with the shared and with the static library, and runs.

use punctual_starter::{Language, Project};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A file that cargo puts next to this test's program, or, for `cargo build`, one folder above.
fn made(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let beside = test.parent().unwrap();
    let found = [beside, beside.parent().unwrap()].map(|folder| folder.join(name));
    found.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no {name} at {found:?}")).clone()
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{error}");
    out.into_owned()
}

/// Returns `false`, and prints why, if a program is missing.
fn is_there(name: &str, package: &str) -> bool {
    let there = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        println!("not tested: {name} does not run here (Debian: apt install {package})");
    }
    there
}

/// Returns `false`, and prints a message, if all programs are static (`cargo xtask cross`).
fn is_shared() -> bool {
    let shared = !cfg!(target_feature = "crt-static");
    if !shared {
        println!("not tested: built for static programs, for which cargo makes no shared library");
    }
    shared
}

/// Installs the same files as the guide's commands.
fn install(prefix: &Path) -> PathBuf {
    let libraries = prefix.join("lib");
    fs::create_dir_all(prefix.join("include")).unwrap();
    fs::create_dir_all(libraries.join("pkgconfig")).unwrap();
    for header in ["punctual_rt.h", "punctual.hpp"] {
        fs::copy(folder().join("include").join(header), prefix.join("include").join(header)).unwrap();
    }
    fs::copy(made("libpunctual_rt_c.a"), libraries.join("libpunctual_rt_c.a")).unwrap();
    fs::copy(made("libpunctual_rt_c.so"), libraries.join("libpunctual_rt_c.so.0")).unwrap();
    symlink("libpunctual_rt_c.so.0", libraries.join("libpunctual_rt_c.so")).unwrap();
    let text = fs::read_to_string(folder().join("punctual-rt.pc.in")).unwrap();
    let text = text.replace("@PREFIX@", prefix.to_str().unwrap()).replace("@LIBDIR@", "lib");
    let text = text.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    fs::write(libraries.join("pkgconfig/punctual-rt.pc"), text).unwrap();
    libraries
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

/// Runs the example and checks its counts: released = ran + skipped + pending.
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

    let whole = prefix.path().join("static");
    let archive = |word: String| if word == "-lpunctual_rt_c" { "-l:libpunctual_rt_c.a".into() } else { word };
    let flags = pkg_config(&libraries, &["--cflags", "--libs", "--static"]);
    link(&whole, &flags.into_iter().map(archive).collect::<Vec<_>>());
    accounts(&whole, None);
}

/// `punctual new --lang c` and `cpp`: from nothing to a loop that prints its statistics.
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
        let text = run(Command::new(project.join("my-loop")).arg("2").env("LD_LIBRARY_PATH", &libraries));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("second 1: ") && lines[1].starts_with("second 2: "), "{text}");
        assert!(lines.last().unwrap().starts_with("2000 releases: "), "{text}");
        println!("{language:?}: {} s from nothing to its statistics", begun.elapsed().as_secs());
    }
}

/// Every function of the header is an exported symbol of the shared library.
#[test]
fn the_shared_library_has_every_function_of_the_header() {
    if !(is_shared() && is_there("nm", "binutils")) {
        return;
    }
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(made("libpunctual_rt_c.so")));
    let symbols: Vec<&str> = symbols.lines().filter_map(|line| line.split_once(" T ").map(|(_, name)| name)).collect();
    let header = fs::read_to_string(folder().join("include/punctual_rt.h")).unwrap();
    let declared = header.lines().filter(|line| !line.starts_with("//") && line.contains('('));
    let named: Vec<&str> = declared
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next().filter(|name| name.starts_with("prt_")))
        .collect();
    assert!(named.len() > 40, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !symbols.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
