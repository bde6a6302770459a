use punctual_loads::LoadError;
use punctual_rt::{CapacityError, SpawnError, StartError};
use punctual_wires::GpioError;
use std::io;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; see `metronome --help`")]
pub struct UsageError(pub String);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("{what}: {source}")]
    Line { what: &'static str, source: GpioError },
    #[error(transparent)]
    Queue(#[from] CapacityError),
    #[error("{0}\nor measure an ordinary thread: --policy ordinary, or --allow-ordinary where real time is refused")]
    NotRealTime(String),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{0}; see `cat /proc/self/status`")]
    System(#[from] punctual_uapi::Error),
    #[error("cannot start the thread that reads edges: {0}; see `ulimit -u`")]
    Thread(io::Error),
    #[error("the metronome ended: {0}; restart the program, and report this if it happens again")]
    Ended(String),
    #[error("{0}; choose another directory with --out")]
    Run(String),
}

impl Error {
    /// Returns the program's exit code: 2 if the command line must be changed, 4 if the machine must be changed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Load(error) if error.is_usage() => 2,
            _ => 4,
        }
    }
}
