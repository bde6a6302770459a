//! Why a directory or a file beneath it is not used.

use std::io;
use std::path::PathBuf;

/// A directory, or a file beneath one, that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// As in `cannot create …`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else than asked for lies there.
    #[error("{}: {why}", path.display())]
    Unfit {
        /// What.
        path: PathBuf,
        /// Why it is not used.
        why: String,
    },
    /// Root would write where another user decides what lies there.
    #[error(
        "{}: {why}; root does not write there, since others decide what lies there: choose another directory{}",
        path.display(), .owner.map(|uid| format!(", or give --owner {uid} to write as that user")).unwrap_or_default()
    )]
    Exposed {
        /// The directory at fault, which is the one named or one above it.
        path: PathBuf,
        /// Who else can change it.
        why: String,
        /// The user as whom one can write there.
        owner: Option<u32>,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(rustix::io::Errno) -> Error {
        let path = path.into();
        move |errno| Error::Io { doing, path, source: errno.into() }
    }

    /// Could another user do what failed?
    pub(crate) fn is_for_want_of_rights(&self) -> bool {
        matches!(self, Error::Unfit { .. }) || self.kind() == Some(io::ErrorKind::PermissionDenied)
    }

    /// The error of the system call alone, for a caller that names what it was doing; a refusal stays as it is.
    pub fn cause(self) -> io::Error {
        match self {
            Error::Io { source, .. } => source,
            refused => refused.into(),
        }
    }

    /// The kind of the system call's error; `None` where none failed.
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
