//! Applies the steps of one rule on trial: they are undone unless they are kept, even if the process dies.

use crate::fix::{FixOptions, RuleDone, one};
use crate::journal::{Journal, JournalError};
use crate::plan::RulePlan;
use crate::undo::{Taken, restore, settle_sets};
use punctual_model::State;

/// A rule whose steps were applied, as a set of changes that is still open. If this process dies, the program undoes
/// the set when it is started again ([`crate::recover`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnTrial {
    pub set: u64,
    pub done: RuleDone,
}

/// Applies the steps of one rule on trial. `judge` is the same as in [`crate::Asked`]; `options` determine whether
/// protection may be removed.
///
/// # Errors
/// The journal cannot be used. Changes were undone as far as possible.
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

/// Undoes a set that is on trial, last change first.
pub fn revert(journal: &mut Journal, set: u64) -> Vec<Taken> {
    let taken = restore(journal, |entry| entry.set == set);
    settle_sets(journal);
    taken
}

/// Keeps a set that is on trial. After that, only [`crate::undo()`] undoes it.
///
/// # Errors
/// The journal cannot be written. The set is still on trial.
pub fn keep(journal: &mut Journal, set: u64) -> Result<(), JournalError> {
    journal.end(set)
}
