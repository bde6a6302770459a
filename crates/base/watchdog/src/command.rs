//! The time limit of a command that measures. In addition to the measurement time it has [`SHORT`] to start and
//! [`SHORT`] to end, together [`GRACE`](crate::GRACE).
//!
//! Before and after a measurement, a command needs CPU time. It may exceed the limit if it competes with other ordinary
//! threads, but it is ended if one of its threads is stopped, starved or asleep when the limit expires. The limit
//! starts anew with each further measurement, because the command has made progress.

use crate::{Action, END, SHORT, Wait, Waits, state};
use std::fmt::Display;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Key of the command's limit in [`Waits`].
const COMMAND: u64 = 1 << 62;
const START: &str = "the start of the command";

fn limited() -> Option<MutexGuard<'static, Waits>> {
    END.get().map(|_| state())
}

/// Starts the time limit on the start-up of a command, unless the command already has a limit.
pub fn command() {
    if let Some(mut waits) = limited().filter(|waits| !waits.all.contains_key(&COMMAND)) {
        waits.insert(COMMAND, Wait::new(START.into(), SHORT, Action::EndIdle));
    }
}

/// Extends the time limit on the start-up of a command by `more`, a time that the user allowed. After a measurement,
/// starts the limit on the start-up of the next measurement.
pub fn starting(what: impl Display, more: Duration) {
    let Some(mut waits) = limited() else { return };
    let wait = match waits.all.remove(&COMMAND) {
        Some(wait) if wait.what == START => {
            Wait { part: Some(what.to_string()), most: wait.most + more, end: wait.end + more, ..wait }
        }
        _ => Wait::new(format!("the start of {what}"), SHORT + more, Action::EndIdle),
    };
    waits.insert(COMMAND, wait);
}

/// Records that a measurement of length `lasts` begins.
pub fn measuring(what: impl Display, lasts: Duration) {
    if let Some(mut waits) = limited() {
        waits.insert(COMMAND, Wait::new(what.to_string(), lasts.saturating_add(SHORT), Action::EndProgram));
    }
}

/// Records that the measurement has ended, perhaps early.
pub fn ending() {
    if let Some(mut waits) = limited()
        && let Some(mut wait) = waits.all.remove(&COMMAND)
    {
        let end = Instant::now() + SHORT;
        if wait.part.is_none() && wait.end > end {
            (wait.what, wait.most, wait.end) = (format!("{}, ended early,", wait.what), SHORT, end);
        }
        wait.part.get_or_insert_with(|| "its end".into());
        waits.insert(COMMAND, wait);
    }
}

/// Records that the measurement has ended and that the step `what` processes its results.
pub fn concluding(what: impl Display) {
    ending();
    if let Some(mut waits) = limited()
        && let Some(wait) = waits.all.get_mut(&COMMAND)
    {
        (wait.part, wait.action, wait.extended) = (Some(what.to_string()), Action::EndIdle, 0);
    }
}

/// Removes the command's time limit. Later steps have their own limits, or none.
pub fn unlimited() {
    state().all.remove(&COMMAND);
}
