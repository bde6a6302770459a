//! A condition variable whose waiters wait by priority and lend it to the mutex's owner.

use super::mutex::MutexGuard;
use super::word::{Acquired, LockError, PiFutex, error, timespec};
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
        let mutex = guard.forget();
        let end = self.wait_without(mutex.futex(), until)?;
        let guard = end.lock.and_then(|acquired| mutex.guard(acquired));
        match end.woke {
            Ok(woke) => Ok((guard?, woke)),
            Err(error) => Err(guard.err().unwrap_or(error)),
        }
    }

    /// As [`Condvar::wait_until`] for a lock that the caller has without a guard; `None`: no time. Without an error the caller has it
    /// again, and the answer says how.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EPERM` where the caller does not own `futex`: nothing is changed then. Else the lock is not held:
    /// [`LockError::OwnerDied`], [`LockError::Kernel`].
    pub fn wait_on(&self, futex: &PiFutex, until: Option<Nanos>) -> Result<(Acquired, Woke), LockError> {
        if !futex.is_mine() {
            return Err(error(Errno::PERM));
        }
        let end = self.wait_without(futex, until)?;
        match (end.lock?, end.woke) {
            (acquired, Ok(woke)) => Ok((acquired, woke)),
            (_, Err(error)) => futex.unlock().and(Err(error)),
        }
    }

    /// Lets go of the lock, sleeps, and takes it again. An error: it could not be let go.
    fn wait_without(&self, futex: &PiFutex, until: Option<Nanos>) -> Result<End, LockError> {
        let time = until.map(timespec);
        let seen = self.sequence.load(Relaxed);
        self.waiters.fetch_add(1, Relaxed);
        // The same as dropping the guard; nothing here panics.
        if let Err(error) = futex.unlock() {
            self.waiters.fetch_sub(1, Relaxed);
            return Err(error);
        }
        let slept = futex::wait_requeue_pi(&self.sequence, futex::Flags::PRIVATE, seen, time.as_ref(), &futex.word);
        // The kernel gave it, or it is taken once more.
        let lock = if slept.is_ok() { Ok(futex.acquired()) } else { futex.lock(None) };
        self.waiters.fetch_sub(1, Relaxed);
        let woke = match slept {
            // EAGAIN: notified before it slept, or a signal. Both are wakeups.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(Woke::Notified),
            Err(Errno::TIMEDOUT) => Ok(Woke::TimedOut),
            Err(errno) => Err(error(errno)),
        };
        Ok(End { lock, woke })
    }

    /// Threads between their decision to sleep and their return. Exact for a caller that has the mutex.
    pub fn waiters(&self) -> u32 {
        self.waiters.load(Relaxed)
    }

    /// Wakes the waiter with the highest priority. The mutex must be held, so that it becomes its owner when `guard` is
    /// dropped. Does not block. Returns whether anybody waited.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EINVAL`: they wait with another mutex.
    pub fn notify_one<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex().futex(), 0)
    }

    /// Wakes all waiters, which take the mutex one after the other, by priority. Otherwise as [`Condvar::notify_one`].
    ///
    /// # Errors
    /// As [`Condvar::notify_one`].
    pub fn notify_all<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex().futex(), ALL)
    }

    /// As [`Condvar::notify_one`] for a lock that the caller has without a guard.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EPERM` where the caller does not own `futex`; as [`Condvar::notify_one`].
    pub fn notify_one_on(&self, futex: &PiFutex) -> Result<bool, LockError> {
        if futex.is_mine() { self.notify(futex, 0) } else { Err(error(Errno::PERM)) }
    }

    /// As [`Condvar::notify_all`] for a lock that the caller has without a guard.
    ///
    /// # Errors
    /// As [`Condvar::notify_one_on`].
    pub fn notify_all_on(&self, futex: &PiFutex) -> Result<bool, LockError> {
        if futex.is_mine() { self.notify(futex, ALL) } else { Err(error(Errno::PERM)) }
    }

    fn notify(&self, futex: &PiFutex, and_so_many_more: u32) -> Result<bool, LockError> {
        if self.waiters.load(Relaxed) == 0 {
            return Ok(false);
        }
        // Those who have let go of the mutex and do not sleep yet see that it has changed.
        let now = self.sequence.fetch_add(1, Relaxed).wrapping_add(1);
        loop {
            match futex::cmp_requeue_pi(&self.sequence, futex::Flags::PRIVATE, and_so_many_more, &futex.word, now) {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::INTR) if self.sequence.load(Relaxed) == now => {}
                // Only waiters with another mutex can let somebody else count here.
                Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
                Err(errno) => return Err(error(errno)),
            }
        }
    }
}

/// How a wait ended: with the lock or without, and why.
struct End {
    lock: Result<Acquired, LockError>,
    woke: Result<Woke, LockError>,
}
