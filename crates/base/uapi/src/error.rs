//! The one error: which call, on what, why.

use std::io;

/// A system call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{call}({on}): {source}")]
pub struct Error {
    /// Name of the system call, as in section 2 of the manual.
    pub call: &'static str,
    /// What it was called on.
    pub on: String,
    /// Why it failed.
    pub source: io::Error,
}

impl Error {
    /// The error of the call that just failed, from errno.
    pub(crate) fn last(call: &'static str, on: impl Into<String>) -> Error {
        Error { call, on: on.into(), source: io::Error::last_os_error() }
    }

    /// From rustix.
    pub(crate) fn from_errno(call: &'static str, on: impl Into<String>, errno: rustix::io::Errno) -> Error {
        Error { call, on: on.into(), source: errno.into() }
    }

    /// The error number, where the kernel gave one.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}
