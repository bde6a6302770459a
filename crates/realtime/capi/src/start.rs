//! Checks the requirements of a program, starts it, and ends it in an orderly way.

use crate::boundary::{exclusive, guard, put, shared, take, wanted};
use crate::status::{Failure, prt_status, remember};
use punctual_rt::{Builder, Check, CpuId, Nanos, Rt, StartError};
use std::ffi::{CString, c_char, c_int};

/// Requirements of a program, checked before it starts. Only one thread may use it.
pub struct prt_builder(Option<Builder>);

/// A started real-time program: creates tasks, and stops them together.
pub struct prt {
    pub(crate) rt: Rt,
    report: CString,
}

/// Properties that a real-time program may require of the machine. `punctual audit` checks far more, once per machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_check {
    /// The kernel is PREEMPT_RT: CONFIG_PREEMPT_RT. No argument.
    PreemptRt = 0,
    /// This SCHED_FIFO priority is granted; it is set for the check, and the previous scheduling is restored.
    Priority = 1,
    /// This many bytes can be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
    LockedMemory = 2,
    /// Timers have nanosecond resolution. No argument.
    HighResolutionTimers = 3,
    /// The clock is read without a system call. No argument.
    FastClock = 4,
    /// No mechanism takes the CPU from a real-time task that does not sleep: neither RT throttling nor the fair server,
    /// whose settings only root can read. With the kernel's defaults the check fails; a program that leaves 5 % of each
    /// CPU unused does not need it. No argument.
    NoThrottling = 5,
    /// No thread of another program has this priority or a higher one, or is SCHED_DEADLINE. Kernel threads count,
    /// except the stoppers (migration/N).
    ForeignRtAbove = 6,
    /// The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME. No argument.
    NoRtTimeLimit = 7,
    /// This CPU is isolated from other tasks: isolcpus=, or an isolated cpuset partition.
    Isolated = 8,
    /// This CPU's frequency does not change.
    FixedFrequency = 9,
}

/// Whether the program starts if a check fails.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_severity {
    /// The program starts even if the check fails; prt_start() prints a warning on standard error, and the report
    /// contains the failure.
    Wanted = 0,
    /// The program does not start if the check fails.
    Required = 1,
}

fn check(kind: c_int, argument: u64) -> Result<Check, Failure> {
    const NONE: [(prt_check, Check); 5] = [
        (prt_check::PreemptRt, Check::PreemptRt),
        (prt_check::HighResolutionTimers, Check::HighResolutionTimers),
        (prt_check::FastClock, Check::FastClock),
        (prt_check::NoThrottling, Check::NoThrottling),
        (prt_check::NoRtTimeLimit, Check::NoRtTimeLimit),
    ];
    if let Some((_, check)) = NONE.iter().find(|(number, _)| *number as c_int == kind) {
        return Ok(*check);
    }
    let invalid = |what: &str| Failure::written(prt_status::Invalid, format!("{what} {argument} does not exist"));
    let priority = || u8::try_from(argument).ok().filter(|p| (1..=99).contains(p)).ok_or(invalid("priority"));
    let cpu = || u32::try_from(argument).map(CpuId).map_err(|_| invalid("CPU"));
    match kind {
        k if k == prt_check::Priority as c_int => Ok(Check::Priority(priority()?)),
        k if k == prt_check::ForeignRtAbove as c_int => Ok(Check::ForeignRtAbove(priority()?)),
        k if k == prt_check::LockedMemory as c_int => Ok(Check::LockedMemory(argument)),
        k if k == prt_check::Isolated as c_int => Ok(Check::Isolated(cpu()?)),
        k if k == prt_check::FixedFrequency as c_int => Ok(Check::FixedFrequency(cpu()?)),
        _ => Err(Failure::written(prt_status::Invalid, format!("check {kind} is unknown: use one of enum prt_check"))),
    }
}

