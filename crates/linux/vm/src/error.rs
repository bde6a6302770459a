use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum VmError {
    #[error("{program} is not installed; {remedy}")]
    Missing { program: String, remedy: String },
    #[error("{program} is version {found}, but {machine} needs {needed} or newer; {remedy}")]
    TooOld { program: String, found: String, needed: String, machine: String, remedy: String },
    #[error("cannot {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{program} failed ({status}): {said}")]
    Failed {
        /// The program and its arguments.
        program: String,
        status: String,
        said: String,
    },
    #[error("{0}")]
    NoKernel(String),
    #[error("{0}")]
    Usage(String),
    #[error("the kernel panicked after {lasted:.1?}, {when}: {line}\n{tail}")]
    Panicked {
        line: String,
        /// The console lines before the panic message, which may show the cause.
        tail: String,
        /// `in the script` or `before the script started`.
        when: &'static str,
        /// Time since QEMU was started.
        lasted: Duration,
    },
    #[error("{what} within {limit:.0?}; the console's last lines:\n{tail}")]
    TimedOut { what: &'static str, limit: Duration, tail: String },
    #[error("the guest stopped before {what} ({status}); the console's last lines:\n{tail}")]
    Stopped {
        what: &'static str,
        /// QEMU's exit status and message.
        status: String,
        tail: String,
    },
    /// The fetched files differ from what the guest packed.
    #[error("the guest's files came back damaged: {0}; kernel messages may be mixed into them: see the console")]
    Damaged(String),
}

impl VmError {
    pub fn is_usage(&self) -> bool {
        matches!(self, VmError::Usage(_) | VmError::NoKernel(_))
    }

    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> VmError {
        let path = path.into();
        move |source| VmError::File { what, path, source }
    }
}
