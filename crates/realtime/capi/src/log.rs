//! A log for real-time threads: they store numbers, and an ordinary thread formats and writes them.

use crate::boundary::{exclusive, guard, put, shared, take, text, wanted};
use crate::marks;
use crate::status::{Failure, prt_status};
use punctual_rt::{Arg, Level, Log, LogCounts, Nanos, Recorder};
use std::ffi::{c_char, c_int};
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;

/// Severity of a record.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_level {
    /// Something failed.
    Error = 0,
    /// Something is unusual, but the program continues.
    Warning = 1,
    /// Normal operation.
    Info = 2,
    /// Details for troubleshooting.
    Debug = 3,
}

/// Maximum number of arguments of a record.
pub const PRT_ARGS_MOST: usize = 4;

/// A number in a record, created by prt_arg_unsigned(), prt_arg_signed(), prt_arg_double() or prt_arg_time().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_arg {
    /// The bits of the number.
    pub bits: u64,
    /// The type of the number: 0 unsigned, 1 signed, 2 double, 3 time.
    pub kind: u64,
}

const UNSIGNED: u64 = 0;
const SIGNED: u64 = 1;
const DOUBLE: u64 = 2;
const TIME: u64 = 3;

/// Returns an unsigned number for prt_record().
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub extern "C" fn prt_arg_unsigned(value: u64) -> prt_arg {
    prt_arg { bits: value, kind: UNSIGNED }
}

/// Returns a signed number for prt_record().
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub extern "C" fn prt_arg_signed(value: i64) -> prt_arg {
    prt_arg { bits: value.cast_unsigned(), kind: SIGNED }
}

/// Returns a floating-point number for prt_record().
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub extern "C" fn prt_arg_double(value: f64) -> prt_arg {
    prt_arg { bits: value.to_bits(), kind: DOUBLE }
}

/// Returns a duration for prt_record(); `ns` is in nanoseconds. The log shows it with a unit.
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub extern "C" fn prt_arg_time(ns: u64) -> prt_arg {
    prt_arg { bits: ns, kind: TIME }
}

fn number(arg: &prt_arg) -> Result<Arg, Failure> {
    match arg.kind {
        UNSIGNED => Ok(Arg::U(arg.bits)),
        SIGNED => Ok(Arg::I(arg.bits.cast_signed())),
        DOUBLE => Ok(Arg::F(f64::from_bits(arg.bits))),
        TIME => Ok(Arg::T(Nanos(arg.bits))),
        _ => Err(Failure::fixed(
            prt_status::Invalid,
            c"a number has an unknown type: create it with prt_arg_unsigned() or a similar function",
        )),
    }
}

/// A log with a prt_recorder for each real-time thread. An ordinary thread polls the recorders every 20 ms, sorts the
/// records by time, formats and writes them, and reports how many were dropped.
pub struct prt_log(Log);

/// The writing end of a log, used by one real-time thread.
pub struct prt_recorder(Recorder);

/// Counters of a log.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_log_counts {
    /// Number of records written.
    pub written: u64,
    /// Number of records dropped because a recorder was full.
    pub dropped: u64,
    /// Number of records that could not be written to the output.
    pub failed: u64,
}

/// Starts a log that writes lines `SECONDS LEVEL NAME: TEXT` to the file descriptor `fd`. SECONDS is the time of the
/// record on CLOCK_MONOTONIC. The descriptor is duplicated.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_INVALID for a negative descriptor; PRT_STATUS_REFUSED if the descriptor is not open, or the log's
/// thread cannot be started; PRT_STATUS_NULL.
/// Ownership: `fd` remains the caller's; `*out` is the caller's until prt_log_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_start(fd: c_int, out: *mut *mut prt_log) -> c_int {
    guard(|| {
        wanted(out, c"out is NULL")?;
        if fd < 0 {
            return Err(Failure::fixed(prt_status::Invalid, c"fd is negative: give an open file descriptor"));
        }
        // SAFETY: not negative; dup(2) refuses one that is not open.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let started = fd.try_clone_to_owned().and_then(|fd| Log::start(File::from(fd)));
        let log = started
            .map_err(|error| Failure::written(prt_status::Refused, format!("the log cannot be started: {error}")))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_log(log))), c"out is NULL") }
    })
}

