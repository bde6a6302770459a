//! A condition variable whose waiters are woken by priority and lend their priority to the owner of the mutex.

use super::mutex::MutexGuard;
use super::word::{Acquired, LockError, PiFutex, error, timespec};
use punctual_units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

const ALL: u32 = i32::MAX as u32;

/// Reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woke {
    /// The thread was notified or woke spuriously; check the condition again.
    Notified,
    TimedOut,
}

/// Condition variable, used to wait until another thread has changed data that a [`Mutex`] protects.
///
/// It uses FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI: the kernel moves a notified thread from the queue of the
/// condition variable to the queue of the mutex. The thread wakes only once, as the owner of the mutex, and until then
/// lends its priority to the current owner. Condition variables of glibc do not do this (glibc bug 11588).
///
/// Notifying requires the guard, so a notification cannot come between another thread's check of the condition and its
/// sleep, and no notification is lost. A wait can end spuriously (because of a signal, or a notification while another
/// thread was about to sleep), so wait in a loop. A notification makes no system call if no thread waits. All waiters
/// of one condition variable must use the same mutex.
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
    /// Number of notifications; changed only while the mutex is held.
    sequence: AtomicU32,
    /// Number of waiting threads; increased only while the mutex is held.
    waiters: AtomicU32,
}

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar { sequence: AtomicU32::new(0), waiters: AtomicU32::new(0) }
    }

    /// Releases the mutex, sleeps until notified or woken spuriously, and locks the mutex again.
    ///
    /// # Errors
    /// [`LockError::Poisoned`], [`LockError::OwnerDied`], [`LockError::Kernel`]. After an error, the mutex is not held.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> Result<MutexGuard<'a, T>, LockError> {
        Ok(self.sleep(guard, None)?.0)
    }

    /// Like [`Condvar::wait`], but waits for a notification at most until the time `until` on CLOCK_MONOTONIC. The
    /// mutex is always locked again, which may take longer.
    ///
    /// # Errors
    /// See [`Condvar::wait`].
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

    /// Like [`Condvar::wait_until`], for a lock that the caller holds without a guard; `None` means no time limit. On
    /// success the caller holds the lock again, and [`Acquired`] says whether the previous owner ended.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EPERM` if the caller does not own `futex`; nothing is then changed. After other
    /// errors ([`LockError::OwnerDied`], [`LockError::Kernel`]), the caller does not hold the lock.
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

    /// Releases the lock, sleeps, and locks it again. Fails if the lock could not be released.
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
        // Either the kernel has passed the mutex to this thread, or it must be locked again.
        let lock = if slept.is_ok() { Ok(futex.acquired()) } else { futex.lock(None) };
        self.waiters.fetch_sub(1, Relaxed);
        let woke = match slept {
            // EAGAIN: notified before it slept, or a signal. Both count as wakeups.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => Ok(Woke::Notified),
            Err(Errno::TIMEDOUT) => Ok(Woke::TimedOut),
            Err(errno) => Err(error(errno)),
        };
        Ok(End { lock, woke })
    }

    /// Returns the number of threads in a wait, including threads that have been notified but have not yet returned.
    /// The number may be out of date unless the caller holds the mutex.
    pub fn waiters(&self) -> u32 {
        self.waiters.load(Relaxed)
    }

    /// Wakes the waiter with the highest priority, which becomes the owner of the mutex when `guard` is dropped. Does
    /// not block. Returns true if there was a waiter.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EINVAL`: the waiters use another mutex.
    pub fn notify_one<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex().futex(), 0)
    }

    /// Wakes all waiters, which get the mutex one after the other in order of priority. Otherwise like
    /// [`Condvar::notify_one`].
    ///
    /// # Errors
    /// See [`Condvar::notify_one`].
    pub fn notify_all<T: ?Sized>(&self, guard: &MutexGuard<'_, T>) -> Result<bool, LockError> {
        self.notify(guard.mutex().futex(), ALL)
    }

    /// Like [`Condvar::notify_one`], for a lock that the caller holds without a guard.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EPERM` if the caller does not own `futex`; otherwise as [`Condvar::notify_one`].
    pub fn notify_one_on(&self, futex: &PiFutex) -> Result<bool, LockError> {
        if futex.is_mine() { self.notify(futex, 0) } else { Err(error(Errno::PERM)) }
    }

    /// Like [`Condvar::notify_all`], for a lock that the caller holds without a guard.
    ///
    /// # Errors
    /// See [`Condvar::notify_one_on`].
    pub fn notify_all_on(&self, futex: &PiFutex) -> Result<bool, LockError> {
        if futex.is_mine() { self.notify(futex, ALL) } else { Err(error(Errno::PERM)) }
    }

    fn notify(&self, futex: &PiFutex, and_so_many_more: u32) -> Result<bool, LockError> {
        if self.waiters.load(Relaxed) == 0 {
            return Ok(false);
        }
        // Threads that have released the mutex but do not sleep yet see that it has changed.
        let now = self.sequence.fetch_add(1, Relaxed).wrapping_add(1);
        loop {
            match futex::cmp_requeue_pi(&self.sequence, futex::Flags::PRIVATE, and_so_many_more, &futex.word, now) {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::INTR) if self.sequence.load(Relaxed) == now => {}
                // The sequence can only change here if waiters use another mutex.
                Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
                Err(errno) => return Err(error(errno)),
            }
        }
    }
}

/// Result of a wait: the result of locking the mutex again, and the reason why the sleep ended.
struct End {
    lock: Result<Acquired, LockError>,
    woke: Result<Woke, LockError>,
}
