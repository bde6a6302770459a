use punctual_kernel::patch::PatchError;
use punctual_kernel::programs::ProgramError;
use punctual_vm::VmError;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum KbuildError {
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Signature(#[from] PatchError),
    #[error(transparent)]
    Packages(#[from] VmError),
    #[error("{0}")]
    Usage(String),
    #[error("{what} failed ({status}): {said}; then: {next}")]
    Failed { what: String, status: String, said: String, next: String },
    #[error("{} contains {found}, but {wanted} was requested: give a new folder with --out", path.display())]
    Taken { path: PathBuf, found: String, wanted: String },
    #[error("{}: {why}", path.display())]
    Bad { path: PathBuf, why: String },
    #[error("{0}")]
    Broken(Box<crate::build::Broken>),
}

impl KbuildError {
    pub(crate) fn file(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> KbuildError {
        let path = path.as_ref().to_owned();
        move |source| KbuildError::Program(ProgramError::File { what, path, source })
    }

    pub(crate) fn bad(path: &Path, why: impl Into<String>) -> KbuildError {
        KbuildError::Bad { path: path.to_owned(), why: why.into() }
    }

    pub fn is_usage(&self) -> bool {
        match self {
            KbuildError::Usage(_) | KbuildError::Taken { .. } => true,
            KbuildError::Packages(error) => error.is_usage(),
            _ => false,
        }
    }

    /// Returns true if the source or package itself is faulty: an invalid signature, or a compile error.
    pub fn is_verdict(&self) -> bool {
        match self {
            KbuildError::Signature(error) => !matches!(error, PatchError::Program(_)),
            KbuildError::Broken(_) => true,
            _ => false,
        }
    }
}
