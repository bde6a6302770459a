//! Messages from a load to its parent: JSON lines on a pipe. The load ends when the parent closes the pipe.

use crate::counter::Counter;
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    Hello(Hello),
    Failed(String),
    Note(String),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub workers: usize,
    pub units: Vec<Unit>,
    pub counters: Vec<Counter>,
    pub notes: Vec<String>,
}

/// A unit of work, and how it is displayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Unit {
    pub what: String,
    pub unit: String,
    /// Factor for display: the displayed value is count × scale per second.
    pub scale: f64,
    /// True for bytes written to a disk.
    pub written: bool,
}

impl Unit {
    pub fn each(what: &str) -> Unit {
        Unit { what: what.into(), unit: "1/s".into(), scale: 1.0, written: false }
    }

    /// A unit that counts bytes, displayed as MiB per second.
    pub fn bytes(what: &str) -> Unit {
        Unit { what: what.into(), unit: "MiB/s".into(), scale: 1.0 / f64::from(1 << 20), written: false }
    }
}

/// Sends a message to the parent. Nothing happens if the parent has ended.
pub(crate) fn say(message: &Message) {
    if let Ok(line) = serde_json::to_string(message) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// Returns the messages in `text`, and the other lines (for example of a panic).
pub(crate) fn read(text: &str) -> (Vec<Message>, String) {
    let mut messages = Vec::new();
    let mut rest = String::new();
    for line in text.lines() {
        match serde_json::from_slice(line.as_bytes()) {
            Ok(message) => messages.push(message),
            Err(_) => rest = format!("{rest}{line}\n"),
        }
    }
    (messages, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_output_is_kept_apart() {
        let text = format!("{}\nthread panicked\n", serde_json::to_string(&Message::Failed("x".into())).unwrap());
        let (messages, rest) = read(&text);
        assert!(matches!(&messages[..], [Message::Failed(why)] if why == "x"));
        assert_eq!(rest, "thread panicked\n");
    }
}
