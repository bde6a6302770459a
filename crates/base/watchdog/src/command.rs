//! The limit of a measuring command: beside the time that it measures it has [`SHORT`] to start and [`SHORT`] to end,
//! [`GRACE`](crate::GRACE) together.
//!
//! Before and after a measurement a command computes, which lasts as long as it has to beside other ordinary threads;
//! it is ended if something is stopped, starved or asleep by then. Each further measurement begins anew, since the
//! command has made progress.

use crate::{Action, END, SHORT, Wait, Waits, state};
use std::fmt::Display;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Its place among the waits.
const COMMAND: u64 = 1 << 62;
const START: &str = "the start of the command";

fn limited() -> Option<MutexGuard<'static, Waits>> {
    END.get().map(|_| state())
}

/// Begins the limit of a command with its start, unless it has begun.
pub fn command() {
    if let Some(mut waits) = limited().filter(|waits| !waits.all.contains_key(&COMMAND)) {
        waits.insert(COMMAND, Wait::new(START.into(), SHORT, Action::EndIdle));
    }
}

/// Adds time that the user gave to the start of a command; after a measurement, begins the start of the next one.
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

/// A measurement begins that takes `lasts`.
pub fn measuring(what: impl Display, lasts: Duration) {
    if let Some(mut waits) = limited() {
        waits.insert(COMMAND, Wait::new(what.to_string(), lasts.saturating_add(SHORT), Action::EndProgram));
    }
}

/// The measurement is over, or ends early.
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

/// The measurement is over, and `what` computes with its results.
pub fn concluding(what: impl Display) {
    ending();
    if let Some(mut waits) = limited()
        && let Some(wait) = waits.all.get_mut(&COMMAND)
    {
        (wait.part, wait.action, wait.extended) = (Some(what.to_string()), Action::EndIdle, 0);
    }
}

/// What follows has limits of its own, or none.
pub fn unlimited() {
    state().all.remove(&COMMAND);
}
