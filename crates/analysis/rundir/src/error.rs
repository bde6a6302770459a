use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0} is not empty: an existing run is never overwritten. Name a new directory with --out")]
    NotEmpty(PathBuf),
    #[error("cannot {what} {path}: {source}{}", advice(.source, .path))]
    Io {
        /// Verb that names the failed operation: `create`, `write`, `read`, …
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{0} is still being measured by another process: wait for it, or end it (`fuser {0}` shows which)")]
    Busy(PathBuf),
    /// Writing to the directory is refused.
    #[error(transparent)]
    Refused(punctual_directory::Error),
    #[error("{path} cannot be resumed: {why}")]
    NotResumable { path: PathBuf, why: &'static str },
    #[error("{0} is not a run directory: it has no run.json. Name the directory that `punctual prove` printed")]
    NoRun(PathBuf),
    /// The file has the format of another program, or of a future version.
    #[error(
        "{path} has format `{found}`, but this program reads `{}`: use a newer punctual",
        punctual_model::RUN_SCHEMA
    )]
    Format { path: PathBuf, found: String },
    #[error("{path} is damaged beyond reading: {why}")]
    Damaged { path: PathBuf, why: String },
}

fn advice(source: &io::Error, path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("\n  free some space (df -h {folder}), or name another disk with --out DIR")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\n  name a directory you may write to with --out DIR".into()
        }
        io::ErrorKind::NotADirectory => "\n  name a directory, not a file".into(),
        _ => String::new(),
    }
}

impl Error {
    /// Converts an error of a directory that is written to.
    pub(crate) fn refused(error: punctual_directory::Error) -> Error {
        match error {
            io @ punctual_directory::Error::Io { .. } => io.into(),
            refused => Error::Refused(refused),
        }
    }

    /// Converts an error from opening a run directory: [`Error::NoRun`] if `root` does not exist or is a file.
    pub(crate) fn no_run(error: punctual_directory::Error, root: &Path) -> Error {
        match error.kind() {
            Some(io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Error::NoRun(root.to_owned()),
            _ => Error::refused(error),
        }
    }

    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { what, path, source }
    }

    /// Returns true if the environment caused the error (a full disk, a missing permission), not the input.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. } | Error::Refused(_))
    }
}

/// Errors of files in the run directory.
impl From<punctual_directory::Error> for Error {
    fn from(error: punctual_directory::Error) -> Error {
        match error {
            punctual_directory::Error::Io { doing: what, path, source } => Error::Io { what, path, source },
            punctual_directory::Error::Unfit { path, why } => Error::Damaged { path, why },
            exposed => Error::Refused(exposed),
        }
    }
}
