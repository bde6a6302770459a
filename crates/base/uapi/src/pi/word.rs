//! The futex word shared with the kernel: 0, or the owner's thread id with a waiters bit that only the kernel sets.

use punctual_units::Nanos;
use rustix::io::Errno;
use rustix::thread::futex;
use rustix::time::Timespec;
use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, fence};

const SECOND: u64 = 1_000_000_000;
/// Mask of the thread id in the futex word. With all bits set it stands for an owner that has ended, since no thread
/// has this id: PID_MAX_LIMIT is 2^22.
pub(super) const TID_MASK: u32 = 0x3fff_ffff;
const PRIVATE: futex::Flags = futex::Flags::PRIVATE;

/// Reason why a lock was not acquired.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The calling thread already holds the lock, or holds another lock for which the owner of this lock waits
    /// (`EDEADLK`).
    #[error(
        "waiting for this lock would never end: the calling thread holds it, or holds a lock for which the owner of this lock waits (EDEADLK); \
         always take locks in the same order, and take each lock only once"
    )]
    Deadlock,
    /// The lock is held by another thread; returned only by [`PiFutex::try_lock`] and
    /// [`Mutex::try_lock`](crate::Mutex::try_lock).
    #[error("the lock is held by another thread; wait for it with lock() or lock_until()")]
    WouldBlock,
    /// The time limit passed before the lock was free (`ETIMEDOUT`).
    #[error("the lock was not free in time (ETIMEDOUT): allow more time, or hold the lock for a shorter time")]
    TimedOut,
    /// A thread panicked while it held the lock; the data may be inconsistent.
    #[error("a thread panicked while it held the lock: repair the protected data, then call clear_poison()")]
    Poisoned,
    /// The owner ended without unlocking. Either the lock stays locked (`ESRCH`), or the kernel passed it on
    /// (FUTEX_OWNER_DIED).
    #[error(
        "the owner of the lock ended without unlocking it: the protected data may be half changed; restart the program"
    )]
    OwnerDied,
    /// A lock with a time limit needs FUTEX_LOCK_PI2, Linux 5.14. Before that version, the time limit is on
    /// CLOCK_REALTIME, which can be set.
    #[error("a timed wait for a lock needs Linux 5.14 (FUTEX_LOCK_PI2): see `uname -r`, or use lock()")]
    NeedsLinux5_14,
    /// Any other errno of futex(2).
    #[error("futex(2) refused the lock with errno {0}: see `errno {0}` and futex(2)")]
    Kernel(i32),
}

/// A thread id as used by futexes: gettid(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(u32);

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

impl ThreadId {
    /// Returns the ID of the calling thread. Makes a system call on first use in each thread, and reads a thread-local
    /// variable afterwards.
    ///
    /// The child after fork(2) inherits its parent's value. Do not use locks in it before exec(2).
    #[inline]
    pub fn current() -> ThreadId {
        CURRENT.with(|current| match current.get() {
            0 => {
                current.set(ask());
                ThreadId(current.get())
            }
            known => ThreadId(known),
        })
    }
}

#[cfg(not(miri))]
#[cold]
fn ask() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

#[cfg(miri)]
fn ask() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Relaxed)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Acquired {
    /// The lock was free, or its owner unlocked it.
    Clean,
    /// The kernel passed the lock on because its owner ended (FUTEX_OWNER_DIED).
    OwnerDied,
}

/// A lock with priority inheritance that contains no data. It works only between threads of one process.
///
/// While a thread waits in [`PiFutex::lock`], the owner runs at least at that thread's priority (rt_mutex). Use
/// [`Mutex`](crate::Mutex) to protect data.
#[derive(Debug, Default)]
pub struct PiFutex {
    pub(super) word: AtomicU32,
}

impl PiFutex {
    pub const fn new() -> PiFutex {
        PiFutex { word: AtomicU32::new(0) }
    }

    /// Locks the futex if it is free, without a system call.
    ///
    /// # Errors
    /// [`LockError::WouldBlock`]; [`LockError::Deadlock`] if the caller already holds it.
    #[inline]
    pub fn try_lock(&self) -> Result<(), LockError> {
        let me = ThreadId::current();
        match self.word.compare_exchange(0, me.0, Acquire, Relaxed) {
            Ok(_) => Ok(()),
            Err(word) if word & TID_MASK == me.0 => Err(LockError::Deadlock),
            Err(_) => Err(LockError::WouldBlock),
        }
    }

