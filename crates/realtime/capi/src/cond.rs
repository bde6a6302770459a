//! A condition variable for the mutex with priority inheritance.

use crate::boundary::{guard, shared, take};
use crate::mutex::{failure, futex, held, prt_mutex};
use crate::status::{Failure, prt_status};
use punctual_rt::{Condvar, Nanos, Woke};
use std::ffi::c_int;

/// A condition variable: threads wait on it until another thread has changed the data that a prt_mutex protects. The
/// kernel moves a notified thread to the mutex's queue, where it lends its priority to the owner and wakes only once,
/// when it owns the mutex: FUTEX_WAIT_REQUEUE_PI, futex(2). All waiters of one condition variable must use the same
/// mutex. A wait can end spuriously, so wait in a loop. For threads of one process.
pub struct prt_cond(Condvar);

/// # Safety
/// `cond` is NULL or a live condition variable.
unsafe fn condvar<'a>(cond: *const prt_cond) -> Result<&'a Condvar, Failure> {
    // SAFETY: as the caller promises; its words change by atomic operations only.
    unsafe { shared(cond, c"cond is NULL") }.map(|cond| &cond.0)
}

/// Creates a condition variable. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_cond_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_cond_new() -> *mut prt_cond {
    Box::into_raw(Box::new(prt_cond(Condvar::new())))
}

/// Frees the condition variable. NULL is ignored.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_BUSY if a thread waits for it, or has not yet returned from its wait; in this case it is not
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cond_free(cond: *mut prt_cond) -> c_int {
    guard(|| {
        if cond.is_null() {
            return Ok(());
        }
        // SAFETY: not NULL, so the caller's handle.
        if unsafe { condvar(cond) }?.waiters() > 0 {
            return Err(Failure::fixed(
                prt_status::Busy,
                c"a thread is waiting for this condition: notify and join it first",
            ));
        }
        // SAFETY: the caller's handle, from prt_cond_new, not used any more.
        drop(unsafe { take(cond) });
        Ok(())
    })
}

/// # Safety
/// `cond` and `mutex` are each NULL or a live handle.
unsafe fn wait(cond: *const prt_cond, mutex: *const prt_mutex, until: Option<Nanos>) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let (cond, mutex) = unsafe { (condvar(cond)?, futex(mutex)?) };
    let (acquired, woke) = cond.wait_on(mutex, until).map_err(failure)?;
    held(acquired)?;
    match woke {
        Woke::Notified => Ok(()),
        Woke::TimedOut => Err(Failure::fixed(
            prt_status::TimedOut,
            c"no notification came in time; the calling thread holds the mutex again",
        )),
    }
}

/// Releases the mutex, sleeps until notified (or until a spurious wakeup), and takes the mutex again.
///
/// Threads: the one that holds the mutex. Real-time: futex(2); blocks.
/// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex; in this case it has not waited.
/// PRT_STATUS_OWNER_DIED as for prt_mutex_lock(). PRT_STATUS_NULL. prt_mutex_is_mine() reports whether the mutex is
/// held after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cond_wait(cond: *const prt_cond, mutex: *const prt_mutex) -> c_int {
    // SAFETY: each NULL or a live handle.
    guard(|| unsafe { wait(cond, mutex, None) })
}

/// Like prt_cond_wait(), but waits for a notification at most until `until_ns` on CLOCK_MONOTONIC. The mutex is taken
/// again in any case, which may take longer.
///
/// Threads: the one that holds the mutex. Real-time; blocks.
/// Errors: as for prt_cond_wait(); PRT_STATUS_TIMED_OUT, in which case the calling thread holds the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cond_wait_until(cond: *const prt_cond, mutex: *const prt_mutex, until_ns: u64) -> c_int {
    let until = Nanos(until_ns.min(i64::MAX as u64));
    // SAFETY: each NULL or a live handle.
    guard(|| unsafe { wait(cond, mutex, Some(until)) })
}

/// Wakes the waiter with the highest priority, which gets the mutex once the caller releases it. Never blocks; makes no
/// system call if no thread waits.
///
/// Threads: the one that holds the mutex. Real-time: futex(2).
/// Errors: PRT_STATUS_REFUSED if the calling thread does not hold the mutex, or the waiters use another mutex.
/// PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cond_notify_one(cond: *const prt_cond, mutex: *const prt_mutex) -> c_int {
    // SAFETY: each NULL or a live handle.
    guard(|| unsafe { condvar(cond)?.notify_one_on(futex(mutex)?) }.map(drop).map_err(failure))
}

/// Wakes all waiters, which get the mutex one after the other, ordered by priority. See prt_cond_notify_one().
///
/// Threads: the one that holds the mutex. Real-time: futex(2).
/// Errors: as for prt_cond_notify_one().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_cond_notify_all(cond: *const prt_cond, mutex: *const prt_mutex) -> c_int {
    // SAFETY: each NULL or a live handle.
    guard(|| unsafe { condvar(cond)?.notify_all_on(futex(mutex)?) }.map(drop).map_err(failure))
}
