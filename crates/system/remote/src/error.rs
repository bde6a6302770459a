use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("cannot {what} {}: {source}{}", path.display(), hint(source))]
    File {
        /// The failed operation: `read`, `make`, `rename`, …
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{command}`: {what}")]
    Program {
        command: String,
        /// The error message, or advice on how to install the program.
        what: String,
    },
    /// The fetched data cannot be written.
    #[error("cannot write the received data: {source}{}", hint(source))]
    Here { source: io::Error },
    #[error(transparent)]
    Directory(#[from] punctual_directory::Error),
    /// The target sent an archive that is not a run.
    #[error("{target}: {source}")]
    Archive { target: String, source: punctual_archive::Error },
    /// The program cannot run on the target. Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// The target cannot be reached, or its host key is unknown.
    #[error("{0}")]
    Link(String),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; try as root: sudo punctual …",
        io::ErrorKind::StorageFull => "; free some space (see df -h) and run the same command again",
        io::ErrorKind::ReadOnlyFilesystem => "; remount it writable: mount -o remount,rw",
        _ => "",
    }
}

/// Returns a function for `map_err` that adds the operation and the file to an error.
pub(crate) fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> RemoteError + 'p {
    move |source| RemoteError::File { what, path: path.to_owned(), source }
}
