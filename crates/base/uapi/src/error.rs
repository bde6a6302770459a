//! The error type of this crate.

use std::io;

/// A system call that failed.
#[derive(thiserror::Error)]
#[error("{call}({on}): {source}")]
pub struct Error {
    /// Name of the system call, as in section 2 of the manual.
    pub call: &'static str,
    pub on: String,
    pub source: io::Error,
}

impl Error {
    pub(crate) fn last(call: &'static str, on: impl Into<String>) -> Error {
        Error { call, on: on.into(), source: io::Error::last_os_error() }
    }

    pub(crate) fn from_errno(call: &'static str, on: impl Into<String>, errno: rustix::io::Errno) -> Error {
        Error { call, on: on.into(), source: errno.into() }
    }

    /// Returns the error number; `None` if the error did not come from the kernel.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

punctual_units::debug_as_display!(Error);
