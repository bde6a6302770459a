//! Why the program cannot go on.

use punctual_loads::LoadError;
use punctual_rt::{CapacityError, SpawnError, StartError};
use punctual_wires::GpioError;
use std::io;

/// The command line cannot be meant so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; see `metronome --help`")]
pub struct UsageError(pub String);

/// Why the program does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The line that is driven, or the one that is listened to.
    #[error("{what}: {source}")]
    Line {
        /// The option that names it.
        what: &'static str,
        /// Why.
        source: GpioError,
    },
    /// A queue.
    #[error(transparent)]
    Queue(#[from] CapacityError),
    /// Real time was refused.
    #[error("{0}\nor measure an ordinary thread: --policy ordinary, or --allow-ordinary where real time is refused")]
    NotRealTime(String),
    /// The start-up, for another reason.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The task.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A load.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Signals cannot be waited for, or the CPUs not be read.
    #[error("{0}; see `cat /proc/self/status`")]
    System(#[from] punctual_uapi::Error),
    /// A thread cannot be started.
    #[error("cannot start the thread that reads edges: {0}; see `ulimit -u`")]
    Thread(io::Error),
    /// Something ended by itself.
    #[error("the metronome ended: {0}; start the program again, and report this if it comes back")]
    Ended(String),
    /// A run directory.
    #[error("{0}; name another folder with --out")]
    Run(String),
}

impl Error {
    /// Exit code: 2 where the command line has to change, 4 where the machine has to.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::Load(error) if error.is_usage() => 2,
            _ => 4,
        }
    }
}
