//! Synchronisation objects that have no owner: semaphores and event flags.

mod bell;
mod flags;
mod semaphore;

pub(crate) use bell::Bell;
pub use flags::{EventFlags, Match};
pub use semaphore::{Overflowed, Semaphore};

use punctual_units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;
use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

const EVERY_BIT: NonZeroU32 = NonZeroU32::MAX;

/// The time limit of a wait passed (`ETIMEDOUT`).
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time limit passed (ETIMEDOUT)")]
pub struct TimedOut;

/// Sleeps while `word` is `expected`, until the thread is woken, a signal arrives, or `until` on CLOCK_MONOTONIC:
/// FUTEX_WAIT_BITSET, which takes absolute times. May also return spuriously.
fn sleep_while(word: &AtomicU32, expected: u32, until: Option<Nanos>) -> Result<(), TimedOut> {
    let time = until.map(crate::clock::timespec);
    match futex::wait_bitset(word, futex::Flags::PRIVATE, expected, time.as_ref(), EVERY_BIT) {
        Err(Errno::TIMEDOUT) => Err(TimedOut),
        // AGAIN: the word has already changed. INTR: a signal. No other error is possible with a live word and a valid
        // time.
        _ => Ok(()),
    }
}

/// Wakes at most `count` sleepers, highest real-time priority first. Does not block; makes a system call.
fn wake(word: &AtomicU32, count: u32) {
    // Fails only for an invalid address.
    let _ = futex::wake(word, futex::Flags::PRIVATE, count);
}

/// Count for [`wake`] that wakes all sleepers.
const ALL: u32 = i32::MAX as u32;

punctual_units::debug_as_display!(TimedOut);
