//! Standard output and error: width, colour, words made harmless, and writing that minds a closed pipe.

// The one place for standard error: clippy.toml.
#![allow(clippy::disallowed_methods)]

use std::io::{IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Does the command end in a time that its user gave, even if nobody reads what it prints?
static READER_IS_LIMITED: AtomicBool = AtomicBool::new(false);

/// For a measuring command: standard output that nobody reads is waited for as long as the end of everything else, and its results are in a
/// directory. Any other waits for a pager, as filters do.
pub fn expect_reader(is_measured: bool) {
    READER_IS_LIMITED.store(is_measured, Relaxed);
}

/// Columns of the terminal on standard output; 80 where it is none.
pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col >= 40 => size.ws_col.into(),
        _ => 80,
    }
}

/// Does somebody look at standard output?
pub fn is_shown() -> bool {
    std::io::stdout().is_terminal()
}

/// May standard output be coloured? (<https://no-color.org>)
pub fn colour() -> bool {
    is_shown() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes to standard output; `false` where nobody reads it.
pub fn print(text: impl AsRef<[u8]>) -> bool {
    let limit = || punctual_watchdog::limit("whoever reads standard output", punctual_watchdog::SHORT);
    let _limit = READER_IS_LIMITED.load(Relaxed).then(limit);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).is_ok()
}

/// Text of another machine, without what a terminal or a test harness would obey.
pub fn harmless(text: &str) -> String {
    punctual_clean::lines(text)
}

/// A message on standard error, as by `format!`, with `punctual: ` in front and the end of the line. All words there pass by this and
/// [`tell!`], which make them harmless.
macro_rules! say {
    ($($words:tt)*) => { $crate::terminal::say(&format!($($words)*)) };
}

/// A line on standard error, or a part of one, that says how something goes, as by `format!`; its end is part of it. Ends of lines within
/// it become visible: [`tell_lines`] is for text of several.
macro_rules! tell {
    ($($words:tt)*) => { $crate::terminal::tell(&format!($($words)*)) };
}

pub fn say(message: &str) {
    write(&format!("punctual: {}\n", indented(&harmless(message))));
}

pub fn tell(line: &str) {
    match line.strip_suffix('\n') {
        Some(line) => write(&(punctual_clean::line(line) + "\n")),
        None => write(&punctual_clean::line(line)),
    }
}

/// Text of several lines, in which the names of others are clean already.
pub fn tell_lines(lines: &str) {
    write(&harmless(lines));
}

/// Is standard error a terminal?
pub fn can_overwrite() -> bool {
    std::io::stderr().is_terminal()
}

/// Writes over the line of standard error, a terminal, that the cursor is in.
pub fn overwrite(line: &str) {
    write(&format!("\r{}\x1b[K", punctual_clean::line(line)));
}

/// Takes away what [`overwrite`] wrote.
pub fn wipe() {
    write("\r\x1b[K");
}

/// Lines after the first are set off, so that none that came with a name passes for a message.
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

/// Where standard error is a full disk, or a terminal that has hung up, the macros of std panic: a watch of weeks would end because
/// nobody could be told that a file cannot be written.
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
