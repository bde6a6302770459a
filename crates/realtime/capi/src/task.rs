//! Periodic tasks: their options, and how they are started.

use crate::boundary::{Data, guard, put, shared, text, wanted};
use crate::handle::{Started, enter_task, prt_task};
use crate::scheduling::{cpu, scheduling};
use crate::start::prt;
use crate::status::{Failure, prt_status, touch};
use punctual_rt::{Cycle, Miss, Nanos, Next, PeriodicTask};
use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};

/// One release of a task; the argument of its body. Times are on CLOCK_MONOTONIC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_cycle {
    /// Number of the release, from 0, including skipped ones.
    pub index: u64,
    /// Time at which the release was due, ns: first release + index × period, however late earlier cycles were.
    pub scheduled_ns: u64,
    /// Time at which the thread woke for this release, ns.
    pub woke_ns: u64,
    /// Number of missed releases, for which the body will not run, between this one and the next that will run.
    pub skipped: u64,
    /// Number of releases that are due and will still run; only with PRT_MISS_CATCH_UP.
    pub pending: u64,
    /// Number of times the kernel throttled the task since its previous cycle because its runtime was used up; only
    /// with PRT_POLICY_DEADLINE.
    pub overruns: u64,
}

/// Return value of a body. Any other number counts as PRT_NEXT_STOP.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_next {
    /// Wait for the next release.
    Continue = 0,
    /// End the task.
    Stop = 1,
}

impl prt_next {
    /// Converts a body's return value.
    #[inline(always)]
    pub(crate) fn of(answer: c_int) -> Next {
        if answer == prt_next::Continue as c_int { Next::Continue } else { Next::Stop }
    }
}

/// What happens to releases that pass while the task is late by a period or more. released == ran + skipped + pending
/// always holds.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_miss {
    /// Missed releases are counted but not run. The next release is the first in the future, at its unchanged time.
    Skip = 0,
    /// Missed releases run immediately, one after the other. At most `catch_up_at_most` are pending; older ones are
    /// counted but not run.
    CatchUp = 1,
    /// The task ends without running the late release.
    Stop = 2,
    /// `safe_state` runs instead of the body for the late release. All missed releases, including the late one, count
    /// as skipped.
    SafeState = 3,
}

/// The body of a task. It runs in the task's thread at every release and returns one of enum prt_next. It must not
/// allocate, lock what ordinary threads lock (except with a prt_mutex), print, or touch memory for the first time; no
/// C++ exception and no longjmp() may leave it. It may call the functions of this library that are marked real-time.
pub type prt_body = Option<unsafe extern "C" fn(cycle: *const prt_cycle, data: *mut c_void) -> c_int>;

/// Options of a task. Initialise them with prt_task_options_init(), then change individual options.
#[repr(C)]
pub struct prt_task_options {
    /// Name of the task. Its first 15 bytes are the name of the thread. Copied.
    pub name: *const c_char,
    /// Period, ns; at least 1.
    pub period_ns: u64,
    /// One of enum prt_policy. Threads and processes that the task creates always get SCHED_OTHER.
    pub policy: c_int,
    /// Priority 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
    pub priority: c_int,
    /// CPU to pin the task to; −1 for any. With PRT_POLICY_DEADLINE it must be the only CPU of its root domain.
    pub cpu: c_int,
    /// One of enum prt_miss.
    pub miss: c_int,
    /// For PRT_MISS_CATCH_UP: maximum number of pending releases.
    pub catch_up_at_most: u64,
    /// For PRT_MISS_SAFE_STATE: function that runs instead of the body, under the same rules.
    pub safe_state: prt_body,
    /// Argument of `safe_state`.
    pub safe_state_data: *mut c_void,
    /// For PRT_POLICY_DEADLINE: CPU time per period, ns.
    pub runtime_ns: u64,
    /// Time after a release by which the body should return, ns; 0 means the period. With PRT_POLICY_DEADLINE it is
    /// also the kernel's deadline.
    pub deadline_ns: u64,
    /// Offset of the releases, ns: they are at prt_epoch_ns() + offset + a multiple of the period.
    pub offset_ns: u64,
    /// Number of releases after which the task ends, whether its body ran for them or they were skipped; 0 for no end.
    pub cycles: u64,
    /// For PRT_POLICY_DEADLINE with a deadline before the end of the period: after an activation that is late by more
    /// than this, ns, the task skips the next release; otherwise every later activation would be equally late. 0 means
    /// an eighth of the time from the runtime to the deadline.
    pub late_activation_ns: u64,
    /// Disables the measurement of execution times and deadline misses, which saves one clock read per cycle.
    pub without_execution: bool,
    /// For PRT_POLICY_DEADLINE: the task may also use the bandwidth that other deadline tasks leave unused.
    pub reclaim: bool,
    /// For PRT_POLICY_DEADLINE: each job ends with sched_yield(2). A late activation then delays all later releases.
    pub end_jobs_by_yield: bool,
    /// Reserved for later versions; must be 0.
    pub reserved: [u64; 4],
}

