//! Applies one rule's steps on trial: they are undone unless kept, even if the process dies in between.

use crate::fix::{FixOptions, RuleDone, one};
use crate::journal::{Journal, JournalError};
use crate::plan::RulePlan;
use crate::undo::{Taken, restore, settle_sets};
use punctual_model::State;

/// A rule whose steps were applied, in a set that is still open: if this process dies, the next start of the program
/// undoes it ([`crate::recover`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnTrial {
    pub set: u64,
    pub done: RuleDone,
}

/// Applies one rule's steps on trial. `judge` is as in [`crate::Asked`]; `options` decide whether protection may be
/// removed.
///
/// # Errors
/// The journal cannot be used; changes are undone as far as possible.
pub fn try_rule(
    journal: &mut Journal,
    rule: &RulePlan,
    options: &FixOptions,
    judge: &dyn Fn(&str) -> Option<(State, String)>,
) -> Result<OnTrial, JournalError> {
    let set = journal.begin(None)?;
    let asked = crate::Asked { judge, guard: &|_| Ok(()) };
    match one(journal, set, rule, options, &asked) {
        Ok(done) => Ok(OnTrial { set, done }),
        Err(error) => {
            revert(journal, set);
            Err(error)
        }
    }
}

/// Undoes a set on trial, the last change first.
pub fn revert(journal: &mut Journal, set: u64) -> Vec<Taken> {
    let taken = restore(journal, |entry| entry.set == set);
    settle_sets(journal);
    taken
}

/// Keeps a set on trial: afterwards only [`crate::undo()`] undoes it.
///
/// # Errors
/// The journal cannot be written; the set is still on trial.
pub fn keep(journal: &mut Journal, set: u64) -> Result<(), JournalError> {
    journal.end(set)
}
