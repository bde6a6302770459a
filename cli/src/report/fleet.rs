//! Implements `report RUN…` for several runs.

use super::args::ReportArgs;
use super::foreign;
use super::written::{writer, written};
use crate::finish::Answer;
use crate::history::summarised;
use crate::refusal::Refusal;
use punctual_formats::Writer;
use punctual_history::{fleet, is_run, runs_below};
use punctual_model::history::RunSummary;
use punctual_report as report;
use std::path::PathBuf;

/// Returns true if the arguments are several run directories, or a directory of them.
pub fn is_fleet(args: &ReportArgs) -> bool {
    match args.run.as_slice() {
        [only] => !is_run(only) && only.is_dir() && !runs_below(only).runs.is_empty(),
        several => several.iter().all(|path| path.is_dir()),
    }
}

/// Returns JSON lines: one for each phase and CPU of each run.
pub fn lines(runs: &[RunSummary]) -> String {
    fleet::lines(runs).iter().map(report::json_line).collect()
}

/// Reports on several runs. Exits 0 if the report was written. A run that cannot be read does not stop the others; an
/// error message and the report name it.
pub fn report(args: &ReportArgs) -> Result<Answer, Refusal> {
    let mut unread = Vec::new();
    let runs = summaries(args, &mut unread);
    if runs.is_empty() {
        return Err(Refusal::usage("no readable run: name run directories, or directories of them"));
    }
    let text = made(args, &runs, unread).map_err(Refusal::usage)?;
    written(args, text.into_bytes())
}

fn summaries(args: &ReportArgs, unread: &mut Vec<(String, String)>) -> Vec<RunSummary> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in &args.run {
        let found = runs_below(path);
        found.notes.iter().for_each(|note| message!("{note}"));
        if found.runs.is_empty() {
            message!("{}: contains no run directory", path.display());
        }
        paths.extend(found.runs);
    }
    let mut runs: Vec<RunSummary> = Vec::new();
    for path in paths {
        match summarised(&path, &args.given) {
            // The same run given twice would count twice.
            Ok(run) if runs.iter().any(|known| known.id == run.id) => {
                message!("{}: duplicate run; ignored", path.display());
            }
            Ok(run) => runs.push(run),
            Err(Refusal { message, .. }) => {
                message!("{message}");
                unread.push((path.display().to_string(), message));
            }
        }
    }
    runs
}

fn made(args: &ReportArgs, runs: &[RunSummary], unread: Vec<(String, String)>) -> Result<String, String> {
    if matches!(writer(args), Writer::Jsonl) {
        return Ok(lines(runs));
    }
    let mut fleet = fleet::fleet(runs);
    fleet.doubtful.extend(unread);
    match writer(args) {
        Writer::Html => Ok(report::fleet_html(&fleet)),
        Writer::Text => Ok(report::fleet_text(&fleet)),
        Writer::Json => Ok(report::Document::new("fleet", 0, &fleet).text()),
        _ => Err(foreign::not_built(args.format)),
    }
}
