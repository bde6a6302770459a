//! What goes wrong, each with what to type next.

use std::io;
use std::path::{Path, PathBuf};

/// A deployment that is not done, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// A file or folder could not be read, made or changed.
    #[error("cannot {what} {}: {source}{}", path.display(), hint(source))]
    File {
        /// `read`, `make`, `rename`, …
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The package is not what it says, or no kernel.
    #[error("{}: {what}", path.display())]
    Package {
        /// The package.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A program that is needed failed or is missing.
    #[error("`{command}`: {what}")]
    Program {
        /// As it would be typed.
        command: String,
        /// Its complaint, or how to install it.
        what: String,
    },
    /// Nothing was done: the machine is not in a state for it.
    #[error("{0}")]
    Refused(String),
    /// The record of the deployment cannot be read.
    #[error("{}: {what}; it is left as it is: `punctual undo` takes the boot entries back", path.display())]
    Record {
        /// Its file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The journal of changes cannot be used.
    #[error(transparent)]
    Journal(#[from] punctual_fix::JournalError),
    /// The target cannot be reached, or is not the one that is known.
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
pub(crate) fn file<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source }
}

/// The same for rustix.
pub(crate) fn errno<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(rustix::io::Errno) -> DeployError + 'p {
    move |source| DeployError::File { what, path: path.to_owned(), source: source.into() }
}