#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(*const prt_cycle, *mut c_void) -> c_int,
    data: Data,
}

impl Callback {
    #[inline(always)]
    fn call(&self, cycle: &Cycle) -> Next {
        let Cycle { index, scheduled, woke, skipped, pending, overruns } = *cycle;
        let cycle = prt_cycle { index, scheduled_ns: scheduled.0, woke_ns: woke.0, skipped, pending, overruns };
        // SAFETY: the caller of prt_task_start guarantees a function that may be called in this thread with this
        // pointer while the task runs; the cycle lives through the call.
        let answer = unsafe { (self.function)(&raw const cycle, self.data.get()) };
        prt_next::of(answer)
    }
}

thread_local! {
    static SAFE_STATE: Cell<Option<Callback>> = const { Cell::new(None) };
}

/// Calls the safe_state function of the calling task. [`Miss::SafeState`] takes a function without data, so the
/// function and its data are thread-local.
fn safe_state(cycle: &Cycle) -> Next {
    SAFE_STATE.get().map_or(Next::Stop, |callback| callback.call(cycle))
}

/// Sets `*options` to the defaults for a task `name` with `policy` and `priority` every `period_ns`: PRT_MISS_SKIP, on
/// any CPU, without end.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL. prt_task_start() detects values out of range.
/// Ownership: only the pointer `name` is stored; prt_task_start() copies the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_options_init(
    options: *mut prt_task_options,
    name: *const c_char,
    policy: c_int,
    priority: c_int,
    period_ns: u64,
) -> c_int {
    guard(|| {
        let value = prt_task_options {
            name,
            period_ns,
            policy,
            priority,
            cpu: -1,
            miss: prt_miss::Skip as c_int,
            catch_up_at_most: 0,
            safe_state: None,
            safe_state_data: std::ptr::null_mut(),
            runtime_ns: 0,
            deadline_ns: 0,
            offset_ns: 0,
            cycles: 0,
            late_activation_ns: 0,
            without_execution: false,
            reclaim: false,
            end_jobs_by_yield: false,
            reserved: [0; 4],
        };
        // SAFETY: NULL or a place for the options.
        unsafe { put(options, value, c"options is NULL") }
    })
}

fn invalid(text: impl std::fmt::Display) -> Failure {
    Failure::written(prt_status::Invalid, text)
}

