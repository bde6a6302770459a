//! A condition variable whose waiters wait by priority and lend it to the mutex's owner.

use super::mutex::{Mutex, MutexGuard};
use super::word::{LockError, error, timespec};
use punctual_units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

const ALL: u32 = i32::MAX as u32;

/// Why a wait for a condition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woke {
    /// Notified, or for no reason: look at the condition again.
    Notified,
    /// The time came.
    TimedOut,
}

/// Waits until another thread has changed what a [`Mutex`] guards.
///
/// FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI: a notified thread moves in the kernel from this queue to the mutex's, wakes
/// once, as its owner, and lends its priority meanwhile. glibc's condition variable does not do that (its bug 11588).
///
/// A notification needs the guard: so it cannot fall between another thread's look at the condition and its sleep, and none is
/// lost. A wait can end without one (a signal; a notification of one that came while another thread was on its way to
/// sleep): wait in a loop. Notifying with nobody there is no system call. All waiters of one condition variable use the same
/// mutex.
///
/// ```
/// use punctual_uapi::{Condvar, LockError, Mutex};
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
/// let waiter = std::thread::spawn(|| {
///     let mut ready = READY.lock()?;
///     while !*ready {
///         ready = CHANGED.wait(ready)?;
///     }
///     Ok::<(), LockError>(())
/// });
/// let mut ready = READY.lock()?;
/// *ready = true;
/// CHANGED.notify_one(&ready)?;
/// drop(ready);
/// waiter.join().unwrap()?;
/// # Ok::<(), LockError>(())
/// ```
#[derive(Debug, Default)]
pub struct Condvar {
    /// Counts notifications; changed only under the mutex.
    sequence: AtomicU32,
    /// Threads between their decision to sleep and their return; changed only under the mutex.
    waiters: AtomicU32,
}

impl Condvar {
    /// One that nobody waits for.
    pub const fn new() -> Condvar {
        Condvar { sequence: AtomicU32::new(0), waiters: AtomicU32::new(0) }
    }

    /// Lets go of the mutex, sleeps until notified (or for no reason), and takes the mutex again. Blocks.
    ///
    /// # Errors
    /// The mutex is not held then: [`LockError::Poisoned`], [`LockError::OwnerDied`], [`LockError::Kernel`].
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> Result<MutexGuard<'a, T>, LockError> {
        Ok(self.sleep(guard, None)?.0)
    }

    /// As [`Condvar::wait`], until `until` on CLOCK_MONOTONIC at the latest. The mutex is taken again in any case, and that may take
    /// longer.
    ///
    /// # Errors
    /// As [`Condvar::wait`].
    pub fn wait_until<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        until: Nanos,
    ) -> Result<(MutexGuard<'a, T>, Woke), LockError> {
        self.sleep(guard, Some(until))
    }

    fn sleep<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        until: Option<Nanos>,
    ) -> Result<(MutexGuard<'a, T>, Woke), LockError> {
        let time = until.map(timespec);
        let seen = self.sequence.load(Relaxed);
        self.waiters.fetch_add(1, Relaxed);
        let mutex = guard.forget();
        // The same as dropping the guard; nothing here panics.
        if let Err(error) = mutex.futex().unlock() {
            self.waiters.fetch_sub(1, Relaxed);
            return Err(error);
        }
        let word = &mutex.futex().word;
        let answer =
            futex::wait_requeue_pi(&self.sequence, futex::Flags::PRIVATE, seen, time.as_ref(), word).map_err(|e| {
                // EAGAIN: notified before it slept, or a signal. Both are wakeups.
                if e == Errno::AGAIN || e == Errno::INTR { None } else { Some(e) }
            });
        let guard = take_again(mutex, answer.is_ok());
        self.waiters.fetch_sub(1, Relaxed);
        match answer {
            Ok(()) | Err(None) => Ok((guard?, Woke::Notified)),
            Err(Some(Errno::TIMEDOUT)) => Ok((guard?, Woke::TimedOut)),
            Err(Some(errno)) => Err(guard.err().unwrap_or(error(errno))),
        }
    }

    /// Wakes the waiter with the highest priority. The mutex must be held, so that it becomes its owner when `guard` is
    /// dropped. Does not block. Returns whether anybody waited.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EINVAL`: they wait with another mutex.
    pub fn notify_one<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex(), 0)
    }

    /// Wakes all waiters, which take the mutex one after the other, by priority. Otherwise as [`Condvar::notify_one`].
    ///
    /// # Errors
    /// As [`Condvar::notify_one`].
    pub fn notify_all<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex(), ALL)
    }

    fn notify<T: ?Sized>(&self, mutex: &Mutex<T>, and_so_many_more: u32) -> Result<bool, LockError> {
        if self.waiters.load(Relaxed) == 0 {
            return Ok(false);
        }
        // Those who have let go of the mutex and do not sleep yet see that it has changed.
        let now = self.sequence.fetch_add(1, Relaxed).wrapping_add(1);
        let word = &mutex.futex().word;
        loop {
            match futex::cmp_requeue_pi(&self.sequence, futex::Flags::PRIVATE, and_so_many_more, word, now) {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::INTR) if self.sequence.load(Relaxed) == now => {}
                // Only waiters with another mutex can let somebody else count here.
                Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
                Err(errno) => return Err(error(errno)),
            }
        }
    }
}

/// The mutex, from the kernel where it gave it, or taken once more.
fn take_again<T: ?Sized>(mutex: &Mutex<T>, is_mine: bool) -> Result<MutexGuard<'_, T>, LockError> {
    if !is_mine {
        return mutex.lock();
    }
    let acquired = mutex.futex().acquired();
    mutex.guard(acquired)
}
