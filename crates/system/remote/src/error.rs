use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("cannot {what} {}: {source}{}", path.display(), hint(source))]
    File {
        /// `read`, `make`, `rename`, …
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{command}`: {what}")]
    Program {
        command: String,
        /// Its error message, or how to install it.
        what: String,
    },
    /// What was fetched cannot be written.
    #[error("cannot write what comes: {source}{}", hint(source))]
    Here { source: io::Error },
    #[error(transparent)]
    Directory(#[from] punctual_directory::Error),
    /// What it sent is no run.
    #[error("{target}: {source}")]
    Archive { target: String, source: punctual_archive::Error },
    /// Nothing was done: the program cannot run there.
    #[error("{0}")]
    Refused(String),
    /// The target cannot be reached, or its host key is unknown.
    #[error("{0}")]
    Link(String),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; try as root: sudo punctual …",
        io::ErrorKind::StorageFull => "; make room: df -h, then the same command again",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it for writing: mount -o remount,rw",
        _ => "",
    }
}

/// For `map_err`: names what was done to which file.
pub(crate) fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> RemoteError + 'p {
    move |source| RemoteError::File { what, path: path.to_owned(), source }
}
