use crate::format::Format;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{file}: this is none of the formats that can be imported ({}); it begins `{begins}`\n  if it is one of them, say so with \
         --format",
        Format::names()
    )]
    Unknown {
        file: String,
        /// First non-empty line.
        begins: String,
    },
    #[error("{file}: read as {format}, it holds no figures\n  give the tool's whole output, or another --format")]
    Nothing {
        file: String,
        /// The format as which it was read.
        format: &'static str,
    },
    #[error("{file}, line {line}: {why}\n  {next}")]
    Form { file: String, line: u64, why: String, next: &'static str },
    #[error("{file}: {why}")]
    TooLarge { file: String, why: String },
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
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

    /// The cause is the environment, not the file.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
