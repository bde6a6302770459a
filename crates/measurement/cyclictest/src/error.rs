use crate::options::UsageError;

/// Why a run failed: nothing was measured, or a result could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("{0}")]
    Refused(String),
}
