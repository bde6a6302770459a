//! A status line for runs without the full-screen view.

mod text;

pub use text::{Left, Status, text};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};
use std::io::{self, Write};

/// A status line on standard error, erased on drop. Only one may exist at a time.
#[derive(Debug, Default)]
pub struct Line {
    shown: bool,
    written: u64,
}

impl Line {
    /// Returns `None` if standard error is not a terminal, or is a terminal that cannot erase (TERM is `dumb` or not
    /// set).
    pub fn new() -> Option<Line> {
        let term = std::env::var_os("TERM").filter(|term| !term.is_empty() && term != "dumb");
        (isatty(io::stderr()) && term.is_some()).then(Line::default)
    }

    /// Rewrites the line in a single write(2). Does nothing if the write would block (a stopped terminal) or the
    /// program runs in the background, where the terminal belongs to another program.
    pub fn show(&mut self, status: &Status) {
        if is_background() || !is_ready() {
            return;
        }
        // Errors are ignored, because the run continues without the terminal.
        let line = format!("\r{}\x1b[K", text(status, columns()));
        self.shown |= io::stderr().write_all(line.as_bytes()).is_ok();
        self.written += 1;
    }

    /// Erases the line, so that other text can be printed. Blocks while the terminal is stopped, as printing does.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    pub fn written(&self) -> u64 {
        self.written
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns the width of the terminal in columns. A serial line reports 0; 80 columns are then assumed.
fn columns() -> usize {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

/// Returns true if another process group owns the terminal; false if it is not the controlling terminal.
fn is_background() -> bool {
    tcgetpgrp(io::stderr()).is_ok_and(|foreground| Some(foreground) != punctual_uapi::process_group())
}

/// Returns true if a write will not block. It blocks on a terminal stopped by Ctrl-S (drivers/tty/n_tty.c, n_tty_poll).
fn is_ready() -> bool {
    let stderr = io::stderr();
    let mut terminal = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut terminal, Some(&now)).is_ok_and(|ready| ready > 0) && terminal[0].revents().contains(PollFlags::OUT)
}
