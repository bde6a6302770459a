use crate::options::UsageError;
use crate::rtl433::Rtl433Error;
use punctual_loads::LoadError;
use punctual_rt::{AlarmsFull, CapacityError, NotOpened, SpawnError, StartError};
use punctual_tracefs::TracefsError;
use punctual_wires::GpioError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("the transmitter's line: {0}")]
    Line(#[source] GpioError),
    #[error("the captured line: {0}")]
    Capture(#[source] GpioError),
    #[error("the FIFO: {0}")]
    Pipe(#[from] NotOpened),
    /// Memory could not be locked, or a check of the machine failed.
    #[error("{0}; or continue without it: --allow-ordinary")]
    Start(#[from] StartError),
    #[error("{0}; or run as an ordinary program: --allow-ordinary")]
    Spawn(#[from] SpawnError),
    #[error("--capture trace: {0}")]
    Trace(#[from] TracefsError),
    #[error(
        "--capture trace: this kernel has no event gpio:gpio_value, which needs CONFIG_GPIOLIB and CONFIG_EVENT_TRACING; capture a wired input instead"
    )]
    NoTracepoint,
    #[error("the first descriptor passed by systemd is {what}, not {}; give ListenFIFO= in rf-switch.socket and --pipe the same path", path.display())]
    NotOurFifo { what: String, path: PathBuf },
    #[error(transparent)]
    Rtl433(#[from] Rtl433Error),
    /// A load in the arguments of `--trial` is invalid.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("cannot {what} {}: {source}; see ls -ld {}", path.display(), path.parent().unwrap_or(path).display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{call}: {source}; see ulimit -n and ulimit -u")]
    Call { call: &'static str, source: io::Error },
    #[error(transparent)]
    Signals(#[from] punctual_uapi::Error),
    #[error(transparent)]
    Capacity(#[from] CapacityError),
    #[error(transparent)]
    Alarms(#[from] AlarmsFull),
    #[error("the {0} thread panicked, which is a bug in this program: please report its output")]
    Thread(&'static str),
    #[error("{0}")]
    NotSent(String),
}

impl Error {
    pub fn code(&self) -> u8 {
        match self {
            Error::NotSent(_) => 1,
            Error::Usage(_) | Error::Load(_) => 2,
            _ => 4,
        }
    }

    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { what, path, source }
    }

    pub(crate) fn call(call: &'static str) -> impl FnOnce(rustix::io::Errno) -> Error {
        move |errno| Error::Call { call, source: errno.into() }
    }
}
