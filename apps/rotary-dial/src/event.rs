//! Events of the real-time loop.

use crate::collector::Number;
use crate::train::Reason;
use punctual_rt::Line;
use punctual_units::Nanos;
use serde_json::{Value, json};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEvent {
    pub line: usize,
    /// Time of the sample, CLOCK_MONOTONIC.
    pub at: Nanos,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Lifted,
    HungUp,
    /// A digit, 0 to 9, was dialled.
    Digit(u8),
    Rejected(Reason),
    /// So many samples were missing while the dial was at rest that a pulse may have been missed.
    Blind,
    /// A complete number, and its command, which was written to the pipe.
    Command(Number, Line),
    Unknown(Number),
    Dropped(Number),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Lifted => write!(f, "lifted"),
            What::HungUp => write!(f, "hung up"),
            What::Digit(digit) => write!(f, "digit {digit}"),
            What::Rejected(reason) => write!(f, "pulses rejected: {}", reason.name()),
            What::Blind => write!(f, "samples were too late: digits dialled now are ignored"),
            What::Command(number, line) => write!(f, "{number}: {}", String::from_utf8_lossy(line.as_bytes())),
            What::Unknown(number) => write!(f, "{number}: unknown number"),
            What::Dropped(number) => write!(f, "{number}: incomplete"),
        }
    }
}

impl What {
    fn parts(&self) -> (&'static str, Value) {
        match self {
            What::Lifted => ("lifted", Value::Null),
            What::HungUp => ("hung_up", Value::Null),
            What::Digit(digit) => ("digit", json!(digit)),
            What::Rejected(reason) => ("rejected", json!(reason.name())),
            What::Blind => ("blind", Value::Null),
            What::Command(number, line) => {
                ("command", json!({"number": number.to_string(), "command": String::from_utf8_lossy(line.as_bytes())}))
            }
            What::Unknown(number) => ("unknown", json!({"number": number.to_string()})),
            What::Dropped(number) => ("dropped", json!({"number": number.to_string()})),
        }
    }
}

impl LineEvent {
    pub fn json(&self, name: &str) -> Value {
        let (event, detail) = self.what.parts();
        json!({"event": event, "line": name, "mono_ns": self.at.0, "detail": detail})
    }
}
