//! Implements `history`: stores runs in one file, analyses them over time, and compares new runs with a baseline.

mod add;
pub mod args;
mod baseline;
mod date;
mod gate;
mod query;
mod store;

pub use add::after;
pub use store::summarised;

use crate::args::common::OutputArgs;
use crate::finish::finish;
use args::{HistoryArgs, HistoryCommand};
use std::process::ExitCode;

pub fn history(args: &HistoryArgs) -> ExitCode {
    let shared = args.query.output;
    let with = |own: OutputArgs| OutputArgs { json: own.json || shared.json, quiet: own.quiet || shared.quiet };
    let db = args.db.clone();
    match &args.command {
        None if args.query.baseline.is_some() || args.query.run.is_some() => {
            finish("history-gate", shared, gate::of_query(&args.query, db))
        }
        None => finish("history", shared, query::query(&args.query, db)),
        Some(HistoryCommand::Add(args)) => {
            let output = with(args.output);
            finish("history-add", output, add::add(args, db, output))
        }
        Some(HistoryCommand::Remove(args)) => {
            let output = with(args.output);
            finish("history-remove", output, baseline::remove(args, db, output))
        }
        Some(HistoryCommand::Gate(args)) => {
            let output = with(args.output);
            finish("history-gate", output, gate::gate(args, db, output))
        }
        Some(HistoryCommand::Baseline(command)) => {
            finish("history-baseline", shared, baseline::baseline(command, db, shared))
        }
    }
}
