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
    /// Values put into the mailbox.
    pub sent: u64,
    /// Values taken out by a reader.
    pub received: u64,
    /// Values dropped because the mailbox was full ([`Overflow::DropNewest`]).
    pub dropped_newest: u64,
    /// Waiting values dropped to make room ([`Overflow::DropOldest`]).
    pub dropped_oldest: u64,
    /// Values returned to the sender because the mailbox was full ([`Overflow::Refuse`]).
    pub refused: u64,
}

/// Why a value was not sent; contains the value.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent<T> {
    /// The mailbox is full ([`Overflow::Refuse`]).
    #[error("the mailbox is full: its reader is slower than its writers")]
    Full(T),
    /// The mailbox's lock could not be taken.
    #[error("the mailbox cannot be entered: {1}")]
    Lock(T, LockError),
}

/// A bounded mailbox in order of arrival. Share it by reference, `Arc` or `static`. It is meant for one reader; with
/// several, each value goes to one of them.
///
/// Writers enter one at a time through a mutex with priority inheritance, which they hold while copying one value. A
/// lock-free ring would be no better: with many writers, a writer that is preempted between claiming its slot and
/// filling it blocks the reader from everything behind, and cannot inherit a priority. A send costs two atomic
/// exchanges and an addition, and one system call if the reader sleeps; it waits at most for the copy of another writer
/// or the reader.
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
    /// A mailbox for `capacity` values. Only this call allocates.
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

    /// Puts `value` in and wakes the reader. Never waits for room. A value dropped on overflow is dropped by the
    /// caller.
    ///
    /// # Errors
    /// [`NotSent`], with the value.
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
        // Outside the lock: the user's drop code, and the wakeup.
        drop(oldest);
        self.bell.ring(false);
        Ok(())
    }

    /// Takes the oldest value, if there is one. Waits at most for a writer's copy.
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
    /// [`LockError::TimedOut`]; any other: the mailbox's lock could not be taken.
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

    /// Current counters.
    ///
    /// # Errors
    /// [`LockError`]: the mailbox's lock could not be taken.
    pub fn counts(&self) -> Result<MailboxCounts, LockError> {
        Ok(self.inside.lock()?.counts)
    }

    /// Makes the mailbox's buffer resident and keeps it so: mlock(2). Call it before the first use.
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
