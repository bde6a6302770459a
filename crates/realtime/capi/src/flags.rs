//! A group of 32 event flags.

use crate::boundary::{guard, put, shared, take, wanted};
use crate::status::{Failure, prt_status};
use punctual_rt::{EventFlags, Match, Nanos};
use std::ffi::c_int;

/// How many of the requested flags must be set.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_match {
    /// At least one of the requested flags.
    Any = 0,
    /// All of the requested flags.
    All = 1,
}

/// A group of 32 event flags. Threads set and clear flags; other threads wait until some or all flags of a mask are
/// set. Flags are states, not counts: a flag set twice before it is cleared counts once. They have no owner, so there
/// is no priority inheritance. For threads of one process.
pub struct prt_flags(EventFlags);

/// # Safety
/// `flags` is NULL or a live group.
unsafe fn inner<'a>(flags: *const prt_flags) -> Result<&'a EventFlags, Failure> {
    // SAFETY: as the caller promises; its words change by atomic operations only.
    unsafe { shared(flags, c"flags is NULL") }.map(|flags| &flags.0)
}

/// Returns how to match the mask, or an error if the mask is 0 or `how` is not one of enum prt_match.
fn asked(mask: u32, how: c_int) -> Result<Match, Failure> {
    match how {
        _ if mask == 0 => Err(Failure::fixed(prt_status::Invalid, c"mask is 0: name the flags to wait for")),
        h if h == prt_match::Any as c_int => Ok(Match::Any),
        h if h == prt_match::All as c_int => Ok(Match::All),
        _ => Err(Failure::fixed(prt_status::Invalid, c"how is unknown: use one of enum prt_match")),
    }
}

const NONE: Failure = Failure::fixed(prt_status::Empty, c"not enough of these flags are set");
const LATE: Failure = Failure::fixed(prt_status::TimedOut, c"not enough of these flags were set in time");

/// # Safety
/// `flags` is NULL or a live handle; `set` is NULL or valid for writing a number.
unsafe fn look(
    flags: *const prt_flags,
    mask: u32,
    how: c_int,
    set: *mut u32,
    at: impl FnOnce(&EventFlags, Match) -> Result<u32, Failure>,
) -> c_int {
    guard(|| {
        // SAFETY: as the caller promises.
        let flags = unsafe { inner(flags) }?;
        let how = asked(mask, how)?;
        // Checked first, so that flags are not consumed without being returned.
        wanted(set, c"set is NULL")?;
        let found = at(flags, how)?;
        // SAFETY: as the caller promises.
        unsafe { put(set, found, c"set is NULL") }
    })
}

fn until(until_ns: u64) -> Nanos {
    Nanos(until_ns.min(i64::MAX as u64))
}

/// Creates a group with these flags set. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_flags_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_flags_new(set: u32) -> *mut prt_flags {
    Box::into_raw(Box::new(prt_flags(EventFlags::new(set))))
}

/// Frees the group. No thread may be waiting for it or be inside prt_flags_set(), which may still be running when a
/// thread that it woke continues. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_free(flags: *mut prt_flags) {
    // SAFETY: NULL or the caller's handle, from prt_flags_new, not used any more.
    drop(unsafe { take(flags) });
}

/// Sets flags and wakes the sleepers. Never blocks; makes no system call if no thread sleeps.
///
/// Threads: any. Real-time: futex(2).
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_set(flags: *const prt_flags, mask: u32) -> c_int {
    // SAFETY: NULL or a live handle.
    guard(|| unsafe { inner(flags) }.map(|flags| flags.set(mask)))
}

/// Clears flags. `*were` receives those of them that were set; `were` may be NULL. Never blocks.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_clear(flags: *const prt_flags, mask: u32, were: *mut u32) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let cleared = unsafe { inner(flags) }?.clear(mask);
        // SAFETY: not NULL, so a place for a number.
        if were.is_null() { Ok(()) } else { unsafe { put(were, cleared, c"were is NULL") } }
    })
}

/// Reads the current flags into `*set`.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_get(flags: *const prt_flags, set: *mut u32) -> c_int {
    // SAFETY: each NULL, or a live handle and a place for a number.
    guard(|| unsafe { put(set, inner(flags)?.get(), c"set is NULL") })
}

/// Stores in `*set` the flags of `mask` that are set, if they satisfy `how`, which is one of enum prt_match. Never
/// blocks.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_EMPTY if they do not satisfy `how`; PRT_STATUS_INVALID for a mask of 0 or an unknown `how`;
/// PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_try_wait(flags: *const prt_flags, mask: u32, how: c_int, set: *mut u32) -> c_int {
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, |flags, how| flags.try_wait(mask, how).ok_or(NONE)) }
}

/// Like prt_flags_try_wait(), but also clears these flags in the same atomic step, so that only one thread takes an
/// event.
///
/// Threads: any. Real-time.
/// Errors: as for prt_flags_try_wait(); nothing is cleared in this case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_try_take(flags: *const prt_flags, mask: u32, how: c_int, set: *mut u32) -> c_int {
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, |flags, how| flags.try_take(mask, how).ok_or(NONE)) }
}

/// Sleeps until enough flags of `mask` are set and stores these flags in `*set`; `how` is one of enum prt_match.
/// Neither a signal nor prt_stop() ends the wait.
///
/// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
/// Errors: PRT_STATUS_INVALID for a mask of 0 or an unknown `how`; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_wait(flags: *const prt_flags, mask: u32, how: c_int, set: *mut u32) -> c_int {
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, |flags, how| Ok(flags.wait(mask, how))) }
}

/// Like prt_flags_wait(), but also clears these flags in the same atomic step, so that only one thread takes an event.
///
/// Threads: any. Real-time: futex(2) if it has to sleep; blocks.
/// Errors: as for prt_flags_wait().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_take(flags: *const prt_flags, mask: u32, how: c_int, set: *mut u32) -> c_int {
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, |flags, how| Ok(flags.take(mask, how))) }
}

/// Like prt_flags_wait(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the flags are already set, it
/// succeeds even if that time has passed.
///
/// Threads: any. Real-time; blocks.
/// Errors: as for prt_flags_wait(); PRT_STATUS_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_wait_until(
    flags: *const prt_flags,
    mask: u32,
    how: c_int,
    until_ns: u64,
    set: *mut u32,
) -> c_int {
    let at = |flags: &EventFlags, how| flags.wait_until(mask, how, until(until_ns)).map_err(|_| LATE);
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, at) }
}

/// Like prt_flags_take(), but waits at most until `until_ns` on CLOCK_MONOTONIC. If the flags are already set, it
/// succeeds even if that time has passed.
///
/// Threads: any. Real-time; blocks.
/// Errors: as for prt_flags_take(); PRT_STATUS_TIMED_OUT, in which case nothing is cleared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_flags_take_until(
    flags: *const prt_flags,
    mask: u32,
    how: c_int,
    until_ns: u64,
    set: *mut u32,
) -> c_int {
    let at = |flags: &EventFlags, how| flags.take_until(mask, how, until(until_ns)).map_err(|_| LATE);
    // SAFETY: as this function's caller promises.
    unsafe { look(flags, mask, how, set, at) }
}
