//! The journal of changes: where it is, and why it cannot be used.

use crate::refusal::Refusal;
use punctual_fix::{FOLDER, Journal, JournalError};
use std::path::PathBuf;

/// The journal's folder; another one for tests.
pub fn folder() -> PathBuf {
    std::env::var_os("PUNCTUAL_CHANGES").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

/// Nothing is changed while a fix waits to be confirmed.
pub fn refuse_waiting(journal: &Journal) -> Result<(), Refusal> {
    if journal.sets().iter().all(|set| set.confirm_by_s.is_none()) {
        return Ok(());
    }
    let why = "an earlier fix waits to be confirmed: `punctual undo --keep` keeps it, `punctual undo` takes it back";
    Err(Refusal::environment(why))
}

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Refusal {
        Refusal::environment(advised(&error))
    }
}

/// The error, and what to type next.
fn advised(error: &JournalError) -> String {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
    let next = match error.source.kind() {
        PermissionDenied if !rustix::process::geteuid().is_root() => {
            "; changing the machine takes root: sudo punctual …"
        }
        PermissionDenied | ReadOnlyFilesystem => {
            "; nothing was changed: make that folder writable for root, then again"
        }
        StorageFull => "; make room there (`df`), then again",
        _ => "; `punctual undo --list` shows what it knows",
    };
    format!("{error}{next}")
}
