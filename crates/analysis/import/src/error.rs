use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{file}: {why}\n  {next}", why = nothing(begins), next = likely.unwrap_or(NEXT))]
    Unknown {
        file: String,
        /// First non-empty line.
        begins: String,
        /// What the file seems to be, and the next command.
        likely: Option<&'static str>,
    },
    #[error("{file}: a table of an unknown tool: {seen}")]
    Unlike {
        file: String,
        /// Description of the columns, and what to type.
        seen: String,
    },
    #[error("{file}: it has no complete figures: {why}\n  name a file with the tool's complete output")]
    Broken { file: String, why: String },
    #[error(
        "{file}: it is empty\n  name a file with the tool's output; a log that is written at the end of a run is empty until then"
    )]
    Empty { file: String },
    #[error("{file}, line {line}: {why}\n  {next}")]
    Form { file: String, line: u64, why: String, next: &'static str },
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
}

const NEXT: &str = "name a file with a measuring tool's complete output (docs/import.md lists the tools); for a table of numbers describe its columns \
                    (--columns)";

fn nothing(begins: &str) -> String {
    format!("it has no figures of a tool that can be imported; it begins with `{begins}`")
}

impl Error {
    pub(crate) fn io(file: &str, source: io::Error) -> Error {
        Error::Io { file: file.into(), source }
    }

    /// True if the cause is the environment, not the file.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