fn add(builder: &mut prt_builder, check: Check, severity: c_int) -> Result<(), Failure> {
    let required = match severity {
        s if s == prt_severity::Wanted as c_int => false,
        s if s == prt_severity::Required as c_int => true,
        other => {
            let text = format!("severity {other} is unknown: use one of enum prt_severity");
            return Err(Failure::written(prt_status::Invalid, text));
        }
    };
    change(builder, |b| if required { b.require(check) } else { b.warn(check) });
    Ok(())
}

fn change(builder: &mut prt_builder, how: impl FnOnce(Builder) -> Builder) {
    builder.0 = builder.0.take().map(how);
}

/// Creates a builder without checks or memory locking. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's, until prt_start() or prt_builder_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_builder_new() -> *mut prt_builder {
    Box::into_raw(Box::new(prt_builder(Some(Rt::builder()))))
}

/// Frees the builder of a program that is not started. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_free(builder: *mut prt_builder) {
    guard(|| {
        // SAFETY: NULL or the caller's handle, not used any more.
        drop(unsafe { take(builder) });
        Ok(())
    });
}

/// Requests that prt_start() locks all memory of the program, present and future: mlockall(2), mallopt(3).
///
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_lock_memory(builder: *mut prt_builder) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, of one thread.
        change(unsafe { exclusive(builder, c"builder is NULL") }?, Builder::lock_memory);
        Ok(())
    })
}

/// Sets how many bytes of each task's stack are written before its first release. The default is 256 KiB.
///
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID above 1 GiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_prefault_stack(builder: *mut prt_builder, bytes: usize) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, of one thread.
        let builder = unsafe { exclusive(builder, c"builder is NULL") }?;
        if bytes > 1 << 30 {
            return Err(Failure::fixed(prt_status::Invalid, c"a stack of more than 1 GiB is not supported"));
        }
        change(builder, |b| b.prefault_stack(bytes));
        Ok(())
    })
}

/// Requests that no warnings are printed. Otherwise prt_start() prints a line on standard error for each wanted check
/// that failed or could not be made.
///
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_silence_warnings(builder: *mut prt_builder) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, of one thread.
        change(unsafe { exclusive(builder, c"builder is NULL") }?, Builder::silence_warnings);
        Ok(())
    })
}

/// Requests a check: `kind` is one of enum prt_check, `argument` its argument or 0, `severity` one of enum
/// prt_severity.
///
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for an unknown check or severity, or an argument out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_check(
    builder: *mut prt_builder,
    kind: c_int,
    argument: u64,
    severity: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, of one thread.
        let builder = unsafe { exclusive(builder, c"builder is NULL") }?;
        add(builder, check(kind, argument)?, severity)
    })
}

/// Requests a check that this SCHED_DEADLINE reservation is granted. It is set for the check, and the previous
/// scheduling is restored.
///
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for an unknown severity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_builder_check_deadline(
    builder: *mut prt_builder,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
    severity: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, of one thread.
        let builder = unsafe { exclusive(builder, c"builder is NULL") }?;
        let [runtime, deadline, period] = [runtime_ns, deadline_ns, period_ns].map(Nanos);
        add(builder, Check::Deadline { runtime, deadline, period }, severity)
    })
}

/// Runs the checks, locks memory, and sets the epoch of all tasks to the current time. Installs an empty handler for
/// SIGURG, which wakes sleeping tasks.
///
/// Threads: any non-real-time thread, once per program.
/// Errors: PRT_STATUS_NOT_READY with the whole report if a required check failed; PRT_STATUS_REFUSED if memory cannot
/// be locked; PRT_STATUS_NULL.
/// Ownership: `builder` is freed in any case; `*out` is the caller's until prt_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_start(builder: *mut prt_builder, out: *mut *mut prt) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, given away.
        let taken = unsafe { take(builder) }.and_then(|b| b.0);
        let builder = taken.ok_or(Failure::fixed(prt_status::Null, c"builder is NULL"))?;
        wanted(out, c"out is NULL")?;
        let rt = builder.start().map_err(|error| {
            let status = match error {
                StartError::Required(_) => prt_status::NotReady,
                _ => prt_status::Refused,
            };
            Failure::written(status, error)
        })?;
        let report = CString::new(rt.report().to_string().replace('\0', "?")).unwrap_or_default();
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt { rt, report })), c"out is NULL") }
    })
}

