//! Tests that the committed header matches the source. `UPDATE_GOLDEN=1 cargo test -p punctual-rt-capi --features
//! reference-checks` regenerates the header.

use cbindgen::{Builder, Config, DocumentationStyle, Language, RenameRule, Style};
use punctual_testing::golden;
use std::fs;
use std::path::{Path, PathBuf};

const PREAMBLE: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * punctual-rt for C and C++: real-time tasks on Linux that account for every release and event, alarms, locks with priority
 * inheritance, queues, pipes to the shell, a log, marks in the kernel's trace, statistics. Guide: docs/c-interface.md.
 *
 * - Functions that return int return one of enum prt_status, 0 for success; prt_last_error() returns the text.
 * - NULL is an error for a pointer that must not be NULL. Any other pointer must be what the function requires.
 * - Handles belong to the caller from ..._new(), ..._open() or ..._start() until ..._free(). While one is being freed, nothing
 *   else may use it.
 * - Times are nanoseconds on CLOCK_MONOTONIC, intervals are nanoseconds.
 * - \"Threads\" states which threads may call a function. A function for non-real-time threads may allocate and block.
 *   \"Real-time\" means that it neither allocates, locks, formats nor faults, and makes no system call that is not named.
 * - No panic of the library reaches the caller: it becomes PRT_STATUS_PANIC, or ends the process if the library is built with
 *   panic=abort, as in its release profile.
 *
 * Made by tests/it/header.rs: do not edit. */";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<PathBuf> {
    let all = fs::read_dir(folder().join("src")).unwrap().map(|entry| entry.unwrap().path());
    let mut rust: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|e| e == "rs")).collect();
    rust.sort();
    rust
}

fn config() -> Config {
    let mut config = Config {
        language: Language::C,
        style: Style::Tag,
        header: Some(PREAMBLE.into()),
        include_guard: Some("PUNCTUAL_RT_H".into()),
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(String::from).to_vec(),
        usize_is_size_t: true,
        ..Config::default()
    };
    config.enumeration.rename_variants = RenameRule::QualifiedScreamingSnakeCase;
    // Functions take these types as plain integers, so that any value from a caller can be refused.
    let enums = [
        "status", "policy", "check", "severity", "next", "miss", "end", "measure", "overflow", "match", "level",
        "edges",
    ];
    config.export.include = enums.map(|name| format!("prt_{name}")).to_vec();
    config
}

fn header() -> String {
    // Includes the modules declared in lib.rs.
    let builder = Builder::new().with_config(config()).with_src(folder().join("src/lib.rs"));
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_header_is_that_of_the_source() {
    golden("include/punctual_rt.h", &header());
}

/// Every exported function is in the header once, with its own comment.
#[test]
fn every_function_is_documented() {
    let made = header();
    let (_, functions) = made.split_once("extern \"C\" {").unwrap();
    let lines: Vec<&str> = functions.lines().collect();
    for name in exported() {
        let declared = |line: &str| !line.trim_start().starts_with("//") && line.contains(&format!("{name}("));
        let places: Vec<usize> = (0..lines.len()).filter(|at| declared(lines[*at])).collect();
        let [at] = places[..] else { panic!("{name} is in the header {} times", places.len()) };
        assert!(lines[at - 1].starts_with("// "), "{name} has no comment");
    }
}

/// Returns the names of the functions `extern "C" fn NAME` of every source file.
fn exported() -> Vec<String> {
    let named = |line: &str| {
        let (_, rest) = line.split_once("pub unsafe extern \"C\" fn ").or(line.split_once("pub extern \"C\" fn "))?;
        Some(rest.split('(').next()?.to_owned())
    };
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let all: Vec<String> =
        sources().iter().flat_map(|path| read(path).lines().filter_map(named).collect::<Vec<_>>()).collect();
    assert!(all.len() > 40, "only {} functions found", all.len());
    all
}
