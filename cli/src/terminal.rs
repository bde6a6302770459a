//! Standard output and error: width, colour, sanitizing, and writing that tolerates a closed pipe.

// The only place that writes to standard error; clippy.toml enforces it.
#![allow(clippy::disallowed_methods)]

use std::io::{IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// True if the command must end after the user's duration even if nobody reads its output.
static READER_IS_LIMITED: AtomicBool = AtomicBool::new(false);

/// Sets whether writing standard output is limited in time. A measuring command does not wait for a reader beyond its
/// normal end, since its results are in a directory. Others wait, as filters do for a pager.
pub fn expect_reader(is_measured: bool) {
    READER_IS_LIMITED.store(is_measured, Relaxed);
}

/// Columns of the terminal on standard output; 80 if it is not a terminal.
pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col >= 40 => size.ws_col.into(),
        _ => 80,
    }
}

/// True if standard output is a terminal.
pub fn is_shown() -> bool {
    std::io::stdout().is_terminal()
}

/// True if standard output may be coloured (<https://no-color.org>).
pub fn colour() -> bool {
    is_shown() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes to standard output; `false` if the reader is gone.
pub fn print(text: impl AsRef<[u8]>) -> bool {
    let limit = || punctual_watchdog::limit("the reader of standard output", punctual_watchdog::SHORT);
    let _limit = READER_IS_LIMITED.load(Relaxed).then(limit);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).is_ok()
}

/// Replaces control characters, and markers that test harnesses obey, in text from elsewhere.
pub fn harmless(text: &str) -> String {
    punctual_clean::lines(text)
}

/// Prints a message on standard error, formatted as by `format!`, with the prefix `punctual: ` and a newline. This
/// macro and [`progress!`] sanitize everything that is printed there.
macro_rules! message {
    ($($words:tt)*) => { $crate::terminal::message(&format!($($words)*)) };
}

/// Prints a progress line, or a part of one, on standard error, formatted as by `format!`; the text includes its
/// newline. Newlines within it become visible characters: use [`progress_lines`] for text of several lines.
macro_rules! progress {
    ($($words:tt)*) => { $crate::terminal::progress(&format!($($words)*)) };
}

pub fn message(message: &str) {
    write(&format!("punctual: {}\n", indented(&harmless(message))));
}

pub fn progress(line: &str) {
    match line.strip_suffix('\n') {
        Some(line) => write(&(punctual_clean::line(line) + "\n")),
        None => write(&punctual_clean::line(line)),
    }
}

/// Prints text of several lines in which foreign names are already sanitized.
pub fn progress_lines(lines: &str) {
    write(&harmless(lines));
}

/// True if standard error is a terminal.
pub fn can_overwrite() -> bool {
    std::io::stderr().is_terminal()
}

/// Overwrites the current line of standard error, which must be a terminal.
pub fn overwrite(line: &str) {
    write(&format!("\r{}\x1b[K", punctual_clean::line(line)));
}

/// Erases what [`overwrite`] wrote.
pub fn wipe() {
    write("\r\x1b[K");
}

/// Indents continuation lines, so that no line of a foreign name looks like a message.
fn indented(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for line in message.trim_end().split('\n') {
        if !out.is_empty() {
            out.push('\n');
            out.push_str(if line.is_empty() || line.starts_with(' ') { "" } else { "  " });
        }
        out.push_str(line);
    }
    out
}

/// The macros of std panic if standard error cannot be written (a full disk, a terminal that hung up); that would end a
/// watch of weeks.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_name_passes_for_a_message() {
        assert_eq!(indented("cannot read x\n  name another"), "cannot read x\n  name another");
        assert_eq!(indented("cannot read x\npunctual: pass\n\ny\n"), "cannot read x\n  punctual: pass\n\n  y");
    }
}
