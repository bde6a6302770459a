//! Errors of directories and of the files beneath them.

use std::io;
use std::path::PathBuf;

/// A directory, or a file beneath one, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed operation as a verb that follows `cannot`, for example `create`.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The entry has the wrong type, or must not be used for another reason.
    #[error("{}: {why}", path.display())]
    Unfit { path: PathBuf, why: String },
    /// The process runs as root and would write to a directory that another user controls.
    #[error(
        "{}: {why}; root does not write to it, because other users control that directory: choose another directory{}",
        path.display(), .owner.map(|uid| format!(", or give --owner {uid} to write as that user")).unwrap_or_default()
    )]
    Exposed {
        /// Directory that other users control: the requested directory or one of its parents.
        path: PathBuf,
        why: String,
        /// ID of a user who can safely write to the directory.
        owner: Option<u32>,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(rustix::io::Errno) -> Error {
        let path = path.into();
        move |errno| Error::Io { doing, path, source: errno.into() }
    }

    /// Returns true if the cause may be a lack of permissions, so that another user may succeed.
    pub(crate) fn is_for_want_of_rights(&self) -> bool {
        matches!(self, Error::Unfit { .. }) || self.kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// Returns only the error of the system call, without the operation and the path, for callers that describe the
    /// operation themselves. Other variants are returned unchanged.
    pub fn cause(self) -> io::Error {
        match self {
            Error::Io { source, .. } => source,
            refused => refused.into(),
        }
    }

    /// Returns the kind of the error of the system call; `None` if no system call failed.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = error.kind().unwrap_or(io::ErrorKind::PermissionDenied);
        io::Error::new(kind, error)
    }
}
