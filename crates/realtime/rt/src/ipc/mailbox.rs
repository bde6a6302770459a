//! A queue with many writers and one reader that sleeps until a value arrives.

use super::Overflow;
use super::queue::CapacityError;
use crate::sync::Bell;
use punctual_uapi::{self as uapi, LockError, Mutex};
use punctual_units::Nanos;
use std::collections::VecDeque;

/// Counters of a [`Mailbox`]. `sent == received + dropped_oldest + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailboxCounts {
    /// Number of values put into the mailbox.
    pub sent: u64,
    /// Number of values taken out of the mailbox.
    pub received: u64,
    /// Number of values dropped because the mailbox was full ([`Overflow::DropNewest`]).
    pub dropped_newest: u64,
    /// Number of waiting values dropped to make room ([`Overflow::DropOldest`]).
    pub dropped_oldest: u64,
    /// Number of values returned to the sender because the mailbox was full ([`Overflow::Refuse`]).
    pub refused: u64,
}

/// Why a value was not sent. The error returns the value to the caller.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent<T> {
    /// The mailbox is full ([`Overflow::Refuse`]).
    #[error("the mailbox is full: its reader is slower than its writers")]
    Full(T),
    /// The mailbox's lock could not be taken.
    #[error("the mailbox cannot be locked: {1}")]
    Lock(T, LockError),
}

/// A bounded mailbox that delivers values in order of arrival. Share it by reference, in an `Arc` or as a `static`. It
/// is meant for one reader; with several, each value goes to one of them.
///
/// Writers take turns through a mutex with priority inheritance, which they hold while copying one value. A lock-free
/// ring would be no better: with many writers, a writer that is preempted between claiming its slot and filling it
/// keeps the reader from all later slots, and cannot inherit a priority. A send costs two atomic exchanges and an
/// addition, and one system call if the reader sleeps. It waits at most while another writer or the reader copies a
/// value.
///
/// ```
/// use punctual_rt::{Mailbox, Overflow};
/// let mailbox = Mailbox::new(8, Overflow::DropOldest)?;
/// std::thread::scope(|s| {
///     s.spawn(|| mailbox.send(42));
///     assert_eq!(mailbox.receive().ok(), Some(42)); // sleeps until it comes
/// });
/// # Ok::<(), punctual_rt::CapacityError>(())
/// ```
#[derive(Debug)]
pub struct Mailbox<T> {
    inside: Mutex<Inside<T>>,
    bell: Bell,
    capacity: usize,
    overflow: Overflow,
}

#[derive(Debug)]
struct Inside<T> {
    values: VecDeque<T>,
    counts: MailboxCounts,
}

impl<T> Mailbox<T> {
    /// Creates a mailbox for `capacity` values. No other call allocates.
    ///
    /// # Errors
    /// [`CapacityError::Zero`], [`CapacityError::Memory`].
    pub fn new(capacity: usize, overflow: Overflow) -> Result<Mailbox<T>, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        let mut values = VecDeque::new();
        values.try_reserve_exact(capacity).map_err(|_| CapacityError::memory::<T>(capacity))?;
        let inside = Inside { values, counts: MailboxCounts::default() };
        Ok(Mailbox { inside: Mutex::new(inside), bell: Bell::default(), capacity, overflow })
    }

    /// Puts `value` into the mailbox and wakes the reader. Never waits for room. A value that is discarded because the
    /// mailbox is full is dropped in the calling thread.
    ///
    /// # Errors
    /// [`NotSent`], which contains the value.
    pub fn send(&self, value: T) -> Result<(), NotSent<T>> {
        let mut inside = match self.inside.lock() {
            Ok(inside) => inside,
            Err(error) => return Err(NotSent::Lock(value, error)),
        };
        let mut oldest = None;
        if inside.values.len() == self.capacity {
            match self.overflow {
                Overflow::Refuse => {
                    inside.counts.refused += 1;
                    return Err(NotSent::Full(value));
                }
                Overflow::DropNewest => {
                    inside.counts.dropped_newest += 1;
                    drop(inside);
                    return Ok(());
                }
                Overflow::DropOldest => {
                    inside.counts.dropped_oldest += 1;
                    oldest = inside.values.pop_front();
                }
            }
        }
        inside.values.push_back(value);
        inside.counts.sent += 1;
        drop(inside);
        // The value's drop code and the wakeup run without the lock.
        drop(oldest);
        self.bell.ring(false);
        Ok(())
    }

    /// Takes the oldest value, if there is one. Waits at most while a writer copies a value.
    ///
    /// # Errors
    /// [`LockError`]: the mailbox's lock could not be taken.
    pub fn try_receive(&self) -> Result<Option<T>, LockError> {
        let mut inside = self.inside.lock()?;
        let value = inside.values.pop_front();
        inside.counts.received += u64::from(value.is_some());
        Ok(value)
    }

    /// Takes the oldest value; sleeps until there is one.
    ///
    /// # Errors
    /// [`LockError`]: the mailbox's lock could not be taken.
    pub fn receive(&self) -> Result<T, LockError> {
        self.sleep(None)
    }

    /// Like [`Mailbox::receive`], but waits at most until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`LockError::TimedOut`] if no value arrived in time. Any other [`LockError`]: the mailbox's lock could not be
    /// taken.
    pub fn receive_until(&self, until: Nanos) -> Result<T, LockError> {
        self.sleep(Some(until))
    }

    fn sleep(&self, until: Option<Nanos>) -> Result<T, LockError> {
        loop {
            let heard = self.bell.heard();
            if let Some(value) = self.try_receive()? {
                return Ok(value);
            }
            if self.bell.wait(heard, until).is_err() {
                return self.try_receive()?.ok_or(LockError::TimedOut);
            }
        }
    }

    /// Returns the current counters.
    ///
    /// # Errors
    /// [`LockError`]: the mailbox's lock could not be taken.
    pub fn counts(&self) -> Result<MailboxCounts, LockError> {
        Ok(self.inside.lock()?.counts)
    }

    /// Locks the mailbox's buffer in memory: mlock(2). Call it before the first use.
    ///
    /// # Errors
    /// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK.
    pub fn lock_memory(&mut self) -> Result<(), uapi::Error> {
        let values = &mut self.inside.get_mut().values;
        let start = values.as_slices().0.as_ptr().addr();
        uapi::lock_addresses(start, values.capacity() * size_of::<T>())
    }
}

punctual_units::debug_as_display!(<T> NotSent);
