//! A mutex with priority inheritance.

use super::word::{Acquired, LockError, PiFutex};
use punctual_units::Nanos;
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const SOUND: u8 = 0;
const PANICKED: u8 = 1;
const OWNER_DIED: u8 = 2;

/// A mutex with priority inheritance (FUTEX_LOCK_PI2, rt_mutex in the kernel). While a thread waits, the owner runs at
/// least at that thread's priority, so that threads of intermediate priority do not delay the waiter (priority
/// inversion).
///
/// Locking a free mutex and unlocking a mutex without waiters are single atomic operations without a system call.
/// Waiters get the mutex in order of priority. A mutex can be created in a `const` context, adds 8 bytes to the data,
/// and needs no allocation. It works between threads of one process, but not in signal handlers or in the child after
/// fork(2).
///
/// A thread that panics while it holds the mutex poisons it. A thread can *end* while it holds the mutex only if it has
/// forgotten the guard (`std::mem::forget`). The kernel then passes the lock to a waiting thread, which poisons the
/// mutex and gets [`LockError::OwnerDied`]. Threads that lock it later also get this error (`ESRCH`), unless the kernel
/// has reused the thread id of the owner. A robust list would avoid this exception, but each thread has only one, which
/// glibc uses (set_robust_list(2)).
///
/// ```
/// use punctual_uapi::{LockError, Mutex};
/// static SETPOINT: Mutex<f64> = Mutex::new(0.0);
/// *SETPOINT.lock()? = 1.5;
/// let held = SETPOINT.lock()?;
/// assert_eq!(SETPOINT.lock().unwrap_err(), LockError::Deadlock); // an error, not a hang
/// assert_eq!(*held, 1.5);
/// # Ok::<(), LockError>(())
/// ```
///
/// The guard cannot be sent to another thread, because only the owner may unlock:
///
/// ```compile_fail,E0277
/// let mutex = punctual_uapi::Mutex::new(0);
/// let guard = mutex.lock().unwrap();
/// std::thread::scope(|s| { s.spawn(move || drop(guard)); });
/// ```
pub struct Mutex<T: ?Sized> {
    futex: PiFutex,
    poison: AtomicU8,
    data: UnsafeCell<T>,
}

// SAFETY: a reference to the data exists only through the guard, which only one thread at a time has, so sharing the
// mutex at most moves the data between threads.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: the word and the poison are plain atomics; the data may move where T may.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    pub const fn new(data: T) -> Mutex<T> {
        Mutex { futex: PiFutex::new(), poison: AtomicU8::new(SOUND), data: UnsafeCell::new(data) }
    }

    /// Consumes the mutex and returns the data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, waiting as long as necessary.
    ///
    /// # Errors
    /// [`LockError::Deadlock`], [`LockError::Poisoned`], [`LockError::OwnerDied`], [`LockError::Kernel`].
    #[inline]
    pub fn lock(&self) -> Result<MutexGuard<'_, T>, LockError> {
        let acquired = self.futex.lock(None)?;
        self.guard(acquired)
    }

    /// Locks the mutex, but waits at most until the time `until` on CLOCK_MONOTONIC. A free mutex is locked even if
    /// that time has passed.
    ///
    /// # Errors
    /// See [`Mutex::lock`]; also [`LockError::TimedOut`], [`LockError::NeedsLinux5_14`].
    #[inline]
    pub fn lock_until(&self, until: Nanos) -> Result<MutexGuard<'_, T>, LockError> {
        let acquired = self.futex.lock(Some(until))?;
        self.guard(acquired)
    }

    /// Locks the mutex if it is free. Never blocks and makes no system call.
    ///
    /// # Errors
    /// [`LockError::WouldBlock`]; otherwise as [`Mutex::lock`].
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, LockError> {
        self.futex.try_lock()?;
        self.guard(Acquired::Clean)
    }

    /// Returns the data without locking: the exclusive borrow proves that no other thread holds the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }

    /// Returns true if a thread panicked or ended while it held the mutex.
    pub fn is_poisoned(&self) -> bool {
        self.poison.load(Relaxed) != SOUND
    }

    /// Removes the poison, which declares the data valid again. If the owner ended while no thread waited, the mutex
    /// stays locked for ever.
    pub fn clear_poison(&self) {
        self.poison.store(SOUND, Relaxed);
    }

    pub(super) fn futex(&self) -> &PiFutex {
        &self.futex
    }

    #[inline]
    pub(super) fn guard(&self, acquired: Acquired) -> Result<MutexGuard<'_, T>, LockError> {
        if acquired == Acquired::OwnerDied {
            self.poison.store(OWNER_DIED, Relaxed);
        }
        // Created before the check, so that the error returns below unlock.
        let guard = MutexGuard { mutex: self, panicking: std::thread::panicking(), stays: PhantomData };
        match self.poison.load(Relaxed) {
            SOUND => Ok(guard),
            OWNER_DIED => Err(LockError::OwnerDied),
            _ => Err(LockError::Poisoned),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Ok(guard) => f.debug_struct("Mutex").field("data", &&*guard).finish(),
            Err(error) => f.debug_struct("Mutex").field("data", &error).finish(),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

/// Guard of a locked [`Mutex`], which is unlocked on drop. Not `Send`, because the kernel lets only the owner unlock.
#[must_use = "if unused, if unused, the mutex is unlocked immediately"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// True if the thread was already panicking when it locked the mutex; that panic does not poison the mutex.
    panicking: bool,
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Drops the guard without unlocking and returns the mutex. Used by the condition variable, which has the kernel
    /// release and lock it again.
    pub(super) fn forget(self) -> &'a Mutex<T> {
        let mutex = self.mutex;
        std::mem::forget(self);
        mutex
    }

    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's thread owns the futex word, so no other guard exists while this one is borrowed.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed exclusively.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.panicking && std::thread::panicking() {
            self.mutex.poison.store(PANICKED, Relaxed);
        }
        // The guard belongs to the owner, so the kernel has no reason to refuse; if it did, the lock would stay held.
        let unlocked = self.mutex.futex.unlock();
        debug_assert_eq!(unlocked, Ok(()));
    }
}
