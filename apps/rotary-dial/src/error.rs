//! Why the program cannot go on.

use punctual_rt::{CapacityError, NotOpened, SpawnError, StartError};
use punctual_wires::GpioError;
use std::io;
use std::path::PathBuf;

/// The command line or the configuration cannot be meant so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; see `rotary-dial --help`")]
pub struct UsageError(pub String);

/// Why the program does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Command line or configuration.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The configuration cannot be read.
    #[error("cannot read {}: {source}; see `ls -l {}`, or name another file with --config", path.display(), path.display())]
    NotRead {
        /// Its path.
        path: PathBuf,
        /// open(2) or read(2).
        source: io::Error,
    },
    /// The configuration is not what it should be.
    #[error("{}: {why}", path.display())]
    Config {
        /// Its path.
        path: PathBuf,
        /// Where and why.
        why: String,
    },
    /// A folder for the pipe cannot be made.
    #[error("mkdir({}): {source}; make it as root (mkdir {}), or name another pipe with --to PATH", path.display(), path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// mkdir(2).
        source: io::Error,
    },
    /// The pipe.
    #[error(transparent)]
    Pipe(#[from] NotOpened),
    /// A queue.
    #[error(transparent)]
    Queue(#[from] CapacityError),
    /// A line.
    #[error("line {name}: {source}")]
    Line {
        /// Its name.
        name: String,
        /// Why.
        source: GpioError,
    },
    /// Real time was refused.
    #[error("{0}\nor go on as an ordinary program, which may come late: --allow-ordinary")]
    NotRealTime(String),
    /// The start-up, for another reason.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The task.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Signals cannot be waited for.
    #[error("cannot wait for signals: {0}; see `cat /proc/self/status`")]
    Signals(punctual_uapi::Error),
    /// A thread cannot be started.
    #[error("cannot start the thread that plays the dial: {0}; see `ulimit -u`")]
    Thread(io::Error),
    /// The task ended by itself.
    #[error("the dial task ended: {0}; start the program again, and report this if it comes back")]
    Ended(String),
    /// The run directory.
    #[error("{0}; name another folder with --out")]
    Run(String),
}

impl Error {
    /// Exit code: 2 where the command line has to change, 4 where the machine has to.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Config { .. } => 2,
            _ => 4,
        }
    }
}
