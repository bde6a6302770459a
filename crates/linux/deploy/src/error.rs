use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error("cannot {what} {}: {source}{}", path.display(), hint(source))]
    File { what: &'static str, path: PathBuf, source: io::Error },
    /// The package is inconsistent, or is not a kernel package.
    #[error("{}: {what}", path.display())]
    Package { path: PathBuf, what: String },
    #[error("`{command}`: {what}")]
    Program {
        command: String,
        /// Error message of the program, or how to install the program.
        what: String,
    },
    /// Nothing was done because the state of the machine does not allow it.
    #[error("{0}")]
    Refused(String),
    #[error("{}: {what}; it is left unchanged: `punctual undo` restores the boot entries", path.display())]
    Record { path: PathBuf, what: String },
    #[error(transparent)]
    Journal(#[from] punctual_fix::JournalError),
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; try as root: sudo punctual …",
        io::ErrorKind::StorageFull => "; free some space (df -h), then run the same command again",
        io::ErrorKind::ReadOnlyFilesystem => "; mount it for writing: mount -o remount,rw",
        _ => "",
    }
}

pub(crate) fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source }
}

/// Like [`file`], for errors of rustix.
pub(crate) fn errno<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(rustix::io::Errno) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source: source.into() }
}
