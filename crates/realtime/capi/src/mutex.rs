//! A mutex with priority inheritance.

use crate::boundary::{guard, shared, take};
use crate::status::{Failure, prt_status};
use punctual_rt::{LockError, Nanos};
use punctual_uapi::{Acquired, PiFutex};
use std::ffi::c_int;

/// A mutex with priority inheritance. While a thread waits, the owner runs at least at that thread's priority, so that
/// threads of intermediate priority do not delay the waiter: FUTEX_LOCK_PI2, futex(2). Waiters get the mutex in order
/// of their priority. For threads of one process; not for signal handlers, nor for the child of fork(2).
pub struct prt_mutex(PiFutex);

pub(crate) fn failure(error: LockError) -> Failure {
    let (status, text) = match error {
        LockError::Deadlock => (
            prt_status::Deadlock,
            c"waiting for this mutex would never end: the thread already holds it, or holds another mutex that its owner waits for (EDEADLK)",
        ),
        LockError::WouldBlock => (prt_status::Busy, c"the mutex is held by another thread"),
        LockError::TimedOut => (prt_status::TimedOut, c"the mutex was not free in time (ETIMEDOUT)"),
        LockError::OwnerDied | LockError::Poisoned => (
            prt_status::OwnerDied,
            c"the mutex's owner ended while holding it, and the mutex is lost (ESRCH): restart the program",
        ),
        LockError::NeedsLinux5_14 => (
            prt_status::Refused,
            c"a timed wait for a mutex needs Linux 5.14 (FUTEX_LOCK_PI2): see `uname -r`, or use prt_mutex_lock()",
        ),
        LockError::Kernel(_) => (
            prt_status::Refused,
            c"futex(2) refused: the thread does not hold this mutex (EPERM), or the kernel has no FUTEX_LOCK_PI (ENOSYS)",
        ),
    };
    Failure::fixed(status, text)
}

/// # Safety
/// `mutex` is NULL or a live mutex.
pub(crate) unsafe fn futex<'a>(mutex: *const prt_mutex) -> Result<&'a PiFutex, Failure> {
    // SAFETY: as the caller promises; its word changes by atomic operations only.
    unsafe { shared(mutex, c"mutex is NULL") }.map(|mutex| &mutex.0)
}

/// Creates an unlocked mutex. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_mutex_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_mutex_new() -> *mut prt_mutex {
    Box::into_raw(Box::new(prt_mutex(PiFutex::new())))
}

/// Frees the mutex. NULL is ignored.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_BUSY if another thread holds it, PRT_STATUS_DEADLOCK if the calling thread does; in these cases
/// it is not freed. A lost mutex (its owner ended while no thread waited) counts as held forever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_free(mutex: *mut prt_mutex) -> c_int {
    guard(|| {
        if mutex.is_null() {
            return Ok(());
        }
        // SAFETY: not NULL, so the caller's handle.
        unsafe { futex(mutex) }?.try_lock().map_err(failure)?;
        // SAFETY: the caller's handle, from prt_mutex_new, not used any more.
        drop(unsafe { take(mutex) });
        Ok(())
    })
}

/// Locks the mutex, waiting as long as necessary. A signal does not end the wait.
///
/// Threads: any. Real-time: no system call if the mutex is free, otherwise futex(2); blocks.
/// Errors: PRT_STATUS_DEADLOCK: the calling thread already holds the mutex. PRT_STATUS_OWNER_DIED: the owner ended
/// while holding it. If prt_mutex_is_mine() returns true, the calling thread holds it now: repair the data that it
/// protects, then unlock as usual; otherwise the mutex is lost. PRT_STATUS_NULL, PRT_STATUS_REFUSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_lock(mutex: *const prt_mutex) -> c_int {
    // SAFETY: NULL or a live handle.
    guard(|| acquired(unsafe { futex(mutex) }?.lock(None)))
}

/// Like prt_mutex_lock(), but waits at most until `until_ns` on CLOCK_MONOTONIC. A free mutex is locked even if that
/// time has passed.
///
/// Threads: any. Real-time; blocks.
/// Errors: as for prt_mutex_lock(); PRT_STATUS_TIMED_OUT; PRT_STATUS_REFUSED before Linux 5.14.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_lock_until(mutex: *const prt_mutex, until_ns: u64) -> c_int {
    let until = Nanos(until_ns.min(i64::MAX as u64));
    // SAFETY: NULL or a live handle.
    guard(|| acquired(unsafe { futex(mutex) }?.lock(Some(until))))
}

fn acquired(answer: Result<Acquired, LockError>) -> Result<(), Failure> {
    held(answer.map_err(failure)?)
}

/// Returns an error if the mutex, which the caller now holds, protects data that may be inconsistent.
pub(crate) fn held(acquired: Acquired) -> Result<(), Failure> {
    match acquired {
        Acquired::Clean => Ok(()),
        Acquired::OwnerDied => Err(Failure::fixed(
            prt_status::OwnerDied,
            c"the mutex's owner ended while holding it; this thread holds it now, and the data it protects may be inconsistent",
        )),
    }
}

/// Locks the mutex if it is free. Never blocks, makes no system call.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_BUSY, PRT_STATUS_DEADLOCK, PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_try_lock(mutex: *const prt_mutex) -> c_int {
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { futex(mutex) }?.try_lock().map_err(failure))
}

/// Unlocks the mutex. The waiter with the highest priority gets it. Makes no system call if no thread waits.
///
/// Threads: the thread that holds it. Real-time.
/// Errors: PRT_STATUS_REFUSED if the calling thread does not hold it, in which case nothing changes. PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_unlock(mutex: *const prt_mutex) -> c_int {
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { futex(mutex) }?.unlock().map_err(failure))
}

/// Returns true if the calling thread holds the mutex; false if `mutex` is NULL.
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_mutex_is_mine(mutex: *const prt_mutex) -> bool {
    // SAFETY: NULL or a live handle.
    unsafe { futex(mutex) }.is_ok_and(PiFutex::is_mine)
}