    /// Locks the futex. If it is not free, waits until it is, or until the time `until` on CLOCK_MONOTONIC. Waiters get
    /// the lock in order of priority. Makes no system call if the lock is free. A signal does not end the wait.
    ///
    /// # Errors
    /// [`LockError::Deadlock`], [`LockError::TimedOut`], [`LockError::OwnerDied`], [`LockError::NeedsLinux5_14`] (only
    /// with `until`), [`LockError::Kernel`].
    #[inline]
    pub fn lock(&self, until: Option<Nanos>) -> Result<Acquired, LockError> {
        let me = ThreadId::current();
        match self.word.compare_exchange(0, me.0, Acquire, Relaxed) {
            Ok(_) => Ok(Acquired::Clean),
            Err(_) => self.wait(until),
        }
    }

    #[cfg(not(miri))]
    #[cold]
    fn wait(&self, until: Option<Nanos>) -> Result<Acquired, LockError> {
        let time = until.map(timespec);
        loop {
            let owner = self.word.load(Relaxed) & TID_MASK;
            let answer = match futex::lock_pi2(&self.word, PRIVATE, time.as_ref()) {
                Err(Errno::NOSYS) if time.is_none() => futex::lock_pi(&self.word, PRIVATE, None),
                other => other,
            };
            match answer {
                Ok(()) => return Ok(self.acquired()),
                // Interrupted by a signal, or the owner is about to exit and the kernel asks for a retry.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => {
                    if errno == Errno::SRCH {
                        self.lose(owner);
                    }
                    return Err(error(errno));
                }
            }
        }
    }

    /// Replaces an owner that has ended, so that a later thread with the same id is not mistaken for it.
    fn lose(&self, owner: u32) {
        let lost = |word: u32| (word & TID_MASK == owner).then_some(word | TID_MASK);
        // This fails if the lock was reset meanwhile.
        let _ = self.word.fetch_update(Relaxed, Relaxed, lost);
    }

    /// Returns how the calling thread has just acquired the lock from the kernel: because the owner unlocked it, or
    /// because the owner ended.
    pub(super) fn acquired(&self) -> Acquired {
        fence(Acquire);
        let is_orphan = self.word.load(Relaxed) & futex::OWNER_DIED != 0;
        if is_orphan { Acquired::OwnerDied } else { Acquired::Clean }
    }

    /// Waits by spinning, because miri has no FUTEX_LOCK_PI. This lets miri check users of the lock for data races.
    #[cfg(miri)]
    fn wait(&self, _until: Option<Nanos>) -> Result<Acquired, LockError> {
        loop {
            match self.try_lock() {
                Err(LockError::WouldBlock) => std::thread::yield_now(),
                other => return other.map(|()| Acquired::Clean),
            }
        }
    }

    /// Unlocks the futex. The waiter with the highest priority becomes the owner. Makes no system call if no thread
    /// waits.
    ///
    /// # Errors
    /// [`LockError::Kernel`] with `EPERM` if the caller is not the owner; nothing is then changed.
    #[inline]
    pub fn unlock(&self) -> Result<(), LockError> {
        let me = ThreadId::current();
        match self.word.compare_exchange(me.0, 0, Release, Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => self.hand_over(),
        }
    }

    #[cold]
    fn hand_over(&self) -> Result<(), LockError> {
        fence(Release);
        loop {
            match futex::unlock_pi(&self.word, PRIVATE) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(error(errno)),
            }
        }
    }

    /// Makes `owner` the owner of a free lock. Threads that wait for the lock then lend `owner` their priority until it
    /// calls [`PiFutex::unlock`]. In this way a sender lends its priority to the thread that must answer. Returns false
    /// if the lock is not free.
    pub fn assign(&self, owner: ThreadId) -> bool {
        self.word.compare_exchange(0, owner.0, Release, Relaxed).is_ok()
    }

    /// Frees the lock regardless of its owner. Use it after the only waiter has given up, because the kernel then
    /// leaves the waiters bit set. Do not call it if a thread may be waiting, because that thread would sleep until its
    /// time limit.
    pub fn reset(&self) {
        self.word.store(0, Release);
    }

    pub fn is_mine(&self) -> bool {
        self.word.load(Acquire) & TID_MASK == ThreadId::current().0
    }
}

pub(super) fn error(errno: Errno) -> LockError {
    match errno {
        Errno::DEADLK => LockError::Deadlock,
        Errno::TIMEDOUT => LockError::TimedOut,
        Errno::SRCH | Errno::OWNERDEAD => LockError::OwnerDied,
        Errno::NOSYS => LockError::NeedsLinux5_14,
        other => LockError::Kernel(other.raw_os_error()),
    }
}

pub(super) fn timespec(at: Nanos) -> Timespec {
    Timespec { tv_sec: (at.0 / SECOND) as i64, tv_nsec: (at.0 % SECOND) as _ }
}

punctual_units::debug_as_display!(LockError);
