//! Prints to standard output and standard error.

use std::io::Write;

/// Prints to standard output. Errors are ignored, since the reader may have exited.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Prints a line to standard error. Errors are ignored.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "rf-switch: {line}");
}