/// Creates a recorder with space for `capacity` records; `name` appears in its lines. Its memory is locked if
/// RLIMIT_MEMLOCK or CAP_IPC_LOCK allows it.
///
/// Threads: any non-real-time thread, before the real-time part. Errors: PRT_STATUS_INVALID for a capacity of 0 or of
/// more than a million; PRT_STATUS_REFUSED if there is not enough memory; PRT_STATUS_NULL. Ownership: `*out` is the
/// caller's until prt_recorder_free(), before or after the log is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_recorder(
    log: *const prt_log,
    name: *const c_char,
    capacity: usize,
    out: *mut *mut prt_recorder,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let log = unsafe { shared(log, c"log is NULL") }?;
        // SAFETY: NULL or a C string of the caller.
        let name = unsafe { text(name, c"name is NULL") }?;
        wanted(out, c"out is NULL")?;
        if capacity > 1_000_000 {
            return Err(Failure::fixed(
                prt_status::Invalid,
                c"a recorder for more than a million records is not supported",
            ));
        }
        let recorder = log.0.recorder(name, capacity);
        let mut recorder = recorder.map_err(|error| {
            let refused = error.kind() == ErrorKind::OutOfMemory;
            Failure::written(if refused { prt_status::Refused } else { prt_status::Invalid }, error)
        })?;
        // Without the privilege the memory is not locked; prt_builder_lock_memory() reports that for the whole program.
        let _ = recorder.lock_memory();
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_recorder(recorder))), c"out is NULL") }
    })
}

/// Records the time, `text`, and `count` numbers, which replace each `{}` in `text` in order. If there is no space, the
/// record is dropped and counted. `level` is one of enum prt_level.
///
/// Threads: only the thread of the recorder. Real-time: wait-free, one clock read, no system call.
/// Errors: PRT_STATUS_INVALID for an unknown level or type of number, more than PRT_ARGS_MOST numbers, or text that is
/// not UTF-8; PRT_STATUS_NULL.
/// Ownership: only the pointer `text` is stored: the text, for example a string literal, must not change until the log
/// is freed. `args` are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_record(
    recorder: *mut prt_recorder,
    level: c_int,
    text: *const c_char,
    args: *const prt_arg,
    count: usize,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, of one thread at a time.
        let recorder = unsafe { exclusive(recorder, c"recorder is NULL") }?;
        // SAFETY: NULL or a C string that the caller keeps until the log is freed, which joins the thread that reads it.
        let text: &'static str = unsafe { marks::text(text, c"text is NULL") }?;
        let level = match level {
            l if l == prt_level::Error as c_int => Level::Error,
            l if l == prt_level::Warning as c_int => Level::Warning,
            l if l == prt_level::Info as c_int => Level::Info,
            l if l == prt_level::Debug as c_int => Level::Debug,
            _ => return Err(Failure::fixed(prt_status::Invalid, c"the level is unknown: use one of enum prt_level")),
        };
        if count > PRT_ARGS_MOST {
            return Err(Failure::fixed(prt_status::Invalid, c"the record has more than PRT_ARGS_MOST numbers"));
        }
        let mut numbers = [Arg::U(0); PRT_ARGS_MOST];
        for (n, to) in numbers.iter_mut().enumerate().take(count) {
            // SAFETY: NULL, or the caller has `count` numbers there.
            *to = number(unsafe { shared(args.wrapping_add(n), c"args is NULL") }?)?;
        }
        recorder.0.record(level, text, &numbers[..count]);
        Ok(())
    })
}

/// Reads the counters of a log.
///
/// Threads: any non-real-time thread: takes a lock that the writing thread holds while it formats.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_get_counts(log: *const prt_log, out: *mut prt_log_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let LogCounts { written, dropped, failed } = unsafe { shared(log, c"log is NULL") }?.0.counts();
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, prt_log_counts { written, dropped, failed }, c"out is NULL") }
    })
}

/// Frees a recorder; its records are still written, and its memory is freed after that. NULL is ignored.
///
/// Threads: any non-real-time thread, after the recorder's thread has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_recorder_free(recorder: *mut prt_recorder) {
    // SAFETY: NULL or the caller's handle, from prt_log_recorder, not used any more.
    drop(unsafe { take(recorder) });
}

/// Writes the remaining records and ends the log. NULL is ignored. If the output accepts nothing for 2 s, for example
/// because the reader of a pipe has stopped, the rest is lost.
///
/// Threads: any non-real-time thread. Waits for the writing thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_free(log: *mut prt_log) {
    // SAFETY: NULL or the caller's handle, from prt_log_start, not used any more.
    drop(unsafe { take(log) });
}
