//! Why a file cannot be imported.

use crate::detect::Format;
use std::io;

/// Why a file cannot be imported: what failed, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing in it looks like a known format.
    #[error(
        "{file}: this is none of the formats that can be imported ({}); it begins `{begins}`\n  if it is one of them, say so with \
         --format",
        Format::names()
    )]
    Unknown {
        /// The file.
        file: String,
        /// Its first line with anything in it.
        begins: String,
    },
    /// It looks like a format, but has no figures in it.
    #[error("{file}: read as {format}, it holds no figures\n  give the tool's whole output, or another --format")]
    Nothing {
        /// The file.
        file: String,
        /// What it was read as.
        format: &'static str,
    },
    /// Its form is broken.
    #[error("{file}, line {line}: {why}\n  {next}")]
    Form {
        /// The file.
        file: String,
        /// Counted from 1; 0 where there are no lines.
        line: u64,
        /// What is wrong.
        why: String,
        /// What to do.
        next: &'static str,
    },
    /// It is larger than what is read of such a file.
    #[error("{file}: {why}")]
    TooLarge {
        /// The file.
        file: String,
        /// What is too large, and what to do.
        why: String,
    },
    /// Reading failed.
    #[error("cannot read {file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(file: &str, source: io::Error) -> Error {
        Error::Io { file: file.into(), source }
    }

    pub(crate) fn unknown(file: &str, head: &[u8]) -> Error {
        let text = String::from_utf8_lossy(head);
        let first = text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        let begins: String = first.chars().map(|c| if c.is_control() { '·' } else { c }).take(60).collect();
        Error::Unknown { file: file.into(), begins }
    }

    /// Is it the environment's fault, and not the file's?
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
