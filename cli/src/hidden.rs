//! Runs helper processes: their first argument, which is not listed in the help, selects what this program does.

use crate::{exit, fix, overdue};
use std::env::{ArgsOs, args_os};
use std::iter::Skip;
use std::process::ExitCode;

/// Main function of a helper process: takes the remaining arguments, returns the exit code.
type Main = fn(Skip<ArgsOs>) -> i32;

const WORDS: [(&str, Main); 9] = [
    (punctual_loads::HIDDEN_ARG, punctual_loads::child_main),
    (punctual_proof::AUDIT_ARG, punctual_proof::audit_main),
    // `audit --probe`: in a separate process, so that its privileges end with it.
    (punctual_proof::TRIAL_ARG, punctual_proof::trial_main),
    // `--via timerlat`: runs the tracer's user-space threads.
    (punctual_proof::TIMERLAT_ARG, punctual_proof::timerlat_main),
    // `watch`: explains one trace.
    (punctual_watch::EXPLAIN_ARG, punctual_watch::explain_main),
    // `check`: executes the observed program.
    (punctual_check::START_ARG, punctual_check::start_main),
    // `check`, `prove --app`: the parent of all processes of the program.
    (punctual_check::REAPER_ARG, punctual_check::reaper_main),
    // `audit --fix --confirm`: undoes the fix unless confirmed.
    (fix::GUARD_ARG, fix::guard_main),
    // Restores what a command that timed out had changed.
    (overdue::RESTORE_ARG, overdue::restore_main),
];

/// Runs the helper if the first argument selects one, and returns its exit code; otherwise returns `None`.
pub fn run() -> Option<ExitCode> {
    let first = args_os().nth(1)?;
    let (_, main) = WORDS.iter().find(|(word, _)| first == *word)?;
    Some(ExitCode::from(exit::of_number(main(args_os().skip(2)))))
}
