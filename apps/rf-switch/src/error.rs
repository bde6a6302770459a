//! Why the program cannot go on. Each says what to type next.

use crate::options::UsageError;
use crate::rtl433::Rtl433Error;
use punctual_loads::LoadError;
use punctual_rt::{AlarmsFull, CapacityError, NotOpened, SpawnError, StartError};
use punctual_tracefs::TracefsError;
use punctual_wires::GpioError;
use std::io;
use std::path::PathBuf;

/// What ended it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The line.
    #[error("the transmitter's line: {0}")]
    Line(#[source] GpioError),
    /// The line that is captured.
    #[error("the captured line: {0}")]
    Capture(#[source] GpioError),
    /// The FIFO.
    #[error("the FIFO: {0}")]
    Pipe(#[from] NotOpened),
    /// Memory or checks.
    #[error("{0}; or go on without: --allow-ordinary")]
    Start(#[from] StartError),
    /// The task.
    #[error("{0}; or go on as an ordinary program: --allow-ordinary")]
    Spawn(#[from] SpawnError),
    /// The tracepoint.
    #[error("--capture trace: {0}")]
    Trace(#[from] TracefsError),
    /// The kernel has no such tracepoint.
    #[error(
        "--capture trace: this kernel has no event gpio:gpio_value: it needs CONFIG_GPIOLIB and CONFIG_EVENT_TRACING; capture a wired input instead"
    )]
    NoTracepoint,
    /// The descriptor of systemd.
    #[error("the first descriptor that systemd hands over is {what}, not {}; let ListenFIFO= of rf-switch.socket and --pipe name the same", path.display())]
    NotOurFifo {
        /// What it is.
        what: String,
        /// What it should be.
        path: PathBuf,
    },
    /// rtl_433.
    #[error(transparent)]
    Rtl433(#[from] Rtl433Error),
    /// A load of a trial that was misnamed.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file.
    #[error("cannot {what} {}: {source}; see ls -ld {}", path.display(), path.parent().unwrap_or(path).display())]
    File {
        /// `write`, `read`, …
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A system call.
    #[error("{call}: {source}; see ulimit -n and ulimit -u")]
    Call {
        /// Which.
        call: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A signal mask.
    #[error(transparent)]
    Signals(#[from] punctual_uapi::Error),
    /// A ring.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    /// Alarms.
    #[error(transparent)]
    Alarms(#[from] AlarmsFull),
    /// A thread of ours is gone.
    #[error("the {0} thread ended by a panic, which is an error of this program: please report what it printed")]
    Thread(&'static str),
    /// Not all was sent.
    #[error("{0}")]
    NotSent(String),
}

impl Error {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Error::NotSent(_) => 1,
            Error::Usage(_) | Error::Load(_) => 2,
            _ => 4,
        }
    }

    /// Of a file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { what, path, source }
    }

    /// Of a system call.
    pub(crate) fn call(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Error {
        move |errno| Error::Call { call, source: errno.into() }
    }
}
