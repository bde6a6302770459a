use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error("cannot {what} {}: {source}{}", path.display(), hint(source))]
    File {
        /// `read`, `make`, `rename`, …
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The package contradicts itself, or is no kernel.
    #[error("{}: {what}", path.display())]
    Package { path: PathBuf, what: String },
    #[error("`{command}`: {what}")]
    Program {
        command: String,
        /// Its error message, or how to install it.
        what: String,
    },
    /// Nothing was done: the machine's state does not allow it.
    #[error("{0}")]
    Refused(String),
    #[error("{}: {what}; it is left as it is: `punctual undo` takes the boot entries back", path.display())]
    Record { path: PathBuf, what: String },
    #[error(transparent)]
    Journal(#[from] punctual_fix::JournalError),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; try as root: sudo punctual …",
        io::ErrorKind::StorageFull => "; make room: df -h, then the same command again",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it for writing: mount -o remount,rw",
        _ => "",
    }
}

/// For `map_err`.
pub(crate) fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source }
}

/// Like [`file`] for rustix.
pub(crate) fn errno<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(rustix::io::Errno) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source: source.into() }
}
