//! Standard output and error: width, colour, and writing that minds a closed pipe.

use std::io::{IsTerminal, Write};

/// Columns of the terminal on standard output; 80 where it is none.
pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col >= 40 => size.ws_col.into(),
        _ => 80,
    }
}

/// May standard output be coloured? (<https://no-color.org>)
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes to standard output; `false` where nobody reads it.
pub fn print(text: impl AsRef<[u8]>) -> bool {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).is_ok()
}

/// Text of another machine, without what a terminal or a test harness would obey.
pub fn harmless(text: &str) -> String {
    punctual_clean::lines(text)
}
