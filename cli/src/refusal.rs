//! The error type of all commands.

use crate::exit;
use punctual_proof::ProofError;
use std::fmt::Display;

/// The error of a command: exit code and message. Each command converts the errors of the crates that it calls.
#[derive(Debug)]
pub struct Refusal {
    pub code: u8,
    /// States which operation failed, on which object, why, and what the user can do.
    pub message: String,
    /// Text for the JSON document, if it differs from the message.
    pub document: Option<String>,
}

impl Refusal {
    pub fn new(code: u8, message: impl Display) -> Refusal {
        Refusal { code, message: message.to_string(), document: None }
    }

    /// Creates an error for wrong usage or unreadable input: exit code 2.
    pub fn usage(message: impl Display) -> Refusal {
        Refusal::new(exit::USAGE, message)
    }

    /// Creates an error for an environment that does not allow what the command needs: exit code 4.
    pub fn environment(message: impl Display) -> Refusal {
        Refusal::new(exit::ENVIRONMENT, message)
    }

    /// Creates an error with exit code 2 if `is_usage` is true, 4 if it is false.
    pub fn either(is_usage: bool, message: impl Display) -> Refusal {
        Refusal::new(if is_usage { exit::USAGE } else { exit::ENVIRONMENT }, message)
    }

    /// Sets a different text for the JSON document.
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
