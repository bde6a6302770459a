//! Prints to standard output and standard error.

use std::io::{self, Write};

pub(crate) fn warn(what: &str) {
    // A failure to write to standard error cannot be reported anywhere.
    let _ = writeln!(io::stderr(), "WARN: {what}");
}

/// Prints to standard output. If that is closed, the run continues, because results may also go to files.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
