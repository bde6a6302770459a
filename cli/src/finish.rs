//! Prints the result of a command and returns its exit code.

use crate::args::common::OutputArgs;
use crate::refusal::Refusal;
use crate::{exit, terminal};
use punctual_report::{Document, ResultOrError, json_value};
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Debug, Default)]
pub struct Answer {
    code: u8,
    /// Messages to be printed on standard error, in addition to the result.
    notes: Vec<String>,
    /// What the command prints on standard output.
    body: Body,
    /// True if the command fails when standard output cannot be written.
    is_needed: bool,
}

#[derive(Debug)]
enum Body {
    Text(Vec<u8>),
    /// The result part of the command's document.
    Result(Value),
}

impl Default for Body {
    fn default() -> Body {
        Body::Text(Vec::new())
    }
}

impl Answer {
    /// Creates an answer that prints a document with `--json`, nothing with `--quiet`, and text with neither.
    pub fn new<R: Serialize>(
        output: OutputArgs,
        code: u8,
        result: impl FnOnce() -> R,
        text: impl FnOnce() -> String,
    ) -> Answer {
        let body = match (output.json, output.quiet) {
            (true, _) => Body::Result(json_value(&result())),
            (false, true) => Body::default(),
            (false, false) => Body::Text(text().into_bytes()),
        };
        Answer { code, body, ..Answer::default() }
    }

    /// Creates an answer whose text is printed unchanged.
    pub fn text(code: u8, text: impl Into<Vec<u8>>) -> Answer {
        Answer { code, body: Body::Text(text.into()), ..Answer::default() }
    }

    /// Adds lines for standard error, which are printed first.
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Answer {
        self.notes.extend(notes);
        self
    }

    /// Declares that the output is the purpose of the command: it exits 4 if the output cannot be written.
    pub fn needed(self) -> Answer {
        Answer { is_needed: true, ..self }
    }
}

/// Ends a command: prints its answer or its error, and returns the exit code. With `--json` the error is a document,
/// too.
pub fn finish(command: &str, output: OutputArgs, result: Result<Answer, Refusal>) -> ExitCode {
    match &result {
        Ok(answer) => answer.notes.iter().for_each(|note| message!("{note}")),
        Err(refusal) => message!("{}", refusal.message),
    }
    let is_needed = matches!(&result, Ok(answer) if answer.is_needed);
    let (code, text) = printed(command, output, result);
    let is_lost = !text.is_empty() && !terminal::print(&text);
    ExitCode::from(if is_lost && is_needed { exit::ENVIRONMENT } else { code })
}

/// Returns the exit code, and the text for standard output.
pub fn printed(command: &str, output: OutputArgs, result: Result<Answer, Refusal>) -> (u8, Vec<u8>) {
    match result {
        Ok(Answer { code, body: Body::Text(text), .. }) => (code, text),
        Ok(Answer { code, body: Body::Result(result), .. }) => {
            (code, Document::new(command, code, result).text().into_bytes())
        }
        Err(Refusal { code, message, document: other }) => {
            let error = ResultOrError::<()>::Error { error: other.unwrap_or(message) };
            let text = output.json.then(|| Document::new(command, code, error).text().into_bytes());
            (code, text.unwrap_or_default())
        }
    }
}