/// Returns the results of the checks, one per line: "ok", "FAILED" or "unknown", what was found, and what to do. NULL
/// if `rt` is NULL.
///
/// Threads: any.
/// Ownership: the string belongs to `rt` and is valid until prt_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_report(rt: *const prt) -> *const c_char {
    // SAFETY: NULL or a live handle, only read.
    match unsafe { shared(rt, c"rt is NULL") } {
        Ok(rt) => rt.report.as_ptr(),
        Err(failure) => {
            remember(failure);
            std::ptr::null()
        }
    }
}

/// Returns true if all checks passed; false if `rt` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_passed(rt: *const prt) -> bool {
    // SAFETY: NULL or a live handle, only read.
    unsafe { shared(rt, c"rt is NULL") }.map(|rt| rt.rt.report().passed()).unwrap_or_else(|failure| {
        remember(failure);
        false
    })
}

/// Returns the epoch, the instant on CLOCK_MONOTONIC from which the releases of all tasks are counted, ns; 0 if `rt` is
/// NULL.
///
/// Threads: any. Real-time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_epoch_ns(rt: *const prt) -> u64 {
    // SAFETY: NULL or a live handle, only read.
    unsafe { shared(rt, c"rt is NULL") }.map(|rt| rt.rt.epoch().0).unwrap_or_else(|failure| {
        remember(failure);
        0
    })
}

/// Blocks SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup(1)) in the calling thread and in the threads that it
/// starts, so that prt_until_signal() receives them. Call it at the start of main().
///
/// Errors: none on Linux.
#[unsafe(no_mangle)]
pub extern "C" fn prt_block_signals() -> c_int {
    guard(|| punctual_rt::block_signals().map_err(|error| Failure::written(prt_status::Refused, error)))
}

/// Sleeps until SIGINT, SIGTERM or SIGHUP arrives, then calls prt_stop().
///
/// Threads: a non-real-time thread, not a task's. Blocks.
/// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_until_signal(rt: *const prt) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let rt = unsafe { shared(rt, c"rt is NULL") }?;
        crate::handle::not_in_a_task()?;
        rt.rt.until_signal();
        Ok(())
    })
}

/// Like prt_until_signal(), but waits at most until `until_ns` on CLOCK_MONOTONIC. It then returns
/// PRT_STATUS_TIMED_OUT, and the tasks continue.
///
/// Threads: any non-real-time thread, not a task's. Blocks. Errors: as for prt_until_signal(); PRT_STATUS_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_until_signal_or(rt: *const prt, until_ns: u64) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let rt = unsafe { shared(rt, c"rt is NULL") }?;
        crate::handle::not_in_a_task()?;
        match rt.rt.until_signal_or(Nanos(until_ns)) {
            true => Ok(()),
            false => Err(Failure::fixed(prt_status::TimedOut, c"no signal came before the time limit")),
        }
    })
}

/// Stops every task and waits until each body has returned. Statistics remain available from their handles.
///
/// Threads: any non-real-time thread, not a task's. Blocks.
/// Errors: PRT_STATUS_NULL, PRT_STATUS_DEADLOCK from a task's body.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_stop(rt: *const prt) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let rt = unsafe { shared(rt, c"rt is NULL") }?;
        crate::handle::not_in_a_task()?;
        rt.rt.stop();
        Ok(())
    })
}

/// Stops every task like prt_stop(), and frees `rt`. The tasks' handles remain the caller's. NULL is ignored.
///
/// Threads: any non-real-time thread, not a task's. Blocks.
/// Errors: PRT_STATUS_DEADLOCK from a task's body; in this case nothing is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_free(rt: *mut prt) -> c_int {
    guard(|| {
        crate::handle::not_in_a_task()?;
        // SAFETY: NULL or the caller's handle, not used any more.
        if let Some(rt) = unsafe { take(rt) } {
            rt.rt.stop();
        }
        Ok(())
    })
}
