//! Why nothing can be traced.

use std::io;
use std::path::PathBuf;

/// Why there is no trace; every text ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// No tracefs is mounted, and this process cannot have a mount of its own.
    #[error(
        "no tracefs is mounted, and this process cannot have a mount of its own ({own}); type: mount -t tracefs nodev \
         /sys/kernel/tracing (the kernel needs CONFIG_FTRACE)"
    )]
    NotMounted {
        /// Why not.
        own: String,
    },
    /// Not permitted, by file mode or by lockdown.
    #[error("{path}: {source}; run as root (a locked-down kernel refuses root too: see /sys/kernel/security/lockdown)")]
    Denied {
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The journal could not be written, so nothing was changed.
    #[error("{0}; nothing was changed")]
    Journal(#[from] punctual_journal::JournalError),
    /// The kernel does not have the tracer.
    #[error("this kernel has no tracer {tracer}; it has: {available}")]
    NoTracer {
        /// Which was wanted.
        tracer: String,
        /// What there is.
        available: String,
    },
    /// An event that nothing can be explained without is not there.
    #[error("this kernel has no event {0}: it needs CONFIG_EVENT_TRACING and CONFIG_FTRACE")]
    NoEvent(String),
    /// Anything else.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl TracefsError {
    /// The system's answer on a path.
    pub(crate) fn on(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TracefsError {
        let path = path.into();
        |source| match source.kind() {
            io::ErrorKind::PermissionDenied => TracefsError::Denied { path, source },
            _ => TracefsError::Io { path, source },
        }
    }
}
