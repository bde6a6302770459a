//! CLOCK_MONOTONIC, the clock of every time in this interface.

use crate::boundary::guard;
use crate::status::{Failure, prt_status};
use punctual_rt::{Nanos, monotonic, sleep_until};
use std::ffi::c_int;

/// Returns the current time, ns on CLOCK_MONOTONIC. Reads the vDSO without a system call.
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub extern "C" fn prt_now_ns() -> u64 {
    monotonic().0
}

/// Sleeps until `at_ns` on CLOCK_MONOTONIC: clock_nanosleep(2), TIMER_ABSTIME. Signals do not end the sleep.
///
/// Threads: any. Real-time; blocks. A task whose body sleeps is stopped only after the sleep.
/// Errors: PRT_STATUS_INVALID for a time after 2^63 ns.
#[unsafe(no_mangle)]
pub extern "C" fn prt_sleep_until(at_ns: u64) -> c_int {
    guard(|| {
        if at_ns > i64::MAX as u64 {
            return Err(Failure::fixed(
                prt_status::Invalid,
                c"at_ns is beyond 2^63 ns: give a time based on prt_now_ns()",
            ));
        }
        while sleep_until(Nanos(at_ns)).is_err() {}
        Ok(())
    })
}
