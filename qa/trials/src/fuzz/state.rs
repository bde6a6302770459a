//! Stores the progress of guided fuzzing in a file, from which the next run resumes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Progress of one reader, over all runs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Number of executed inputs, including those of the corpus.
    pub executions: u64,
    /// Real time, s, including time in which other programs ran.
    pub seconds: f64,
    /// Number of edges of the program that the corpus reaches; `None` before the first slice.
    pub edges: Option<u64>,
    pub corpus: Option<u64>,
    /// Findings, each with its file and what the reader did.
    pub findings: Vec<String>,
}

impl Progress {
    /// Returns the number of executions per second; `None` before the first execution.
    pub fn rate(&self) -> Option<f64> {
        (self.executions > 0 && self.seconds > 0.0).then(|| self.executions as f64 / self.seconds)
    }
}

/// The progress of each reader, by its name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct State(pub BTreeMap<String, Progress>);

impl State {
    /// Reads the state, which is empty if there is no file. Returns an error if the file cannot be read or has another
    /// format.
    pub fn read(path: &Path) -> Result<State, String> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|e| format!("{}: {e}; move it away to start again", path.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(State::default()),
            Err(e) => Err(format!("cannot read {}: {e}", path.display())),
        }
    }

    /// Writes to a temporary file and renames it, so that a kill leaves either the old or the new file.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        let text = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        let beside = path.with_extension("new");
        fs::write(&beside, text + "\n").map_err(failed)?;
        fs::rename(&beside, path).map_err(failed)
    }

    /// Returns one line for each of `names`, with its progress towards `wanted` executions.
    pub fn table(&self, names: &[&str], wanted: u64) -> String {
        let mut text = format!(
            "{:<22} {:>11} {:>6} {:>9} {:>7} {:>7} {:>8}\n",
            "reader", "executions", "done", "a second", "edges", "corpus", "findings"
        );
        let known = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        for name in names {
            let one = self.0.get(*name).cloned().unwrap_or_default();
            let done = 100.0 * one.executions as f64 / wanted.max(1) as f64;
            let rate = one.rate().map_or("-".to_owned(), |rate| format!("{rate:.0}"));
            let _ = writeln!(
                text,
                "{name:<22} {:>11} {done:>5.1}% {rate:>9} {:>7} {:>7} {:>8}",
                one.executions,
                known(one.edges),
                known(one.corpus),
                one.findings.len()
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> State {
        let progress = Progress {
            executions: 5_000_000,
            seconds: 250.0,
            edges: Some(1234),
            corpus: Some(56),
            findings: vec!["a".into()],
        };
        State([("dat6".to_owned(), progress)].into())
    }

    #[test]
    fn what_is_written_is_read_and_no_file_is_nothing_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        assert_eq!(State::read(&path), Ok(State::default()));
        some().write(&path).unwrap();
        assert_eq!(State::read(&path), Ok(some()));
    }

    #[test]
    fn a_torn_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        fs::write(&path, "{\"dat6\": {\"executions\": 5").unwrap();
        assert!(State::read(&path).unwrap_err().contains("state.json"));
    }

    #[test]
    fn a_table_separates_done_from_unknown() {
        let table = some().table(&["dat6", "dat7"], 10_000_000);
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["dat6", "5000000", "50.0%", "20000", "1234", "56", "1"]);
        assert_eq!(lines[2], ["dat7", "0", "0.0%", "-", "-", "-", "0"]);
    }
}
