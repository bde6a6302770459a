use std::io;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{file}: {why}\n  {next}", why = nothing(begins), next = likely.unwrap_or(NEXT))]
    Unknown {
        file: String,
        /// First non-empty line.
        begins: String,
        /// What it seems to be, and the next command.
        likely: Option<&'static str>,
    },
    #[error("{file}: a table that is no known tool's: {seen}")]
    Unlike {
        file: String,
        /// The columns, and what to type.
        seen: String,
    },
    #[error("{file}: it holds no whole figures: {why}\n  give the tool's whole output")]
    Broken { file: String, why: String },
    #[error(
        "{file}: it is empty\n  give the tool's output; a log that is written at the end of a run is empty until then"
    )]
    Empty { file: String },
    #[error("{file}, line {line}: {why}\n  {next}")]
    Form { file: String, line: u64, why: String, next: &'static str },
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
}

const NEXT: &str = "give a measuring tool's whole output (docs/import.md lists them); for a table of numbers say what its columns are \
                    (--columns)";

fn nothing(begins: &str) -> String {
    format!("no figures of a tool that can be imported were found in it; it begins `{begins}`")
}

impl Error {
    pub(crate) fn io(file: &str, source: io::Error) -> Error {
        Error::Io { file: file.into(), source }
    }

    /// The cause is the environment, not the file.
    pub fn is_environment(&self) -> bool {
        matches!(self, Error::Io { .. })
    }
}
