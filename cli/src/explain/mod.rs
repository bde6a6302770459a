//! Implements `explain`: causes of the worst wakeups in a trace, in a run, or on this machine as they happen; and of
//! gaps in threads that never sleep.

pub mod args;
mod export;
mod found;
mod hardware;
mod live;
mod run;
mod threads;
pub mod trace;

pub use export::perfetto_of_run;

use crate::exit;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::terminal;
use args::ExplainArgs;
use punctual_model::{ExplainResult, Explanation};
use punctual_report::{self as report, TextStyle};
use punctual_units::Nanos;
use std::process::ExitCode;

/// Runs `punctual explain`. Exits 0 if a late wakeup was explained, 3 if there is none.
pub fn explain(args: &ExplainArgs, started: Nanos) -> ExitCode {
    match args.hardware {
        true => finish("explain-hardware", args.output, hardware::explain(args)),
        false => finish("explain", args.output, answer(args, started)),
    }
}

fn answer(args: &ExplainArgs, started: Nanos) -> Result<Answer, Refusal> {
    let found = match &args.file {
        None => live::found(args, started)?,
        Some(path) if path.is_dir() => run::found(path, args.shown()).map_err(Refusal::usage)?,
        Some(path) => trace::found(args, path).map_err(Refusal::usage)?,
    };
    export::files(args, &found).map_err(Refusal::environment)?;
    let Explanation { victims, answer, moments, .. } = &found.explanation;
    let answered = !victims.is_empty() || answer.is_some() || !moments.is_empty();
    let none = if answered { 0 } else { exit::INCONCLUSIVE };
    let result = || ExplainResult {
        explanation: &found.explanation,
        trace_format: &found.format,
        timelines: args.timeline.then_some(found.timelines.as_slice()),
    };
    let text = || {
        let style = TextStyle { color: terminal::colour(), width: terminal::width() };
        let source = args.file.as_ref().map_or("--live".to_owned(), |file| file.display().to_string());
        let mut text = match args.is_full() {
            true => report::explanation_text(&found.explanation, &found.places, args.cycle),
            false => report::explanation_summary(&found.explanation, &found.places, &source, style),
        };
        if args.timeline {
            text += &report::worst_timeline_text(&found.explanation, &found.timelines, style);
        }
        text
    };
    Ok(Answer::new(args.output, found.code.unwrap_or(none), result, text))
}
