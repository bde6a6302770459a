//! Why a delay cannot be planted.

use std::io;

/// Why a delay cannot be planted.
#[derive(Debug, thiserror::Error)]
pub enum PlantError {
    /// This kernel or machine has no way to it.
    #[error("not possible here: {0}")]
    Impossible(String),
    /// A system call or a file failed.
    #[error("{what}: {source}")]
    Failed {
        /// What was to be done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A thread did not get its CPU or policy.
    #[error(transparent)]
    Refused(#[from] punctual_rt::Refused),
    /// A typed system call failed.
    #[error(transparent)]
    Call(#[from] punctual_uapi::Error),
    /// A process of the campaign said something that cannot be read, or ended early.
    #[error("{0}")]
    Child(String),
}

impl PlantError {
    /// For `map_err`: what was to be done.
    pub(crate) fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> PlantError {
        let what = what.into();
        move |source| PlantError::Failed { what, source: source.into() }
    }
}
