//! What can go wrong, and what to type next.

use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why a guest could not be booted, or did not end well.
#[derive(Debug, Error)]
pub enum VmError {
    /// A program is not installed.
    #[error("{program} is not installed; {remedy}")]
    Missing {
        /// The program.
        program: String,
        /// What to install.
        remedy: String,
    },
    /// QEMU is too old for the machine.
    #[error("{program} is version {found}, but {machine} needs {needed} or newer; {remedy}")]
    TooOld {
        /// The emulator.
        program: String,
        /// The version there is.
        found: String,
        /// The least that will do.
        needed: String,
        /// For what.
        machine: String,
        /// What to install.
        remedy: String,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// `read`, `write`, …
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("{program} failed ({status}): {said}")]
    Failed {
        /// The program and its arguments.
        program: String,
        /// Its exit status.
        status: String,
        /// The end of what it said.
        said: String,
    },
    /// No such kernel.
    #[error("{0}")]
    NoKernel(String),
    /// What was asked for does not go together.
    #[error("{0}")]
    Usage(String),
    /// The kernel panicked.
    #[error("the kernel panicked after {lasted:.1?}, {when}: {line}\n{tail}")]
    Panicked {
        /// The panic's line.
        line: String,
        /// What came before it: its cause, where the console has one.
        tail: String,
        /// Before or after the script was started.
        when: &'static str,
        /// Since QEMU was started.
        lasted: Duration,
    },
    /// Nothing came within the time limit.
    #[error("{what} within {limit:.0?}; the console's last lines:\n{tail}")]
    TimedOut {
        /// What did not happen.
        what: &'static str,
        /// The limit.
        limit: Duration,
        /// The last lines of the console.
        tail: String,
    },
    /// The machine stopped before everything had come.
    #[error("the guest stopped before {what} ({status}); the console's last lines:\n{tail}")]
    Stopped {
        /// What had not happened.
        what: &'static str,
        /// QEMU's exit status and its complaint.
        status: String,
        /// The last lines of the console.
        tail: String,
    },
    /// What the guest sent back is not what it packed.
    #[error("the guest's files came back damaged: {0}; the kernel may have written between them: see the console")]
    Damaged(String),
}

impl VmError {
    /// Was the caller's wish at fault, rather than the environment?
    pub fn is_usage(&self) -> bool {
        matches!(self, VmError::Usage(_) | VmError::NoKernel(_))
    }

    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> VmError {
        let path = path.into();
        move |source| VmError::File { what, path, source }
    }
}