fn miss(options: &prt_task_options) -> Result<(Miss, Option<Callback>), Failure> {
    match options.miss {
        m if m == prt_miss::Skip as c_int => Ok((Miss::Skip, None)),
        m if m == prt_miss::CatchUp as c_int => Ok((Miss::CatchUp { at_most: options.catch_up_at_most }, None)),
        m if m == prt_miss::Stop as c_int => Ok((Miss::Stop, None)),
        m if m == prt_miss::SafeState as c_int => {
            let function = options.safe_state.ok_or(Failure::fixed(prt_status::Null, c"safe_state is NULL"))?;
            let data = Data::new(options.safe_state_data);
            Ok((Miss::SafeState(safe_state), Some(Callback { function, data })))
        }
        other => Err(invalid(format!("miss policy {other} is unknown: use one of enum prt_miss"))),
    }
}

/// Maximum of any time in the options, ns: 31 years, so that sums of times never overflow.
const LONGEST_NS: u64 = 1_000_000_000_000_000_000;

fn checked(options: &prt_task_options) -> Result<(), Failure> {
    if options.period_ns == 0 {
        return Err(invalid("period_ns is 0: give 1 or more"));
    }
    let times =
        [options.period_ns, options.deadline_ns, options.offset_ns, options.runtime_ns, options.late_activation_ns];
    if let Some(time) = times.into_iter().find(|time| *time > LONGEST_NS) {
        return Err(invalid(format!("{time} ns is longer than 31 years: times are in nanoseconds")));
    }
    if options.reserved != [0; 4] {
        return Err(invalid("reserved is not 0: begin with prt_task_options_init()"));
    }
    Ok(())
}

fn described<'a>(rt: &'a prt, name: &str, options: &prt_task_options) -> Result<PeriodicTask<'a>, Failure> {
    checked(options)?;
    let deadline = if options.deadline_ns == 0 { options.period_ns } else { options.deadline_ns };
    let times = [options.runtime_ns, deadline, options.period_ns];
    let scheduling = scheduling(options.policy, options.priority, times)?;
    let (miss, safe) = miss(options)?;
    let mut task = rt.rt.periodic(name, scheduling, Nanos(options.period_ns)).on_miss(miss).deadline(Nanos(deadline));
    task = task.offset(Nanos(options.offset_ns));
    if let Some(cpu) = cpu(options.cpu)? {
        task = task.cpu(cpu);
    }
    if options.cycles != 0 {
        task = task.cycles(options.cycles);
    }
    if options.without_execution {
        task = task.without_execution();
    }
    if options.late_activation_ns != 0 {
        task = task.late_activation(Nanos(options.late_activation_ns));
    }
    if options.reclaim {
        task = task.reclaim();
    }
    if options.end_jobs_by_yield {
        task = task.end_jobs_by_yield();
    }
    Ok(task.prepare(move || {
        touch();
        enter_task();
        SAFE_STATE.set(safe);
    }))
}

/// Starts a task. Its thread first locks its memory and sets its CPU affinity and policy. The first release is at least
/// a millisecond later.
///
/// Threads: any non-real-time thread. `body` is called in the task's thread with `data`, until the task has ended.
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses the
/// policy, the CPU or the thread. In these cases nothing is started.
/// Ownership: `*out` is the caller's until prt_task_free(); `data` and what `options` points to remain the caller's,
/// and `data` is used until the task has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_start(
    rt: *const prt,
    options: *const prt_task_options,
    body: prt_body,
    data: *mut c_void,
    out: *mut *mut prt_task,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let rt = unsafe { shared(rt, c"rt is NULL") }?;
        // SAFETY: NULL or initialised options.
        let options = unsafe { shared(options, c"options is NULL") }?;
        let function = body.ok_or(Failure::fixed(prt_status::Null, c"body is NULL"))?;
        wanted(out, c"out is NULL")?;
        // SAFETY: NULL or a C string of the caller.
        let name = unsafe { text(options.name, c"options->name is NULL") }?;
        let body = Callback { function, data: Data::new(data) };
        let task = described(rt, name, options)?.spawn(move |cycle| body.call(cycle));
        let task = task.map_err(|error| Failure::written(prt_status::Refused, error))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, prt_task::of(Started::Periodic(task)), c"out is NULL") }
    })
}
