//! `history gate`: is a run worse than its baseline?

use super::args::{GateArgs, JudgedArgs, QueryArgs};
use super::{Refused, finish, look, refused, summarised};
use crate::args::common::{OutputArgs, ToldArgs};
use crate::{exit, terminal};
use punctual_history::{ALPHA, GateOptions, Store};
use punctual_model::history::{GateOutcome, RunSummary};
use punctual_report as report;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `punctual history gate RUN`.
pub fn gate(args: &GateArgs, db: Option<PathBuf>, output: OutputArgs) -> ExitCode {
    finish("history-gate", output, judged(&args.run, &args.baseline, &args.judged, args.told, db))
}

/// `punctual history --baseline … RUN`.
pub fn of_query(args: &QueryArgs, db: Option<PathBuf>) -> ExitCode {
    let told = ToldArgs { input_format: None, unit: None, period: None, board: None };
    let (run, baseline) = (args.run.clone().unwrap_or_default(), args.baseline.clone().unwrap_or_default());
    finish("history-gate", args.output, judged(&run, &baseline, &args.judged, told, db))
}

fn judged(
    run: &Path,
    baseline: &[String],
    judged: &JudgedArgs,
    told: ToldArgs,
    db: Option<PathBuf>,
) -> Result<(u8, Value, String), Refused> {
    let store = look(db)?;
    let run = match run.exists() {
        true => summarised(run, told)?,
        false => store.find(&run.to_string_lossy()).map_err(|_| {
            (exit::USAGE, format!("{}: neither a run directory nor the beginning of a run's id", run.display()))
        })?,
    };
    let others = baseline_of(&store, &run, baseline)?;
    let options = GateOptions {
        name: baseline.join(","),
        figures: judged.figures.clone(),
        tolerance: judged.tolerance,
        alpha: ALPHA,
    };
    let found = punctual_history::gate(&run, &others, &options);
    let code = match found.outcome {
        GateOutcome::NotWorse => 0,
        GateOutcome::Worse => exit::FAILED,
        GateOutcome::Inconclusive => exit::INCONCLUSIVE,
        GateOutcome::NotComparable => exit::USAGE,
    };
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    Ok((code, report::gate_json(&found), report::gate_text(&found, style)))
}

/// The runs that the words mean: a number, a name, runs' ids, or kernels.
fn baseline_of(store: &Store, run: &RunSummary, words: &[String]) -> Result<Vec<RunSummary>, Refused> {
    if let [word] = words {
        if let Some(n) = number(word) {
            return latest(store, run, n);
        }
        let named = store.baselines().map_err(refused)?.into_iter().find(|(name, _)| name == word);
        if let Some((_, ids)) = named {
            return store.runs(|r| ids.contains(&r.id)).map_err(refused);
        }
    }
    let ids: Result<Vec<RunSummary>, _> = words.iter().map(|id| store.find(id)).collect();
    if let Ok(runs) = ids {
        return Ok(runs);
    }
    let of_kernel =
        |r: &RunSummary| words.iter().any(|w| r.kernel.release.as_ref().is_some_and(|k| k.starts_with(w.as_str())));
    let runs = store.runs(of_kernel).map_err(refused)?;
    let what = "is neither a number, a named baseline, the beginning of run ids, nor of a kernel in the history";
    if runs.is_empty() { Err((exit::USAGE, format!("--baseline `{}` {what}", words.join(",")))) } else { Ok(runs) }
}

/// A small number; ids of runs are ten digits or more as they are shown.
fn number(word: &str) -> Option<usize> {
    word.parse().ok().filter(|_| word.len() <= 4)
}

/// The latest n comparable runs before it; where there are none all others, so that it can be said what differs.
fn latest(store: &Store, run: &RunSummary, n: usize) -> Result<Vec<RunSummary>, Refused> {
    let earlier =
        |r: &RunSummary| r.id != run.id && run.started_ns.is_none_or(|at| r.started_ns.is_some_and(|t| t < at));
    let mut alike = store.runs(|r| earlier(r) && r.comparable() == run.comparable()).map_err(refused)?;
    if alike.is_empty() {
        return store.runs(earlier).map_err(refused);
    }
    Ok(alike.split_off(alike.len().saturating_sub(n)))
}
