use std::io;
use std::path::PathBuf;

/// Failed tracefs operation. Each message ends with what the user can do.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    #[error(
        "no tracefs is mounted, and this process cannot create a private mount ({own}); type: mount -t tracefs nodev \
         /sys/kernel/tracing (the kernel needs CONFIG_FTRACE)"
    )]
    NotMounted { own: String },
    /// Access is denied by the mode of the file or by kernel lockdown.
    #[error("{path}: {source}; run as root (a locked-down kernel refuses root too: see /sys/kernel/security/lockdown)")]
    Denied { path: PathBuf, source: io::Error },
    /// The journal could not be written, so nothing was changed.
    #[error("{0}; nothing was changed")]
    Journal(#[from] punctual_journal::JournalError),
    #[error("this kernel has no tracer {tracer}; it has: {available}")]
    NoTracer { tracer: String, available: String },
    /// The kernel records the thread IDs of the initial PID namespace, which this process cannot translate to its own.
    #[error(
        "this process runs in a PID namespace (a container), and kernel events have the thread IDs of the initial one, so \
         threads cannot be told apart here; run punctual on the host, where --pid and --unit find the program in its \
         container, or start the container with --pid=host"
    )]
    Namespace,
    /// The kernel lacks an event that every explanation needs.
    #[error("this kernel has no event {0}: it needs CONFIG_EVENT_TRACING and CONFIG_FTRACE")]
    NoEvent(String),
    #[error("this kernel has no uprobes: it needs CONFIG_UPROBE_EVENTS")]
    NoUprobes,
    /// The semaphore of a USDT probe cannot be incremented.
    #[error("{file}: the kernel refuses to count up the probe's semaphore, which it can do since Linux 4.20: {source}")]
    Counter { file: PathBuf, source: io::Error },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl TracefsError {
    pub(crate) fn on(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TracefsError {
        let path = path.into();
        |source| match source.kind() {
            io::ErrorKind::PermissionDenied => TracefsError::Denied { path, source },
            _ => TracefsError::Io { path, source },
        }
    }
}
