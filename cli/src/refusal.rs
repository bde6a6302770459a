//! Why a command has no answer.

use crate::exit;
use punctual_proof::ProofError;
use std::fmt::Display;

/// An exit code and what to print with it. Errors of the crates become one where their command is.
#[derive(Debug)]
pub struct Refusal {
    pub code: u8,
    /// What failed, on what, why, and what to do.
    pub message: String,
    /// What the document has in place of the message.
    pub document: Option<String>,
}

impl Refusal {
    pub fn new(code: u8, message: impl Display) -> Refusal {
        Refusal { code, message: message.to_string(), document: None }
    }

    /// Wrong usage or unreadable input.
    pub fn usage(message: impl Display) -> Refusal {
        Refusal::new(exit::USAGE, message)
    }

    /// The environment refused.
    pub fn environment(message: impl Display) -> Refusal {
        Refusal::new(exit::ENVIRONMENT, message)
    }

    /// Wrong usage, or else the environment.
    pub fn either(is_usage: bool, message: impl Display) -> Refusal {
        Refusal::new(if is_usage { exit::USAGE } else { exit::ENVIRONMENT }, message)
    }

    /// With another text in the document.
    pub fn documented(self, text: impl Display) -> Refusal {
        Refusal { document: Some(text.to_string()), ..self }
    }
}

impl From<ProofError> for Refusal {
    fn from(error: ProofError) -> Refusal {
        Refusal::either(error.is_usage(), error)
    }
}

impl From<punctual_uapi::Error> for Refusal {
    fn from(error: punctual_uapi::Error) -> Refusal {
        Refusal::environment(error)
    }
}
