//! Implements `history add`, and the option `--history` of `prove` and `measure`.

use super::args::AddArgs;
use super::store::{open, summarised};
use crate::args::common::OutputArgs;
use crate::confine::Needs;
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use punctual_history::{Added, Store, is_run, runs_below, summary};
use punctual_model::history::{AddResult, AddedRun, NotAdded};
use punctual_proof::Done;
use std::path::{Path, PathBuf};

/// The runs that were added or already known, and the paths that failed.
#[derive(Default)]
struct Outcome {
    runs: Vec<(String, PathBuf, Added)>,
    failed: Vec<(PathBuf, String)>,
}

/// Runs `punctual history add`. Exits 0 if all runs were added or already known. A run that cannot be read is reported,
/// and the others are added.
pub fn add(args: &AddArgs, db: Option<PathBuf>, output: OutputArgs) -> Result<Answer, Refusal> {
    let mut store = open(db)?;
    let databases = vec![store.path().to_owned()];
    Needs { reads: args.runs.clone(), databases, ..Needs::default() }.confine()?;
    let mut outcome = Outcome::default();
    for path in &args.runs {
        if path.is_dir() && !is_run(path) {
            let found = runs_below(path);
            found.notes.iter().for_each(|note| message!("{note}"));
            if found.runs.is_empty() {
                fail(&mut outcome, path.clone(), format!("{}: contains no run directory", path.display()));
            }
            for run in found.runs {
                one(&mut store, &mut outcome, run, args)?;
            }
        } else {
            one(&mut store, &mut outcome, path.clone(), args)?;
        }
    }
    let code = if outcome.failed.is_empty() { 0 } else { exit::USAGE };
    Ok(Answer::new(output, code, || result(&store, &outcome), || said(&store, &outcome)).needed())
}

/// Adds one run. A run that cannot be read is recorded in `outcome`; only a history that cannot be written is an error.
fn one(store: &mut Store, outcome: &mut Outcome, path: PathBuf, args: &AddArgs) -> Result<(), Refusal> {
    match summarised(&path, &args.given) {
        Ok(run) => {
            let added = store.add(&run)?;
            outcome.runs.push((run.id, path, added));
        }
        Err(refusal) => fail(outcome, path, refusal.message),
    }
    Ok(())
}

fn fail(outcome: &mut Outcome, path: PathBuf, what: String) {
    message!("{what}");
    outcome.failed.push((path, what));
}

fn word(added: Added) -> &'static str {
    match added {
        Added::New => "added",
        Added::Better => "brought up to date",
        Added::Known => "known already",
    }
}

fn result(store: &Store, outcome: &Outcome) -> AddResult {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let run = |(id, path, added): &(String, PathBuf, Added)| AddedRun {
        run: id.clone(),
        path: text(path),
        what: word(*added),
    };
    let failed = |(path, why): &(PathBuf, String)| NotAdded { path: text(path), why: why.clone() };
    AddResult {
        db: text(store.path()),
        runs: outcome.runs.iter().map(run).collect(),
        failed: outcome.failed.iter().map(failed).collect(),
    }
}

fn said(store: &Store, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (id, path, added) in &outcome.runs {
        text += &format!("{:.10}  {}: {}\n", id, word(*added), path.display());
    }
    let new = outcome.runs.iter().filter(|r| r.2 == Added::New).count();
    text + &format!("{new} of {} runs are new in {}.\n", outcome.runs.len(), store.path().display())
}

/// Adds a finished measurement. Returns the error, which does not affect the exit code of the measurement.
pub fn after(db: Option<PathBuf>, done: &Done) -> Option<String> {
    let folder = done.root().canonicalize().unwrap_or_else(|_| done.root().to_owned());
    let run = summary(&done.recording, &done.verdict, Some(&folder));
    let added = open(db).and_then(|mut store| Ok(store.add(&run)?));
    added.err().map(|refusal| format!("the run was not added to the history: {}", refusal.message))
}
