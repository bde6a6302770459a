use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a history could not be read or written. The message includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the history {}: {why}; name another file with --db", path.display())]
    Open {
        path: PathBuf,
        /// Error message of SQLite or the system.
        why: String,
    },
    #[error("there is no history at {}; `punctual history add RUN` creates one, --db names another", .0.display())]
    None(PathBuf),
    /// The file is not a database, or its pages or values contradict each other.
    #[error(
        "the history {} is damaged: {why}\n  it contains only summaries of run directories: move it aside and add \
         them again\n  mv {} {}.damaged && punctual history add DIR",
        path.display(), path.display(), path.display()
    )]
    Damaged { path: PathBuf, why: String },
    #[error("{} is a database, but not a history of punctual; name another file with --db", .0.display())]
    Foreign(PathBuf),
    #[error(
        "the history {} has schema version {found}, but this punctual supports {known}: use the newer punctual that wrote \
         it, or another file with --db",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        /// The latest supported version.
        known: i64,
    },
    #[error("the history {} is in use by another process; try again", .0.display())]
    Busy(PathBuf),
    #[error("cannot write the history {}: {why}; name another file with --db", path.display())]
    Write {
        path: PathBuf,
        /// Error message of SQLite.
        why: String,
    },
    #[error("the history has no run `{0}`; `punctual history` lists them")]
    NoRun(String),
    #[error("more than one run ID begins with `{0}`: type more of it")]
    Ambiguous(String),
    /// The name could be mistaken for another kind of baseline.
    #[error("`{0}` cannot name a baseline: use a letter and then letters, digits, - and _")]
    Name(String),
}

impl Error {
    /// Returns true if the environment caused the error (exit code 4), false if the input did (2).
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Open { .. } | Error::Busy(_) | Error::Write { .. })
    }

    pub(crate) fn open(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |e| Error::Open { path, why: e.to_string() }
    }

    pub(crate) fn folder(path: &Path) -> impl FnOnce(punctual_directory::Error) -> Error {
        let path = path.to_owned();
        move |e| Error::Open { path, why: e.to_string() }
    }

    /// Interprets SQLite's error code.
    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Error {
        let path = path.to_owned();
        move |e| {
            let (path, why) = (path.clone(), e.to_string());
            match e.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy(path),
                Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Error::Open { path, why },
                Some(ErrorCode::ReadOnly | ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
                    Error::Write { path, why }
                }
                // SQLITE_NOTADB, SQLITE_CORRUPT, and values of the wrong type.
                _ => Error::Damaged { path, why },
            }
        }
    }
}
