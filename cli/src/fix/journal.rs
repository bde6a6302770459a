//! Locates the journal of changes, and explains errors that occur when it is opened.

use crate::refusal::Refusal;
use punctual_fix::{FOLDER, Journal, JournalError};
use std::path::PathBuf;

/// Returns the directory of the journal; tests override it.
pub fn folder() -> PathBuf {
    std::env::var_os("PUNCTUAL_CHANGES").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

/// Returns an error while a fix waits for confirmation, which prevents further changes.
pub fn refuse_waiting(journal: &Journal) -> Result<(), Refusal> {
    if journal.sets().iter().all(|set| set.confirm_by_s.is_none()) {
        return Ok(());
    }
    let why = "an earlier fix waits for confirmation: `punctual undo --confirm` keeps it, `punctual undo` reverts it";
    Err(Refusal::environment(why))
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Refusal {
        Refusal::environment(advised(&error))
    }
}

/// Returns the text of an error, with the command to type next.
fn advised(error: &JournalError) -> String {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let next = match error.source.kind() {
        PermissionDenied if !rustix::process::geteuid().is_root() => {
            "; changing the machine requires root: sudo punctual …"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            "; nothing was changed: make that directory writable for root and retry"
        }
        StorageFull => "; free some space there (`df`) and retry",
        _ => "; `punctual undo --list` shows its entries",
    };
    format!("{error}{next}")
}
