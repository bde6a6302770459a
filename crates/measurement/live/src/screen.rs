//! The terminal: checks whether it can be used, takes control of it, and restores it however the program ends.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, Color as Ansi, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{self, Clear, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};
use std::io::{self, BufWriter, Stderr, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTerminal {
    #[error(
        "the live view reads keys from standard input, which is not a terminal: run it in a terminal (with ssh: ssh -t), or \
         without the view"
    )]
    Input,
    #[error(
        "the live view is drawn on standard error, which is not a terminal: do not redirect it (standard output may be), or \
         run without the view"
    )]
    Output,
    #[error(
        "the live view needs the terminal, and this runs in the background: bring it to the foreground (fg), or run without \
         the view"
    )]
    Background,
    #[error(
        "the live view cannot be drawn on this terminal (TERM is `dumb` or not set): set TERM, for example to vt100 or xterm, \
         or run without the view"
    )]
    Dumb,
}

/// Checks that the view can be displayed. It is drawn on standard error, so that standard output may be redirected.
///
/// # Errors
/// [`NoTerminal`].
pub fn check() -> Result<(), NoTerminal> {
    if !isatty(io::stdin()) {
        return Err(NoTerminal::Input);
    }
    if !isatty(io::stderr()) {
        return Err(NoTerminal::Output);
    }
    if tcgetpgrp(io::stdin()).is_ok_and(|foreground| Some(foreground) != punctual_uapi::process_group()) {
        return Err(NoTerminal::Background);
    }
    match std::env::var("TERM") {
        Ok(term) if !term.is_empty() && term != "dumb" => Ok(()),
        _ => Err(NoTerminal::Dumb),
    }
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes control of the terminal: raw mode (Ctrl-C becomes a key), alternate screen, no cursor. A panic restores the
/// terminal before the panic is reported.
pub(crate) fn take() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            usual(panic);
        }));
    });
    terminal::enable_raw_mode()?;
    TAKEN.store(true, SeqCst);
    execute!(io::stderr(), EnterAlternateScreen, Hide)
}

/// Restores the terminal. No effect if [`take`] was not called.
pub(crate) fn restore() {
    if TAKEN.swap(false, SeqCst) {
        // Errors are ignored, because the terminal may be closed.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(io::stderr(), SetAttribute(Attribute::Reset), Show, LeaveAlternateScreen);
    }
}

/// Standard error, buffered so that each frame is one write(2).
pub(crate) struct Screen(BufWriter<Stderr>);

impl Screen {
    pub fn new() -> Screen {
        Screen(BufWriter::with_capacity(64 << 10, io::stderr()))
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut next, mut style) = (None, (Color::Reset, Modifier::empty()));
        queue!(self.0, SetAttribute(Attribute::Reset))?;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                queue!(self.0, MoveTo(x, y))?;
            }
            if style != (cell.fg, cell.modifier) {
                style = (cell.fg, cell.modifier);
                self.style(cell.fg, cell.modifier)?;
            }
            queue!(self.0, Print(cell.symbol()))?;
            // Wide characters make the cursor position uncertain.
            next = cell.symbol().chars().nth(1).is_none().then(|| (x.saturating_add(1), y));
        }
        queue!(self.0, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        queue!(self.0, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        queue!(self.0, Show)
    }

    /// Returns the position to restore after clearing. The cursor is hidden, so any position will do. The terminal is
    /// not asked, because its answer would arrive among the keys.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        queue!(self.0, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        queue!(self.0, SetAttribute(Attribute::Reset), Clear(terminal::ClearType::All))
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    /// Returns the size of the terminal. A serial line reports 0; 80 × 24 is then assumed.
    fn size(&self) -> io::Result<Size> {
        let size = tcgetwinsize(io::stderr())?;
        Ok(match (size.ws_col, size.ws_row) {
            (0, _) | (_, 0) => Size::new(80, 24),
            // Limits memory. A larger screen would show no more.
            (columns, rows) => Size::new(columns.min(400), rows.min(200)),
        })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Screen {
    /// Writes the escape sequences of a style. Only sixteen colours, bold, dim and reverse are used.
    fn style(&mut self, colour: Color, modifier: Modifier) -> io::Result<()> {
        queue!(self.0, SetAttribute(Attribute::Reset))?;
        let colour = match colour {
            Color::Red => Some(Ansi::DarkRed),
            Color::Green => Some(Ansi::DarkGreen),
            Color::Yellow => Some(Ansi::DarkYellow),
            Color::Cyan => Some(Ansi::DarkCyan),
            _ => None,
        };
        if let Some(colour) = colour {
            queue!(self.0, SetForegroundColor(colour))?;
        }
        let attributes = [
            (Modifier::BOLD, Attribute::Bold),
            (Modifier::DIM, Attribute::Dim),
            (Modifier::REVERSED, Attribute::Reverse),
        ];
        for (_, attribute) in attributes.into_iter().filter(|(m, _)| modifier.contains(*m)) {
            queue!(self.0, SetAttribute(attribute))?;
        }
        Ok(())
    }
}
