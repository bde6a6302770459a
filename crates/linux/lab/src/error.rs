//! What can go wrong.

use punctual_vm::VmError;
use std::path::PathBuf;
use thiserror::Error;

/// Why a kernel could not be proven in the lab.
#[derive(Debug, Error)]
pub enum LabError {
    /// The guest could not be booted, or did not end well.
    #[error(transparent)]
    Vm(#[from] VmError),
    /// The guest's run directory cannot be read.
    #[error(transparent)]
    Run(#[from] punctual_rundir::Error),
    /// What was asked for cannot be done.
    #[error("{0}")]
    Usage(String),
    /// `punctual` in the guest did not come to a verdict.
    #[error("punctual ended with exit code {code} in the guest:\n{said}")]
    Guest {
        /// Its exit code.
        code: i32,
        /// The end of the console.
        said: String,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// `read`, `write`, …
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Git failed.
    #[error("git {what} failed: {said}")]
    Git {
        /// The subcommand.
        what: String,
        /// What it said.
        said: String,
    },
}

impl LabError {
    /// Was the caller's wish at fault, rather than the environment?
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
