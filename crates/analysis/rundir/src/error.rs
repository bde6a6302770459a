//! What can go wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder for a new run holds something already.
    #[error("{0} is not empty: a run is never written over another. Name a new folder with --out")]
    NotEmpty(PathBuf),
    /// A system call failed.
    #[error("cannot {what} {path}: {source}{}", advice(.source, .path))]
    Io {
        /// `create`, `write`, `read` …
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("{0} is still being measured by another process: wait for it, or end it (`fuser {0}` tells which)")]
    Busy(PathBuf),
    /// A run that cannot go on.
    #[error("{path} cannot be resumed: {why}")]
    NotResumable {
        /// The run directory.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The folder holds no run.
    #[error("{0} is not a run directory: it has no run.json. Give the folder that `punctual prove` named")]
    NoRun(PathBuf),
    /// Another program's or a future format.
    #[error(
        "{path} is written in format `{found}`, this program reads `{}`: use a newer punctual",
        punctual_model::RUN_SCHEMA
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
    },
    /// Nothing usable is left of it.
    #[error("{path} is damaged beyond reading: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

fn advice(source: &io::Error, path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("\n  free some space (df -h {folder}), or name another disk with --out DIR")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\n  name a folder you may write with --out DIR".into()
        }
        io::ErrorKind::NotADirectory => "\n  name a folder, not a file".into(),
        _ => String::new(),
    }
}

impl Error {
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { what, path, source }
    }

    /// Is it the environment's fault (a full disk, a missing right) and not the input's?
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
