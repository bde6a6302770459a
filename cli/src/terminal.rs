//! Standard output and error: width, colour, and writing that sanitizes text and tolerates a closed pipe.

// The only place that writes to standard error; clippy.toml enforces it.
#![allow(clippy::disallowed_methods)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// True if the command must not wait for the reader of its output after its planned duration.
static READER_IS_LIMITED: AtomicBool = AtomicBool::new(false);

/// Sets whether writing to standard output is limited in time. A measuring command does not wait for a reader after its
/// normal end, since its results are in a directory. Other commands wait, as filters do for a pager.
pub fn expect_reader(is_measured: bool) {
    READER_IS_LIMITED.store(is_measured, Relaxed);
}

/// Returns the number of columns of the terminal on standard output; 80 if it is not a terminal.
pub fn width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col >= 40 => size.ws_col.into(),
        _ => 80,
    }
}

/// Returns true if standard output is a terminal.
pub fn is_shown() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns true if standard output may be coloured (<https://no-color.org>).
pub fn colour() -> bool {
    is_shown() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Writes to standard output. Returns `false` if the reader has closed it.
pub fn print(text: impl AsRef<[u8]>) -> bool {
    let limit = || punctual_watchdog::limit("the reader of standard output", punctual_watchdog::SHORT);
    let _limit = READER_IS_LIMITED.load(Relaxed).then(limit);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_ref()).and_then(|()| out.flush()).is_ok()
}

/// Replaces control characters, and markers that test harnesses obey, in text that this program did not write.
pub fn harmless(text: &str) -> String {
    punctual_clean::lines(text)
}

/// Prints a message on standard error, formatted as by `format!`, with the prefix `punctual: ` and a newline. This
/// macro and [`progress!`] sanitize everything that they print.
macro_rules! message {
    ($($words:tt)*) => { $crate::terminal::message(&format!($($words)*)) };
}

/// Prints a progress line, or a part of one, on standard error, formatted as by `format!`; the text includes its final
/// newline. Other newlines in it become visible characters: use [`progress_lines`] for text of several lines.
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

/// Prints text of several lines. Names from untrusted sources in the text must already be sanitized.
pub fn progress_lines(lines: &str) {
    write(&harmless(lines));
}

/// Returns true if standard error is a terminal.
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

/// Indents continuation lines, so that no line of an untrusted name looks like a message of this program.
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

/// Time for which a message waits if the reader of standard error does not read, for example because a logger is
/// stopped.
const FOR_READER: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Number of bytes that a writable pipe accepts without blocking (pipe(7), PIPE_BUF).
const PIPE_BUF: usize = 4096;
/// Number of messages dropped since the reader stopped reading.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Writes to standard error without failing, and without waiting longer than [`FOR_READER`]. The macros of std would
/// panic if standard error cannot be written (a full disk, a closed terminal), and block if a pipe is full; either
/// would end a watch that runs for weeks.
fn write(text: &str) {
    let mut out = io::stderr().lock();
    let dropped = DROPPED.load(Relaxed);
    let patience = if dropped == 0 { FOR_READER } else { Timespec::default() };
    let text = match dropped {
        0 => text.to_owned(),
        n => format!("punctual: {n} messages before this one were dropped: nobody read them\n{text}"),
    };
    match write_within(&mut out, text.as_bytes(), patience) {
        Err(e) if e.kind() == io::ErrorKind::TimedOut => DROPPED.store(dropped + 1, Relaxed),
        _ => DROPPED.store(0, Relaxed),
    }
}

fn write_within(out: &mut (impl Write + AsFd), bytes: &[u8], patience: Timespec) -> io::Result<()> {
    for part in bytes.chunks(PIPE_BUF) {
        if poll(&mut [PollFd::new(out, PollFlags::OUT)], Some(&patience)) == Ok(0) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        out.write_all(part)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_full_pipe_blocks_no_message() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let now = Timespec::default();
        let mut written = 0;
        let full = loop {
            match write_within(&mut writer, &[b'x'; 3000], now) {
                Ok(()) => written += 3000,
                Err(e) => break e,
            }
        };
        assert!(full.kind() == io::ErrorKind::TimedOut && written >= PIPE_BUF, "{full}");
        reader.read_exact(&mut vec![0; 2 * PIPE_BUF]).unwrap();
        write_within(&mut writer, b"again", now).unwrap();
        drop(reader);
        assert_eq!(write_within(&mut writer, b"gone", now).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn no_line_of_a_name_passes_for_a_message() {
        assert_eq!(indented("cannot read x\n  name another"), "cannot read x\n  name another");
        assert_eq!(indented("cannot read x\npunctual: pass\n\ny\n"), "cannot read x\n  punctual: pass\n\n  y");
    }
}
