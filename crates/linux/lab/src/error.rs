use punctual_directory::{Dir, Whose};
use punctual_vm::VmError;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LabError {
    #[error(transparent)]
    Vm(#[from] VmError),
    #[error(transparent)]
    Run(#[from] punctual_rundir::Error),
    #[error("{0}")]
    Usage(String),
    /// `punctual` in the guest reached no verdict.
    #[error("punctual ended with exit code {code} in the guest:\n{said}")]
    Guest { code: i32, said: String },
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("git {what} failed: {said}")]
    Git { what: String, said: String },
}

impl LabError {
    /// Opens the folder of results and creates it if it is missing. Programs write there by its path, so no other user
    /// may change it.
    ///
    /// # Errors
    /// See [`Dir::create`].
    pub(crate) fn make(folder: &Path) -> Result<(), LabError> {
        Dir::create(folder, Whose::System).map(drop).map_err(|e| LabError::file("make", folder)(e.cause()))
    }

    pub fn is_usage(&self) -> bool {
        match self {
            LabError::Vm(e) => e.is_usage(),
            LabError::Usage(_) | LabError::Git { .. } => true,
            LabError::Run(_) | LabError::Guest { .. } | LabError::File { .. } => false,
        }
    }

    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::File { what, path, source }
    }
}
