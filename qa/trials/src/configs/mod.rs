//! `cargo trials configs`: compares the results of `audit --config` for kernel configurations with a plain search of
//! their lines.

mod expected;
mod grep;

use expected::{RULES, With, expected};
use grep::Grep;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Command lines with which each configuration is audited: none, one that requests no feature, one that requests some.
const CMDLINES: &[(With, &str)] = &[
    (With::Nothing, ""),
    (With::Plain, "root=/dev/sda1 ro quiet\n"),
    (With::Tickless, "root=/dev/sda1 ro nohz_full=1 rcu_nocbs=1\n"),
];

#[derive(Default)]
struct Tally {
    /// How often each rule of the table had each state.
    states: BTreeMap<String, BTreeMap<String, u32>>,
    /// Number of verdicts that were compared, and of options shown as evidence.
    verdicts: u32,
    options: u32,
    wrong: Vec<String>,
}

/// Compare the results of `audit --config` for kernel configurations with a plain search of their lines
/// (docs/audit-config.md)
///
/// Fails on UNKNOWN, BLOCKED and contradictions.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Folder of plain .config files
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let Wanted { folder, punctual } = wanted;
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let mut tally = Tally::default();
    let scratch = scratch()?;
    for file in &files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        for (with, line) in CMDLINES {
            let cmdline = scratch.join("cmdline");
            std::fs::write(&cmdline, line).map_err(|e| e.to_string())?;
            let findings = audit(punctual, file, (!line.is_empty()).then_some(cmdline.as_path()))?;
            tally.compare(file, *with, &Grep::new(&text), &findings);
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    tally.show(files.len());
    if files.is_empty() { Err(format!("{} contains no file", folder.display())) } else { tally.verdict() }
}

fn scratch() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("punctual-configs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Returns the findings of `audit --config FILE [--config cmdline:FILE] --json`.
fn audit(punctual: &Path, config: &Path, cmdline: Option<&Path>) -> Result<Vec<Value>, String> {
    let mut command = Command::new(punctual);
    command.args(["audit", "--json", "--config"]).arg(config);
    if let Some(cmdline) = cmdline {
        command.arg("--config").arg(format!("cmdline:{}", cmdline.display()));
    }
    let output = command.output().map_err(|e| format!("{}: {e}", punctual.display()))?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{}: {e}", config.display()))?;
    let findings = document["result"]["findings"].as_array().cloned();
    findings.ok_or_else(|| format!("{}: {}", config.display(), String::from_utf8_lossy(&output.stderr)))
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

impl Tally {
    fn compare(&mut self, file: &Path, with: With, grep: &Grep, findings: &[Value]) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut wrong = |what: String| self.wrong.push(format!("{name} ({with:?}) {what}"));
        for finding in findings {
            let (id, state) = (word(finding, "id"), word(finding, "state"));
            if matches!(state, "UNKNOWN" | "BLOCKED") {
                wrong(format!("{id}: {state} {}", word(finding, "summary")));
            }
            if let Some(expected) = expected(id, with, grep) {
                self.verdicts += 1;
                *self.states.entry(id.to_owned()).or_default().entry(state.to_owned()).or_default() += 1;
                if expected != state {
                    wrong(format!("{id}: {state}, but its lines say {expected}"));
                }
            } else if id.starts_with("kconfig-") && state != "SKIP" {
                wrong(format!("{id}: {state}, but no state is expected for it"));
            }
            for evidence in finding["evidence"].as_array().into_iter().flatten() {
                let (compared, mistakes) = grep.contradictions(word(evidence, "source"), word(evidence, "value"));
                self.options += compared;
                mistakes.into_iter().for_each(|mistake| wrong(format!("{id}: {mistake}")));
            }
        }
    }

    fn show(&self, files: usize) {
        println!("{files} configurations, each with {} command lines", CMDLINES.len());
        for (id, states) in &self.states {
            let counts: Vec<String> = states.iter().map(|(state, count)| format!("{count} {state}")).collect();
            println!("{id:<34} {}", counts.join(", "));
        }
        println!(
            "{} verdicts of {} rules, {} options shown as evidence compared",
            self.verdicts,
            RULES.len(),
            self.options
        );
    }

    fn verdict(&self) -> Result<(), String> {
        match self.wrong.len() {
            0 => {
                println!("no UNKNOWN, no BLOCKED, no contradiction");
                Ok(())
            }
            count => Err(format!("{}\n{count} mistakes", self.wrong.join("\n"))),
        }
    }
}
