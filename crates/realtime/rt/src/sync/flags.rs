//! A group of 32 event flags.

use super::{ALL, TimedOut, sleep_while, wake};
use punctual_units::Nanos;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

/// How many of the requested flags must be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// At least one of the requested flags.
    Any,
    /// Every requested flag.
    All,
}

/// A group of 32 event flags. Any thread may set and clear them. Threads wait until some or all flags of a mask are
/// set, and may clear them in the same atomic step, so that only one thread takes an event.
///
/// Setting never blocks; it makes a system call (FUTEX_WAKE of all) only if a thread sleeps. Flags are states, not
/// counts: a flag set twice before it is cleared counts once, and a waiter misses a flag that is cleared before the
/// waiter checks it. Use [`Semaphore`](crate::Semaphore) to count. Flags have no owner, so there is no priority
/// inheritance.
///
/// ```
/// use punctual_rt::{EventFlags, Match};
/// const START: u32 = 1;
/// const STOP: u32 = 2;
/// let flags = EventFlags::new(0);
/// flags.set(START);
/// assert_eq!(flags.take(START | STOP, Match::Any), START); // waits if none is set, and clears
/// assert_eq!(flags.try_wait(START | STOP, Match::Any), None);
/// ```
#[derive(Debug)]
pub struct EventFlags {
    flags: AtomicU32,
    sleepers: AtomicU32,
}

impl EventFlags {
    /// Creates a group in which these flags are set.
    pub const fn new(flags: u32) -> EventFlags {
        EventFlags { flags: AtomicU32::new(flags), sleepers: AtomicU32::new(0) }
    }

    /// Sets flags and wakes the sleepers. Never blocks; any thread may call it.
    pub fn set(&self, mask: u32) {
        let before = self.flags.fetch_or(mask, SeqCst);
        if before & mask != mask && self.sleepers.load(SeqCst) > 0 {
            wake(&self.flags, ALL);
        }
    }

    /// Clears flags and returns which of them were set. Never blocks.
    pub fn clear(&self, mask: u32) -> u32 {
        self.flags.fetch_and(!mask, AcqRel) & mask
    }

    /// Returns the current flags.
    pub fn get(&self) -> u32 {
        self.flags.load(Acquire)
    }

    /// Returns the flags of `mask` that are set; `None` if `how` is not satisfied. Never blocks. An empty mask
    /// satisfies only [`Match::All`].
    pub fn try_wait(&self, mask: u32, how: Match) -> Option<u32> {
        met(self.get(), mask, how)
    }

    /// Like [`EventFlags::try_wait`], but also clears the returned flags in the same atomic step.
    pub fn try_take(&self, mask: u32, how: Match) -> Option<u32> {
        let taken = self.flags.fetch_update(AcqRel, Acquire, |now| met(now, mask, how).map(|set| now & !set));
        taken.ok().map(|before| before & mask)
    }

    /// Sleeps until `how` is satisfied, and returns the flags of `mask` that are set.
    pub fn wait(&self, mask: u32, how: Match) -> u32 {
        self.sleep(mask, how, None, Self::try_wait).unwrap_or_default()
    }

    /// Like [`EventFlags::wait`], but also clears the returned flags in the same atomic step.
    pub fn take(&self, mask: u32, how: Match) -> u32 {
        self.sleep(mask, how, None, Self::try_take).unwrap_or_default()
    }

    /// Like [`EventFlags::wait`], but waits at most until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`TimedOut`] if `how` is not satisfied in time.
    pub fn wait_until(&self, mask: u32, how: Match, until: Nanos) -> Result<u32, TimedOut> {
        self.sleep(mask, how, Some(until), Self::try_wait)
    }

    /// Like [`EventFlags::take`], but waits at most until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`TimedOut`]; in this case nothing is cleared.
    pub fn take_until(&self, mask: u32, how: Match, until: Nanos) -> Result<u32, TimedOut> {
        self.sleep(mask, how, Some(until), Self::try_take)
    }

    fn sleep(
        &self,
        mask: u32,
        how: Match,
        until: Option<Nanos>,
        look: fn(&Self, u32, Match) -> Option<u32>,
    ) -> Result<u32, TimedOut> {
        loop {
            let seen = self.get();
            if let Some(set) = look(self, mask, how) {
                return Ok(set);
            }
            // A change since `seen` that satisfies the mask has changed the word, so the kernel does not sleep.
            self.sleepers.fetch_add(1, SeqCst);
            let end = sleep_while(&self.flags, seen, until);
            self.sleepers.fetch_sub(1, Relaxed);
            if end.is_err() {
                return look(self, mask, how).ok_or(TimedOut);
            }
        }
    }
}

fn met(now: u32, mask: u32, how: Match) -> Option<u32> {
    let set = now & mask;
    let enough = match how {
        Match::Any => set != 0,
        Match::All => set == mask,
    };
    enough.then_some(set)
}
