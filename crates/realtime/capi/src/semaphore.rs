//! A counting semaphore.

use crate::boundary::{guard, put, shared, take};
use crate::status::{Failure, prt_status};
use punctual_rt::{Nanos, Semaphore};
use std::ffi::c_int;

/// A counting semaphore: prt_semaphore_post() raises the count, prt_semaphore_wait() lowers it, sleeping while it is 0.
/// Waiters wake in order of their real-time priority; a thread that calls prt_semaphore_wait() in the meantime may
/// lower the count first. A semaphore has no owner, so there is no priority inheritance: protect data with a prt_mutex.
/// For threads of one process.
pub struct prt_semaphore(Semaphore);

/// # Safety
/// `semaphore` is NULL or a live semaphore.
unsafe fn inner<'a>(semaphore: *const prt_semaphore) -> Result<&'a Semaphore, Failure> {
    // SAFETY: as the caller promises; its words change by atomic operations only.
    unsafe { shared(semaphore, c"semaphore is NULL") }.map(|semaphore| &semaphore.0)
}

/// Creates a semaphore with this count. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_semaphore_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_semaphore_new(count: u32) -> *mut prt_semaphore {
    Box::into_raw(Box::new(prt_semaphore(Semaphore::new(count))))
}

/// Frees the semaphore. No thread may be waiting for it or be inside prt_semaphore_post(), which may still be running
/// when the thread that it woke continues. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_free(semaphore: *mut prt_semaphore) {
    // SAFETY: NULL or the caller's handle, from prt_semaphore_new, not used any more.
    drop(unsafe { take(semaphore) });
}

/// Raises the count by one and wakes one sleeper. Never blocks; makes no system call if no thread sleeps.
///
/// Threads: any. Real-time: futex(2). Errors: PRT_STATUS_FULL if the count is 2^32 − 1, in which case it is not
/// changed; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_post(semaphore: *const prt_semaphore) -> c_int {
    const AT_MAXIMUM: Failure = Failure::fixed(
        prt_status::Full,
        c"the semaphore's count is at its maximum, 2^32 - 1: it is posted more often than it is waited for",
    );
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { inner(semaphore) }?.post().map_err(|_| AT_MAXIMUM))
}

/// Lowers the count, sleeping until it is not 0. Neither a signal nor prt_stop() ends the wait.
///
/// Threads: any. Real-time: no system call if the count is not 0, otherwise futex(2); blocks.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_wait(semaphore: *const prt_semaphore) -> c_int {
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { inner(semaphore) }.map(Semaphore::wait))
}

/// Like prt_semaphore_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the count is not 0, it is
/// lowered even if that time has passed.
///
/// Threads: any. Real-time; blocks.
/// Errors: PRT_STATUS_TIMED_OUT, in which case the count is not lowered; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_wait_until(semaphore: *const prt_semaphore, until_ns: u64) -> c_int {
    const LATE: Failure = Failure::fixed(prt_status::TimedOut, c"no thread posted to the semaphore in time");
    let until = Nanos(until_ns.min(i64::MAX as u64));
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { inner(semaphore) }?.wait_until(until).map_err(|_| LATE))
}

/// Lowers the count by one if it is not 0. Never blocks, makes no system call.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_EMPTY if it is 0; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_try_wait(semaphore: *const prt_semaphore) -> c_int {
    const NONE: Failure = Failure::fixed(prt_status::Empty, c"the semaphore's count is 0");
    // SAFETY: NULL or a live handle.
    guard(|| if unsafe { inner(semaphore) }?.try_wait() { Ok(()) } else { Err(NONE) })
}

/// Reads the current count into `*count`.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_semaphore_count(semaphore: *const prt_semaphore, count: *mut u32) -> c_int {
    // SAFETY: each NULL, or a live handle and a place for a number.
    guard(|| unsafe { put(count, inner(semaphore)?.count(), c"count is NULL") })
}
