use punctual_rt::{CapacityError, NotOpened, SpawnError, StartError};
use punctual_wires::GpioError;
use std::io;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; see `rotary-dial --help`")]
pub struct UsageError(pub String);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("cannot read {}: {source}; see `ls -l {}`, or give another file with --config", path.display(), path.display())]
    NotRead { path: PathBuf, source: io::Error },
    #[error("{}: {why}", path.display())]
    Config { path: PathBuf, why: String },
    #[error("mkdir({}): {source}; create it as root (mkdir {}), or give another pipe with --to PATH", path.display(), path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Pipe(#[from] NotOpened),
    #[error(transparent)]
    Queue(#[from] CapacityError),
    #[error("line {name}: {source}")]
    Line { name: String, source: GpioError },
    #[error("{0}\nor run as an ordinary program, which may be late: --allow-ordinary")]
    NotRealTime(String),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("cannot wait for signals: {0}; see `cat /proc/self/status`")]
    Signals(punctual_uapi::Error),
    #[error("cannot start the thread that plays the dial: {0}; see `ulimit -u`")]
    Thread(io::Error),
    #[error("the dial task ended: {0}; restart the program, and report this if it happens again")]
    Ended(String),
    #[error("{0}; choose another directory with --out")]
    Run(String),
}

impl Error {
    /// Returns the program's exit code: 2 if the command line must be changed, 4 if the machine must be changed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Config { .. } => 2,
            _ => 4,
        }
    }
}
