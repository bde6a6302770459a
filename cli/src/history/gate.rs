//! Implements `history gate`, which checks whether a run is worse than its baseline.

use super::args::{GateArgs, JudgedArgs, QueryArgs};
use super::store::{look, summarised};
use crate::args::common::{GivenArgs, OutputArgs};
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_history::{ALPHA, GateOptions, Store};
use punctual_model::history::{Gate, GateOutcome, RunSummary};
use punctual_report as report;
use std::path::{Path, PathBuf};

pub fn gate(args: &GateArgs, db: Option<PathBuf>, output: OutputArgs) -> Result<Answer, Refusal> {
    Ok(answer(output, &judged(&args.run, &args.baseline, &args.judged, &args.given, db)?))
}

pub fn of_query(args: &QueryArgs, db: Option<PathBuf>) -> Result<Answer, Refusal> {
    let given = GivenArgs::default();
    let (run, baseline) = (args.run.clone().unwrap_or_default(), args.baseline.clone().unwrap_or_default());
    Ok(answer(args.output, &judged(&run, &baseline, &args.judged, &given, db)?))
}

fn judged(
    run: &Path,
    baseline: &[String],
    judged: &JudgedArgs,
    given: &GivenArgs,
    db: Option<PathBuf>,
) -> Result<Gate, Refusal> {
    let store = look(db)?;
    let run = match run.exists() {
        true => summarised(run, given)?,
        false => store.find(&run.to_string_lossy()).map_err(|_| {
            Refusal::usage(format!("{}: neither a run directory nor the start of a run's ID", run.display()))
        })?,
    };
    let others = baseline_of(&store, &run, baseline)?;
    let options = GateOptions {
        name: baseline.join(","),
        figures: judged.figures.clone(),
        tolerance: judged.tolerance,
        alpha: ALPHA,
    };
    Ok(punctual_history::gate(&run, &others, &options))
}

fn answer(output: OutputArgs, found: &Gate) -> Answer {
    let code = match found.outcome {
        GateOutcome::NotWorse => 0,
        GateOutcome::Worse => exit::FAILED,
        GateOutcome::Inconclusive => exit::INCONCLUSIVE,
        GateOutcome::NotComparable => exit::USAGE,
    };
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    Answer::new(output, code, || report::gate_json(found), || report::gate_text(found, style)).needed()
}

/// Returns the runs of the baseline, which is given as a number of runs, a name, run IDs, or kernels.
fn baseline_of(store: &Store, run: &RunSummary, words: &[String]) -> Result<Vec<RunSummary>, Refusal> {
    if let [word] = words {
        if let Some(n) = number(word) {
            return latest(store, run, n);
        }
        let named = store.baselines()?.into_iter().find(|(name, _)| name == word);
        if let Some((_, ids)) = named {
            return Ok(store.runs(|r| ids.contains(&r.id))?);
        }
    }
    let ids: Result<Vec<RunSummary>, _> = words.iter().map(|id| store.find(id)).collect();
    if let Ok(runs) = ids {
        return Ok(runs);
    }
    let of_kernel =
        |r: &RunSummary| words.iter().any(|w| r.kernel.release.as_ref().is_some_and(|k| k.starts_with(w.as_str())));
    let runs = store.runs(of_kernel)?;
    let what =
        "is neither a number, a named baseline, the start of run IDs, nor the start of a kernel release in the history";
    if runs.is_empty() { Err(Refusal::usage(format!("--baseline `{}` {what}", words.join(",")))) } else { Ok(runs) }
}

/// Parses a number of runs with at most four digits; run IDs are shown with at least ten digits.
fn number(word: &str) -> Option<usize> {
    word.parse().ok().filter(|_| word.len() <= 4)
}

/// Returns the most recent `n` comparable runs before `run`; if there are none, returns all other runs, so that the
/// caller can report how they differ.
fn latest(store: &Store, run: &RunSummary, n: usize) -> Result<Vec<RunSummary>, Refusal> {
    let earlier =
        |r: &RunSummary| r.id != run.id && run.started_ns.is_none_or(|at| r.started_ns.is_some_and(|t| t < at));
    let mut alike = store.runs(|r| earlier(r) && r.comparable() == run.comparable())?;
    if alike.is_empty() {
        return Ok(store.runs(earlier)?);
    }
    Ok(alike.split_off(alike.len().saturating_sub(n)))
}
