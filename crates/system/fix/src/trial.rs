//! One rule's steps made on trial: taken back unless they are kept, also where the process dies in between.

use crate::fix::{FixOptions, RuleDone, one};
use crate::journal::{Journal, JournalError};
use crate::plan::RulePlan;
use crate::undo::{Taken, put_back, settle_sets};
use punctual_model::State;

/// A rule whose steps were made, in a set that is still under way: where this process dies, the next start of the program
/// takes it back ([`crate::recover`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnTrial {
    /// The set's number in the journal.
    pub set: u64,
    /// What came of the steps.
    pub done: RuleDone,
}

/// Makes one rule's steps on trial. `judge` is as in [`crate::Asked`]; `options` tell whether protection may be taken away.
///
/// # Errors
/// The journal cannot be used; what was done is taken back as far as that can be.
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
            take_back(journal, set);
            Err(error)
        }
    }
}

/// Takes a set on trial back, change by change, the last first.
pub fn take_back(journal: &mut Journal, set: u64) -> Vec<Taken> {
    let taken = put_back(journal, |entry| entry.set == set);
    settle_sets(journal);
    taken
}

/// Lets a set on trial stay: from now on only [`crate::undo()`] takes it back.
///
/// # Errors
/// The journal cannot be written: then it is still on trial.
pub fn keep(journal: &mut Journal, set: u64) -> Result<(), JournalError> {
    journal.end(set)
}
