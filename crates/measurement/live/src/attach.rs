//! Displays the measurement of another process.

use crate::draw::{Looks, draw};
use crate::keys::{Key, Keys};
use crate::screen::{self, Screen};
use crate::snapshot::Snapshot;
use crate::view::Unfit;
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::time::{Duration, Instant};

/// Interval at which the other process publishes its state.
const EVERY: Duration = Duration::from_secs(5);
/// Interval at which `ended` is called and keys are read.
const SIGNALS: Duration = Duration::from_millis(500);

/// Draws the result of `look` every 5 s, until a key ends the view or `ended` returns true.
///
/// # Errors
/// There is no suitable terminal, drawing fails, or `look` fails.
pub fn attach<E: From<Unfit>>(
    mut look: impl FnMut() -> Result<Snapshot, E>,
    ended: impl Fn() -> bool,
) -> Result<(), E> {
    screen::check().map_err(Unfit::from)?;
    let mut picture = look()?;
    let _restored = Restored;
    screen::take().map_err(Unfit::from)?;
    let mut terminal = Terminal::new(Screen::new()).map_err(Unfit::from)?;
    let (looks, mut keys) = (Looks::of_environment(), Keys::default());
    let mut due = Instant::now() + EVERY;
    loop {
        terminal.draw(|frame| draw(&picture, looks, frame.buffer_mut())).map_err(Unfit::from)?;
        for key in typed(&mut keys, due.saturating_duration_since(Instant::now())).map_err(Unfit::from)? {
            match key {
                Key::End => return Ok(()),
                Key::Help => picture.help = !picture.help,
                Key::Pause => picture.paused = !picture.paused,
                Key::Redraw => terminal.clear().map_err(Unfit::from)?,
                Key::Mark | Key::Next => {}
            }
        }
        if ended() {
            return Ok(());
        }
        if Instant::now() >= due {
            due = Instant::now() + EVERY;
            if !picture.paused {
                picture = Snapshot { help: picture.help, ..look()? };
            }
        }
    }
}

struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        screen::restore();
    }
}

/// Returns the keys typed within `wait`. A closed terminal counts as [`Key::End`].
fn typed(keys: &mut Keys, wait: Duration) -> io::Result<Vec<Key>> {
    let wait = wait.min(SIGNALS);
    let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos() as _ };
    let input = io::stdin();
    let mut polled = [PollFd::new(&input, PollFlags::IN)];
    match poll(&mut polled, Some(&wait)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(e) => return Err(e.into()),
    }
    let mut bytes = [0u8; 64];
    match rustix::io::read(io::stdin(), &mut bytes) {
        Ok(0) => Ok(vec![Key::End]),
        Ok(n) => Ok(bytes.iter().take(n).filter_map(|&byte| keys.take(byte)).collect()),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}
