//! Words by which the program runs itself again, as a process of its own. No help shows them.

use crate::{exit, fix, overdue};
use std::env::{ArgsOs, args_os};
use std::iter::Skip;
use std::process::ExitCode;

/// What such a process does with the words behind the first, to its exit code.
type Main = fn(Skip<ArgsOs>) -> i32;

const WORDS: [(&str, Main); 7] = [
    // A load (`--load`).
    (punctual_loads::HIDDEN_ARG, punctual_loads::child_main),
    // The audit of `prove`.
    (punctual_proof::AUDIT_ARG, punctual_proof::audit_main),
    // `audit --probe`: nothing it is granted outlives it.
    (punctual_proof::TRIAL_ARG, punctual_proof::trial_main),
    // `--via timerlat`: the tracer's threads in user space.
    (punctual_proof::TIMERLAT_ARG, punctual_proof::timerlat_main),
    // `watch`: a trace explained.
    (punctual_watch::EXPLAIN_ARG, punctual_watch::explain_main),
    // `audit --fix --confirm`: undoes the fix unless it is confirmed.
    (fix::GUARD_ARG, fix::guard_main),
    // A command that waited too long: what it had changed.
    (overdue::RESTORE_ARG, overdue::restore_main),
];

/// Is this process one of them? Then it has done its work, and this is its exit code.
pub fn run() -> Option<ExitCode> {
    let first = args_os().nth(1)?;
    let (_, main) = WORDS.iter().find(|(word, _)| first == *word)?;
    Some(ExitCode::from(exit::of_number(main(args_os().skip(2)))))
}
