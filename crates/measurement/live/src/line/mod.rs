//! One line that is written over again, where a run is watched without the full screen.

mod text;

pub use text::{Left, Told, text};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};
use std::io::{self, Write};

/// A line on standard error, taken away when this is dropped. Only one may exist at a time.
#[derive(Debug, Default)]
pub struct Line {
    shown: bool,
    written: u64,
}

impl Line {
    /// A line that is not shown yet; `None` where standard error is no terminal, or one that cannot erase (TERM is `dumb` or not set).
    pub fn new() -> Option<Line> {
        let term = std::env::var_os("TERM").filter(|term| !term.is_empty() && term != "dumb");
        (isatty(io::stderr()) && term.is_some()).then(Line::default)
    }

    /// Writes it anew, in one write(2). Does nothing where that would block (a stopped terminal), and in the background, where the
    /// terminal shows another program.
    pub fn show(&mut self, told: &Told) {
        if is_background() || !is_ready() {
            return;
        }
        // A terminal that is gone shows nothing; the run goes on.
        let line = format!("\r{}\x1b[K", text(told, columns()));
        self.shown |= io::stderr().write_all(line.as_bytes()).is_ok();
        self.written += 1;
    }

    /// Takes it away, so that something else can be printed. Blocks where the terminal is stopped, as printing would.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    /// How often it was written.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Columns of the terminal; a serial line knows no size, it says 0 and is taken for the usual 80.
fn columns() -> usize {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

/// Does another process group have the terminal? Where it is not the controlling one nobody else does.
fn is_background() -> bool {
    tcgetpgrp(io::stderr()).is_ok_and(|foreground| Some(foreground) != punctual_uapi::process_group())
}

/// Does the terminal take something at once? One that Ctrl-S has stopped does not (drivers/tty/n_tty.c, n_tty_poll).
fn is_ready() -> bool {
    let stderr = io::stderr();
    let mut terminal = [PollFd::new(&stderr, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut terminal, Some(&now)).is_ok_and(|ready| ready > 0) && terminal[0].revents().contains(PollFlags::OUT)
}
