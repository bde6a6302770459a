//! The programs of qa/check, and what `check` must find in each. A faulty program has one kind of fault: the first lines
//! of its source name the expected rule, thread and function, and the faulty line is marked. A clean one has none.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn folder() -> PathBuf {
    super::root().join("qa/check")
}

/// Returns the sources of a kind, `faulty` or `clean`, by name.
pub fn programs(kind: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder().join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// Compiles a program into `folder` with the compiler of a GNU triple's prefix (`aarch64-linux-gnu-`; empty for this
/// machine). Returns `None` if there is no such compiler, or if the program is interpreted or in Rust for another
/// machine.
pub fn build(source: &Path, prefix: &str, folder: &Path) -> Option<PathBuf> {
    let program = folder.join(source.file_stem()?);
    let mut compiler = match source.extension()?.to_str()? {
        "c" => Command::new(format!("{prefix}gcc")),
        "cpp" => Command::new(format!("{prefix}g++")),
        "rs" if prefix.is_empty() => Command::new("rustc"),
        _ => return None,
    };
    match source.extension()?.to_str()? {
        "rs" => compiler.args(["--edition", "2024", "-g", "-C", "opt-level=1", "-o"]).arg(&program).arg(source),
        _ => compiler.args(["-g", "-O1", "-pthread", "-o"]).arg(&program).arg(source),
    };
    let output = compiler.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Returns the findings that are FAIL or WARN.
pub fn open(result: &Value) -> Vec<&Value> {
    let findings = result["findings"].as_array().into_iter().flatten();
    findings.filter(|one| one["state"] == "FAIL" || one["state"] == "WARN").collect()
}

/// Returns the words after a key in the first lines.
fn header<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let line = text.lines().take(3).find_map(|line| line.split_once(key));
    line.map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default()
}

/// Returns the number of CPUs that a machine needs for the fault of a program to occur: its first lines name it after
/// `cpus:`.
pub fn cpus(source: &Path) -> u32 {
    let text = fs::read_to_string(source).unwrap();
    header(&text, "cpus:").first().map_or(1, |number| number.parse().unwrap())
}

/// Returns how the result of `check --json` for a program differs from what its source declares; `None` if it does
/// not.
pub fn differs(source: &Path, result: &Value) -> Option<String> {
    let text = fs::read_to_string(source).unwrap();
    let (expected, also) = (header(&text, "expect:"), header(&text, "also:"));
    let found = open(result);
    if expected.is_empty() {
        let is_clean = found.is_empty() && result["outcome"] == "pass";
        return (!is_clean).then(|| format!("{}: {}, found {found:#?}", source.display(), result["outcome"]));
    }
    let lines: Vec<u64> =
        (1..).zip(text.lines()).filter(|(_, line)| line.ends_with(" fault")).map(|(n, _)| n).collect();
    let is_it = |one: &&&Value| {
        let (function, line) = (one["place"]["function"].as_str().unwrap_or_default(), one["place"]["line"].as_u64());
        let has_lines = source.extension().is_none_or(|kind| kind != "py");
        one["id"] == expected[0]
            && one["thread"] == expected[1]
            && (expected[2] == "*"
                || function.contains(expected[2])
                    && (!has_lines || lines.is_empty() || line.is_some_and(|line| lines.contains(&line))))
    };
    let more =
        |one: &&&Value| one["id"] != expected[0] && also != ["*"] && !also.contains(&one["id"].as_str().unwrap());
    match (found.iter().any(|one| is_it(&one)), found.iter().find(more)) {
        (true, None) => None,
        (false, _) => Some(format!("{}: not found: {expected:?} at {lines:?} in {found:#?}", source.display())),
        (true, Some(more)) => Some(format!("{}: also found {more:#}", source.display())),
    }
}
