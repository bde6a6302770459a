//! Many writers, one reader who sleeps until something comes.

use super::Overflow;
use super::queue::CapacityError;
use crate::sync::Bell;
use punctual_uapi::{self as uapi, LockError, Mutex};
use punctual_units::Nanos;
use std::collections::VecDeque;

/// What a mailbox has seen. `sent == received + dropped_oldest + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailboxCounts {
    /// Values put in.
    pub sent: u64,
    /// Values taken out by a reader.
    pub received: u64,
    /// Values that found no room and were dropped ([`Overflow::DropNewest`]).
    pub dropped_newest: u64,
    /// Waiting values dropped to make room ([`Overflow::DropOldest`]).
    pub dropped_oldest: u64,
    /// Values that found no room and went back ([`Overflow::Refuse`]).
    pub refused: u64,
}

/// Why a value is not in the mailbox; it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent<T> {
    /// There is no room ([`Overflow::Refuse`]).
    #[error("the mailbox is full: its reader is slower than its writers")]
    Full(T),
    /// Its lock cannot be had.
    #[error("the mailbox cannot be entered: {1}")]
    Lock(T, LockError),
}

/// A bounded mailbox, in order of arrival. Share it by reference, `Arc` or `static`. One reader is meant; with several, each
/// value goes to one of them.
///
/// Writers enter one at a time through a mutex with priority inheritance, and stay for the copy of one value. A lock-free ring is
/// not better here: in one of many writers, a writer that is preempted between claiming its place and filling it
/// keeps the reader from everything behind, and lends nobody its priority. A send is two atomic exchanges and an addition, and one
/// system call where the reader sleeps; it waits for another writer's or the reader's copy at most.
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
    /// For `capacity` values. Allocates here and nowhere else.
    ///
    /// # Errors
    /// [`CapacityError::Zero`].
    pub fn new(capacity: usize, overflow: Overflow) -> Result<Mailbox<T>, CapacityError> {
        if capacity == 0 {
            return Err(CapacityError::Zero);
        }
        let inside = Inside { values: VecDeque::with_capacity(capacity), counts: MailboxCounts::default() };
        Ok(Mailbox { inside: Mutex::new(inside), bell: Bell::default(), capacity, overflow })
    }

    /// Puts `value` in and wakes the reader. Never waits for room. A value dropped for want of room is dropped by the caller.
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
        // Outside the lock: the user's code, and the wakeup.
        drop(oldest);
        self.bell.ring(false);
        Ok(())
    }

    /// The oldest value, where there is one. Waits for a writer's copy at most.
    ///
    /// # Errors
    /// [`LockError`]: its lock cannot be had.
    pub fn try_receive(&self) -> Result<Option<T>, LockError> {
        let mut inside = self.inside.lock()?;
        let value = inside.values.pop_front();
        inside.counts.received += u64::from(value.is_some());
        Ok(value)
    }

    /// The oldest value; sleeps until there is one.
    ///
    /// # Errors
    /// [`LockError`]: its lock cannot be had.
    pub fn receive(&self) -> Result<T, LockError> {
        self.sleep(None)
    }

    /// As [`Mailbox::receive`], until `until` on CLOCK_MONOTONIC at the latest.
    ///
    /// # Errors
    /// [`LockError::TimedOut`]; otherwise its lock cannot be had.
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

    /// What it has seen.
    ///
    /// # Errors
    /// [`LockError`]: its lock cannot be had.
    pub fn counts(&self) -> Result<MailboxCounts, LockError> {
        Ok(self.inside.lock()?.counts)
    }

    /// Makes its room resident and keeps it so: mlock(2). Before its first use.
    ///
    /// # Errors
    /// `ENOMEM`, `EPERM`: RLIMIT_MEMLOCK.
    pub fn lock_memory(&mut self) -> Result<(), uapi::Error> {
        let values = &mut self.inside.get_mut().values;
        let start = values.as_slices().0.as_ptr().addr();
        uapi::lock_addresses(start, values.capacity() * size_of::<T>())
    }
}
