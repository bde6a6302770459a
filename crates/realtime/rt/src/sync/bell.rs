//! A change counter that threads can sleep on.

use super::{TimedOut, sleep_while, wake};
use punctual_units::Nanos;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// A counter that is incremented after each change. A thread reads [`Bell::heard`], checks its condition, and calls
/// [`Bell::wait`], which sleeps unless the counter has changed since. Makes no system call if no thread sleeps.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    pub(crate) fn heard(&self) -> u32 {
        self.rung.load(SeqCst)
    }

    /// Increments the counter and wakes one or all sleepers, highest priority first.
    pub(crate) fn ring(&self, all: bool) {
        self.rung.fetch_add(1, SeqCst);
        // A sleeper counts itself before the kernel compares the word (a full barrier), so one of the two sees the
        // other.
        if self.sleepers.load(SeqCst) > 0 {
            wake(&self.rung, if all { super::ALL } else { 1 });
        }
    }

    /// Sleeps until the counter is no longer `heard`, or `until` on CLOCK_MONOTONIC. May also return spuriously.
    pub(crate) fn wait(&self, heard: u32, until: Option<Nanos>) -> Result<(), TimedOut> {
        self.sleepers.fetch_add(1, SeqCst);
        let end = sleep_while(&self.rung, heard, until);
        self.sleepers.fetch_sub(1, Relaxed);
        end
    }
}
