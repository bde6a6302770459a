//! `cargo xtask consumers`: gives documents in the formats of other programs to the programs that read them.
//!
//! The documents are made from a new measurement, from a file of another tool, and from the golden files of
//! crates/output/formats, one of which has only hostile names. A missing consumer is reported and fails the check, so
//! that nothing passes silently.

use crate::{root, target_dir};
use clap::builder::PossibleValuesParser;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("consumers/consumers.py");

/// Name of a consumer in the script, and the suffixes of the files that it reads.
type Row = (&'static str, &'static [&'static str]);

const CONSUMERS: &[Row] = &[
    ("prometheus", &[".prom"]),
    ("rules", &[".yml"]),
    ("dashboard", &[".dashboard.json"]),
    ("lava", &[".lava.txt"]),
    ("junit", &[".junit.xml"]),
    ("junit_xsd", &[".junit.xml"]),
    ("kcidb", &[".kcidb.json"]),
    ("sarif", &[".sarif.json"]),
    ("tap", &[".tap"]),
    ("ktap", &[".tap"]),
    ("linaro", &[".cyclictest.json"]),
    ("schemas", &[".schema.json"]),
    ("perfetto", &[".perfetto"]),
];

/// Formats of `report`, and the suffixes of their files.
const REPORTS: &[(&str, &str)] = &[
    ("prometheus", "prom"),
    ("lava", "lava.txt"),
    ("junit", "junit.xml"),
    ("kcidb", "kcidb.json"),
    ("sarif", "sarif.json"),
    ("tap", "tap"),
    ("cyclictest-json", "cyclictest.json"),
];

/// Recorded traces for Perfetto.
const TRACES: &[(&str, &str)] = &[
    ("recorded.perfetto", "crates/analysis/trace/tests/fixtures/g612.dat"),
    ("text.perfetto", "crates/analysis/trace/tests/fixtures/g61.steal.trace.txt"),
];

/// Exit code of the script if a consumer is not installed.
const MISSING: i32 = 77;

/// Give documents in every format of `report` and `audit` to the programs that read them (docs/formats.md)
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Directory of the programs that are not installed in the system
    #[arg(long, value_name = "DIR", default_value_os_t = crate::tools_dir())]
    tools: PathBuf,
    /// Program that writes the documents
    #[arg(long, value_name = "FILE", default_value_os_t = crate::punctual())]
    punctual: PathBuf,
    /// Consumers to try; all by default
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(CONSUMERS.iter().map(|(name, _)| *name)))]
    only: Vec<String>,
}

pub fn run(options: &Options) -> Result<(), String> {
    let folder = target_dir().join("consumers");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let script = folder.join("consumers.py");
    fs::write(&script, SCRIPT).map_err(|e| format!("cannot write {}: {e}", script.display()))?;
    documents(&options.punctual, &folder)?;
    let (mut refused, mut missing) = (Vec::new(), Vec::new());
    for (name, ends) in CONSUMERS.iter().filter(|(n, _)| options.only.is_empty() || options.only.iter().any(|o| o == n))
    {
        let files = ending(&folder, ends)?;
        let (code, said) = give(&options.tools, &script, name, &files)?;
        match code {
            Some(0) => println!("{name:<12} accepts {} files", files.len()),
            Some(MISSING) => {
                println!("{name:<12} IS MISSING: {}", said.trim());
                missing.push(*name);
            }
            _ => {
                println!("{name:<12} REFUSES: {said}");
                refused.push(*name);
            }
        }
    }
    match (refused.as_slice(), missing.as_slice()) {
        ([], []) => Ok(()),
        ([], missing) => Err(format!("not tested, because the consumer is missing: {}", missing.join(", "))),
        (refused, _) => Err(format!("refused by {}; the documents are in {}", refused.join(", "), folder.display())),
    }
}

/// Runs a command and returns its output. The exit code may differ from 0, because a claim may fail.
fn ran(command: &mut Command) -> Result<Vec<u8>, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|e| format!("{shown}: {e}; build it with cargo build --release"))?;
    if matches!(output.status.code(), Some(0 | 1 | 3)) {
        return Ok(output.stdout);
    }
    Err(format!("{shown}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

fn documents(punctual: &Path, folder: &Path) -> Result<(), String> {
    let measured = folder.join("run");
    let mut prove = Command::new(punctual);
    prove.args(["prove", "-D", "2s", "-l", "idle,cpu", "-c", "max < 10ms", "-c", "p99 < 1us", "-q", "--out"]);
    ran(prove.arg(&measured))?;
    let imported = root().join("crates/analysis/import/tests/fixtures/ct-2.4.json");
    for (what, run) in [("measured", &measured), ("imported", &imported)] {
        for (format, end) in REPORTS.iter().filter(|(format, _)| what == "measured" || *format != "sarif") {
            let mut report = Command::new(punctual);
            report.arg("report").arg(run).args(["--format", format, "-c", "max < 20ms", "--kcidb-build", "punctual:x"]);
            keep(folder, &format!("{what}.{end}"), &ran(&mut report)?)?;
        }
    }
    for (format, end) in [("sarif", "sarif.json"), ("junit", "junit.xml"), ("tap", "tap"), ("lava", "lava.txt")] {
        keep(folder, &format!("audit.{end}"), &ran(Command::new(punctual).args(["audit", "--format", format]))?)?;
    }
    let mut watch = Command::new(punctual);
    watch.args(["watch", "-D", "7s", "--textfile-every", "5s", "--trace", "never", "-q", "--out"]);
    ran(watch.arg(folder.join("series")).arg("--textfile").arg(folder.join("watch.prom")))?;
    for (name, trace) in TRACES {
        let mut explain = Command::new(punctual);
        explain.args(["explain", "--perfetto"]).arg(folder.join(name)).arg(root().join(trace));
        ran(&mut explain)?;
    }
    for from in
        ["crates/output/formats/tests/golden", "integrations/prometheus", "integrations/grafana", "docs/schemas"]
    {
        copy(&root().join(from), folder)?;
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Copies all files except those that explain why a run has no document in some format.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    for entry in fs::read_dir(from).map_err(|e| format!("cannot read {}: {e}", from.display()))?.flatten() {
        let bytes = fs::read(entry.path()).map_err(|e| format!("cannot read {}: {e}", entry.path().display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".cyclictest.json") || bytes.starts_with(b"{") {
            keep(to, &name, &bytes)?;
        }
    }
    Ok(())
}

fn ending(folder: &Path, ends: &[&str]) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let ends_so = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default().into_owned();
        ends.iter().any(|end| name.ends_with(end))
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(ends_so).collect();
    files.sort();
    if files.is_empty() { Err(format!("no document ends in {}", ends.join(", "))) } else { Ok(files) }
}

/// Runs the script on the files, with the Python in the directory of tools if there is one. Returns the exit code and
/// the output.
fn give(tools: &Path, script: &Path, name: &str, files: &[PathBuf]) -> Result<(Option<i32>, String), String> {
    let own = tools.join("venv/bin/python");
    let python = if own.exists() { own } else { PathBuf::from("python3") };
    let output = Command::new(&python).arg(script).arg(name).arg(tools).args(files).output();
    let output = output.map_err(|e| format!("cannot run {}: {e}; apt-get install python3", python.display()))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8_lossy(&said).into_owned()))
}
