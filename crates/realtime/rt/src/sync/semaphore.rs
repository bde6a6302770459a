//! A counting semaphore.

use super::{TimedOut, sleep_while, wake};
use punctual_units::Nanos;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

/// The count is at its maximum (2^32 − 1), so it was not raised.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the semaphore's count is at its maximum, 2^32 - 1: it is posted more often than it is waited for")]
pub struct Overflowed;

/// A counting semaphore: [`Semaphore::post`] raises the count, [`Semaphore::wait`] lowers it, sleeping while it is 0.
///
/// Posting never blocks: it is an atomic addition, and a system call (FUTEX_WAKE) only if a thread sleeps. Waiters wake
/// in order of their real-time priority; a thread that calls [`Semaphore::wait`] in the meantime may lower the count
/// first. A semaphore has no owner, so there is no priority inheritance: protect data with [`Mutex`](crate::Mutex). It
/// does not work between processes.
///
/// ```
/// use punctual_rt::Semaphore;
/// let items = Semaphore::new(0);
/// std::thread::scope(|s| {
///     s.spawn(|| items.post());
///     items.wait();
/// });
/// assert!(!items.try_wait());
/// ```
#[derive(Debug)]
pub struct Semaphore {
    count: AtomicU32,
    sleepers: AtomicU32,
}

impl Semaphore {
    /// Creates a semaphore with this initial count.
    pub const fn new(count: u32) -> Semaphore {
        Semaphore { count: AtomicU32::new(count), sleepers: AtomicU32::new(0) }
    }

    /// Raises the count by one and wakes one sleeper. Never blocks; any thread may call it.
    ///
    /// # Errors
    /// [`Overflowed`] if the count is at its maximum.
    pub fn post(&self) -> Result<(), Overflowed> {
        self.count.fetch_update(SeqCst, Relaxed, |count| count.checked_add(1)).map_err(|_| Overflowed)?;
        // A sleeper counts itself before the kernel reads the count (a full barrier), so one of the two sees the other.
        if self.sleepers.load(SeqCst) > 0 {
            wake(&self.count, 1);
        }
        Ok(())
    }

    /// Lowers the count by one and returns true, or returns false if it is 0. Never blocks, makes no system call.
    pub fn try_wait(&self) -> bool {
        self.count.fetch_update(Acquire, Relaxed, |count| count.checked_sub(1)).is_ok()
    }

    /// Lowers the count by one. Sleeps while it is 0.
    pub fn wait(&self) {
        // This cannot time out.
        let _ = self.sleep(None);
    }

    /// Like [`Semaphore::wait`], but waits at most until `until` on CLOCK_MONOTONIC. If the count is not 0, it is
    /// lowered even if `until` has passed.
    ///
    /// # Errors
    /// [`TimedOut`]; in this case the count is not lowered.
    pub fn wait_until(&self, until: Nanos) -> Result<(), TimedOut> {
        self.sleep(Some(until))
    }

    fn sleep(&self, until: Option<Nanos>) -> Result<(), TimedOut> {
        while !self.try_wait() {
            self.sleepers.fetch_add(1, SeqCst);
            let end = sleep_while(&self.count, 0, until);
            self.sleepers.fetch_sub(1, Relaxed);
            if end.is_err() {
                return if self.try_wait() { Ok(()) } else { Err(TimedOut) };
            }
        }
        Ok(())
    }

    /// Returns the current count.
    pub fn count(&self) -> u32 {
        self.count.load(Relaxed)
    }
}

punctual_units::debug_as_display!(Overflowed);
