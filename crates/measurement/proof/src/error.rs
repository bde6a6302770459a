use punctual_loads::LoadError;
use punctual_measure::{CpuError, EngineError};
use punctual_rundir as rundir;

/// Why a run failed: nothing was measured, or the results could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The options are invalid on this machine.
    #[error("{0}")]
    Usage(String),
    /// A privilege, disk space or a device is missing.
    #[error("{0}")]
    Environment(String),
}

impl ProofError {
    /// Returns true for an error in the user's input (exit code 2), false for an error of the environment (exit code
    /// 4).
    pub fn is_usage(&self) -> bool {
        matches!(self, ProofError::Usage(_))
    }
}

impl From<CpuError> for ProofError {
    fn from(e: CpuError) -> Self {
        match e {
            CpuError::Forbidden { .. } => ProofError::Environment(e.to_string()),
            _ => ProofError::Usage(e.to_string()),
        }
    }
}

impl From<EngineError> for ProofError {
    fn from(e: EngineError) -> Self {
        ProofError::Environment(e.to_string())
    }
}

impl From<rundir::Error> for ProofError {
    fn from(e: rundir::Error) -> Self {
        if e.is_environment() { ProofError::Environment(e.to_string()) } else { ProofError::Usage(e.to_string()) }
    }
}

impl From<LoadError> for ProofError {
    fn from(e: LoadError) -> Self {
        if e.is_usage() { ProofError::Usage(e.to_string()) } else { ProofError::Environment(e.to_string()) }
    }
}

impl From<punctual_uapi::Error> for ProofError {
    fn from(e: punctual_uapi::Error) -> Self {
        ProofError::Environment(e.to_string())
    }
}
