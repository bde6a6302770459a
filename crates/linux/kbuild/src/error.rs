//! What may go wrong, in the words of who has to mend it.

use punctual_kernel::patch::PatchError;
use punctual_kernel::programs::ProgramError;
use punctual_vm::VmError;
use std::path::{Path, PathBuf};

/// Why a kernel was not fetched, built, packaged or written.
#[derive(Debug, thiserror::Error)]
pub enum KbuildError {
    /// A program or file.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A signature or a sum.
    #[error(transparent)]
    Signature(#[from] PatchError),
    /// The distribution's packages.
    #[error(transparent)]
    Packages(#[from] VmError),
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    /// A program ended with an error.
    #[error("{what} failed ({status}): {said}; then: {next}")]
    Failed {
        /// What was done, with its object.
        what: String,
        /// The exit status.
        status: String,
        /// The end of what it said.
        said: String,
        /// What to type.
        next: String,
    },
    /// The folder holds something else.
    #[error("{} holds {found}, and {wanted} is asked for: name a new folder (--out)", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A file does not have the form it should.
    #[error("{}: {why}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// make ended with an error.
    #[error("{0}")]
    Broken(Box<crate::build::Broken>),
}

impl KbuildError {
    /// The error of an operation on a file, for `map_err`.
    pub(crate) fn file(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> KbuildError {
        let path = path.as_ref().to_owned();
        move |source| KbuildError::Program(ProgramError::File { what, path, source })
    }

    pub(crate) fn bad(path: &Path, why: impl Into<String>) -> KbuildError {
        KbuildError::Bad { path: path.to_owned(), why: why.into() }
    }

    /// Is it the user's words that have to change?
    pub fn is_usage(&self) -> bool {
        match self {
            KbuildError::Usage(_) | KbuildError::Taken { .. } => true,
            KbuildError::Packages(error) => error.is_usage(),
            _ => false,
        }
    }

    /// Is it the thing that was checked that is bad: a signature, a compile error?
    pub fn is_verdict(&self) -> bool {
        match self {
            KbuildError::Signature(error) => !matches!(error, PatchError::Program(_)),
            KbuildError::Broken(_) => true,
            _ => false,
        }
    }
}
