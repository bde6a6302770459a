//! `history`: runs in one file, over time, and a gate for the next.

mod add;
pub mod args;
mod baseline;
mod date;
mod gate;
mod query;

pub use add::after;

use crate::args::common::{OutputArgs, ToldArgs};
use crate::{document, exit, import, terminal};
use args::{HistoryArgs, HistoryCommand};
use punctual_history::{Error, Store, summary};
use punctual_model::history::RunSummary;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An exit code and what was wrong.
type Refused = (u8, String);

/// `punctual history`.
pub fn history(args: &HistoryArgs) -> ExitCode {
    let of = |own: &OutputArgs| OutputArgs {
        json: own.json || args.query.output.json,
        quiet: own.quiet || args.query.output.quiet,
    };
    let db = args.db.clone();
    match &args.command {
        None if args.query.baseline.is_some() || args.query.run.is_some() => gate::of_query(&args.query, db),
        None => query::query(&args.query, db),
        Some(HistoryCommand::Add(add)) => add::add(add, db, of(&add.output)),
        Some(HistoryCommand::Remove(remove)) => baseline::remove(remove, db, of(&remove.output)),
        Some(HistoryCommand::Gate(gate)) => gate::gate(gate, db, of(&gate.output)),
        Some(HistoryCommand::Baseline(command)) => baseline::baseline(command, db, &args.query.output),
    }
}

/// Where the history lies.
fn place(db: Option<PathBuf>) -> Result<PathBuf, Refused> {
    let root = rustix::process::geteuid().is_root();
    let found = punctual_history::place(db, |name| std::env::var_os(name), root);
    found.ok_or_else(|| (exit::USAGE, "where is the history? HOME is not set; name a file with --db".into()))
}

fn refused(e: Error) -> Refused {
    (if e.is_environment() { exit::ENVIRONMENT } else { exit::USAGE }, e.to_string())
}

fn open(db: Option<PathBuf>) -> Result<Store, Refused> {
    Store::open(&place(db)?).map_err(refused)
}

fn look(db: Option<PathBuf>) -> Result<Store, Refused> {
    Store::look(&place(db)?).map_err(refused)
}

/// A run directory, or another tool's file, in a few figures.
pub(crate) fn summarised(path: &Path, told: ToldArgs) -> Result<RunSummary, Refused> {
    let unread = |code| (code, format!("{}: not read: the line above says why", path.display()));
    let recording = match path.is_dir() {
        true => punctual_rundir::read(path).map_err(|e| (exit::USAGE, e.to_string()))?,
        false => import::recording(&[path.to_owned()], None, told).map_err(unread)?,
    };
    let verdict = punctual_judge::judge(&recording, &recording.run.settings.claims);
    // A folder that cannot be looked up is named as it was typed.
    let folder = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok(summary(&recording, &verdict, Some(&folder)))
}

/// Prints a result as it was asked for, or says what was wrong.
fn finish(command: &str, output: OutputArgs, result: Result<(u8, Value, String), Refused>) -> ExitCode {
    let (code, value, text) = match result {
        Ok(done) => done,
        Err((code, what)) => {
            eprintln!("punctual: {what}");
            (code, document::error(&what), String::new())
        }
    };
    let text = match (output.json, output.quiet) {
        (true, _) => document::document(command, code, &value) + "\n",
        (false, true) => String::new(),
        (false, false) => text,
    };
    match text.is_empty() || terminal::print(&text) {
        true => ExitCode::from(code),
        false => ExitCode::from(exit::ENVIRONMENT),
    }
}
