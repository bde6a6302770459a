use punctual_measure::{CpuError, EngineError};
use punctual_proof::ProofError;
use std::path::PathBuf;

/// Why a watch could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The options are invalid on this machine.
    #[error("{0}")]
    Usage(String),
    /// A privilege or disk space is missing.
    #[error("{0}")]
    Environment(String),
    #[error(
        "{path} is being written by another `punctual watch`{}: stop that first, or name another directory with --out DIR",
        .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Locked {
        path: PathBuf,
        /// The process that holds the lock, if known.
        pid: Option<u32>,
    },
    #[error("{0} has no watch.json: give the directory that was passed to `punctual watch --out`")]
    NoWatch(PathBuf),
    #[error(
        "{path} has format `{found}`, but this program reads `{}`: use a newer punctual",
        punctual_model::WATCH_SCHEMA
    )]
    Format { path: PathBuf, found: String },
    #[error("{path} cannot be read: {why}; the run directories in {}/runs are readable: `punctual report RUN`", .path.parent().unwrap_or(.path).display())]
    Damaged { path: PathBuf, why: String },
}

impl WatchError {
    /// Returns true for an error in the user's input (exit code 2), false for an error of the environment (exit code
    /// 4).
    pub fn is_usage(&self) -> bool {
        !matches!(self, WatchError::Environment(_) | WatchError::Locked { .. })
    }
}

impl From<punctual_directory::Error> for WatchError {
    fn from(e: punctual_directory::Error) -> WatchError {
        WatchError::Environment(match e {
            punctual_directory::Error::Io { .. } => format!("{e}; name another directory with --out DIR"),
            refused => refused.to_string(),
        })
    }
}

impl From<ProofError> for WatchError {
    fn from(e: ProofError) -> WatchError {
        if e.is_usage() { WatchError::Usage(e.to_string()) } else { WatchError::Environment(e.to_string()) }
    }
}

impl From<CpuError> for WatchError {
    fn from(e: CpuError) -> WatchError {
        ProofError::from(e).into()
    }
}

impl From<EngineError> for WatchError {
    fn from(e: EngineError) -> WatchError {
        ProofError::from(e).into()
    }
}

impl From<punctual_uapi::Error> for WatchError {
    fn from(e: punctual_uapi::Error) -> WatchError {
        WatchError::Environment(e.to_string())
    }
}
