use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{file}: {why}\n  {next}", why = nothing(begins), next = likely.unwrap_or(NEXT))]
    Unknown {
        file: String,
        /// First non-empty line of the file.
        begins: String,
        /// The likely type of the file, and the next command.
        likely: Option<&'static str>,
    },
    #[error("{file}: a table in an unknown format: {seen}")]
    Unlike {
        file: String,
        /// Description of the columns, with an example command.
        seen: String,
    },
    #[error("{file}: it has no complete results: {why}\n  give a file with the complete output of the tool")]
    Broken { file: String, why: String },
    #[error(
        "{file}: it is empty\n  give a file with the output of the tool; some tools write their log only at the end of a run"
    )]
    Empty { file: String },
    #[error("{file}, line {line}: {why}\n  {next}")]
    Form { file: String, line: u64, why: String, next: &'static str },
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
}

const NEXT: &str = "give a file with the complete output of a measuring tool (`punctual import --help` lists the formats); for a table of numbers describe its columns \
                    (--columns)";

fn nothing(begins: &str) -> String {
    format!("it has no results of a supported tool; it begins with `{begins}`")
}

impl Error {
    pub(crate) fn io(file: &str, source: io::Error) -> Error {
        Error::Io { file: file.into(), source }
    }

    /// Returns true if the environment caused the error, not the file.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
