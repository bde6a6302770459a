//! Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 environment, 128+n signal n.

use crate::terminal;
use clap::error::ContextValue;
use punctual_model::Outcome;
use punctual_proof::Done;
use punctual_report::words;
use punctual_uapi::Sig;
use std::error::Error as _;
use std::process::ExitCode;

/// A claim or a check fails.
pub const FAILED: u8 = 1;
/// Wrong usage or unreadable input.
pub const USAGE: u8 = 2;
/// Inconclusive.
pub const INCONCLUSIVE: u8 = 3;
/// The environment refused.
pub const ENVIRONMENT: u8 = 4;

/// The code of a measured run: a signal first, then what went wrong meanwhile, then the verdict; with `require_proof` what held only is
/// inconclusive.
pub fn of_done(done: &Done, require_proof: bool) -> u8 {
    match (&done.signal, &done.error) {
        (Some(signal), _) => of_signal(*signal),
        (None, Some(_)) => ENVIRONMENT,
        (None, None) if words::is_mere_measurement(&done.verdict) => 0,
        (None, None) if require_proof && done.verdict.outcome == Outcome::Held => INCONCLUSIVE,
        (None, None) => of_outcome(done.verdict.outcome),
    }
}

/// The code of a work that a signal ended.
pub fn of_signal(signal: Sig) -> u8 {
    128 + signal.number() as u8
}

/// The code of a verdict.
pub fn of_outcome(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Pass | Outcome::Held => 0,
        Outcome::Fail => 1,
        Outcome::Inconclusive => 3,
    }
}

/// From a child's code.
pub fn of_number(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(ENVIRONMENT)
}

/// clap's own messages: help and version are no errors.
pub fn of_clap(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // The words that it names are the user's, or a script's: no line of them passes for one of ours.
        let values = error.context().filter_map(|(_, value)| match value {
            ContextValue::String(word) => Some(word.clone()),
            _ => None,
        });
        let values = values.chain(error.source().map(ToString::to_string));
        let text = error.render().to_string();
        terminal::tell_lines(&values.fold(text, |text, value| text.replace(&value, &punctual_clean::line(&value))));
        return ExitCode::from(USAGE);
    }
    // Where even that cannot be printed, the code still tells.
    let _ = error.print();
    ExitCode::SUCCESS
}
