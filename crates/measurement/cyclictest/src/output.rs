//! Writes standard output and standard error.

use std::io::{self, Write};

pub(crate) fn warn(what: &str) {
    // If standard error cannot be written, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "WARN: {what}");
}

/// A closed standard output does not end the run, since results may go to files.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
