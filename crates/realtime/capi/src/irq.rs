//! Priorities of the kernel's interrupt threads.

use crate::boundary::{guard, put, take, wanted};
use crate::status::{Failure, prt_status};
use punctual_rt::{IrqThreads, Priority};
use std::ffi::c_int;

/// Interrupt threads whose priority was changed. prt_irq_threads_free() restores the old priorities.
pub struct prt_irq_threads(#[expect(dead_code, reason = "restores on drop")] IrqThreads);

/// Gives every thread of interrupt `irq` (irq/NN-name) this SCHED_FIFO priority. It should be lower than that of tasks
/// that the interrupt must not delay, and at least that of tasks that wait for the interrupt. A program that is killed
/// does not restore the priority.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_INVALID for a priority outside 1 to 99, or a negative interrupt; PRT_STATUS_REFUSED if the
/// interrupt has no thread or the kernel refuses (CAP_SYS_NICE), in which case nothing is changed; PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_irq_threads_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_irq_threads_set(irq: c_int, priority: c_int, out: *mut *mut prt_irq_threads) -> c_int {
    guard(|| {
        wanted(out, c"out is NULL")?;
        let invalid = |text: String| Failure::written(prt_status::Invalid, text);
        let irq = u32::try_from(irq).map_err(|_| invalid(format!("interrupt {irq} does not exist")))?;
        let level = u8::try_from(priority).ok().and_then(|level| Priority::try_from(level).ok());
        let level =
            level.ok_or_else(|| invalid(format!("priority {priority}: the priorities of SCHED_FIFO are 1 to 99")))?;
        let changed = IrqThreads::set(irq, level).map_err(|error| Failure::written(prt_status::Refused, error))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_irq_threads(changed))), c"out is NULL") }
    })
}

/// Restores the priorities. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_irq_threads_free(threads: *mut prt_irq_threads) {
    // SAFETY: NULL or the caller's handle, from prt_irq_threads_set, not used any more.
    drop(unsafe { take(threads) });
}
