//! Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 environment, 128+n signal n.

use crate::terminal;
use clap::error::ContextValue;
use punctual_model::Outcome;
use punctual_proof::Done;
use punctual_report::words;
use punctual_uapi::Sig;
use std::error::Error as _;
use std::process::ExitCode;

pub const FAILED: u8 = 1;
/// Wrong usage or unreadable input.
pub const USAGE: u8 = 2;
pub const INCONCLUSIVE: u8 = 3;
/// The environment does not allow what the command needs.
pub const ENVIRONMENT: u8 = 4;

/// Returns the exit code of a measuring run: a signal takes precedence, then errors during the run, then the verdict.
/// With `require_proof`, HELD counts as inconclusive.
pub fn of_done(done: &Done, require_proof: bool) -> u8 {
    match (&done.signal, &done.error) {
        (Some(signal), _) => of_signal(*signal),
        (None, Some(_)) => ENVIRONMENT,
        (None, None) if words::is_mere_measurement(&done.verdict) => 0,
        (None, None) if require_proof && done.verdict.outcome == Outcome::Held => INCONCLUSIVE,
        (None, None) => of_outcome(done.verdict.outcome),
    }
}

pub fn of_signal(signal: Sig) -> u8 {
    128 + signal.number() as u8
}

pub fn of_outcome(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Pass | Outcome::Held => 0,
        Outcome::Fail => 1,
        Outcome::Inconclusive => 3,
    }
}

pub fn of_number(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(ENVIRONMENT)
}

/// Prints clap's own message and returns its exit code; help and version are not errors.
pub fn of_clap(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // Values in the message come from the user or a script. None of their lines may look like one of this program.
        let values = error.context().filter_map(|(_, value)| match value {
            ContextValue::String(word) => Some(word.clone()),
            _ => None,
        });
        let values = values.chain(error.source().map(ToString::to_string));
        let text = error.render().to_string();
        terminal::progress_lines(&values.fold(text, |text, value| text.replace(&value, &punctual_clean::line(&value))));
        return ExitCode::from(USAGE);
    }
    // The exit code still reports the error if this cannot be printed.
    let _ = error.print();
    ExitCode::SUCCESS
}
