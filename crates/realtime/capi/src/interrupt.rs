//! Interrupt tasks: their body runs at every event of a source.

use crate::boundary::{Data, guard, put, shared, take, text, wanted};
use crate::handle::{Figures, Started, enter_task, prt_task};
use crate::scheduling::{cpu, scheduling};
use crate::source::prt_source;
use crate::start::prt;
use crate::status::{Failure, prt_status, touch};
use crate::task::prt_next;
use punctual_rt::{Interrupt, InterruptStats, Next};
use std::ffi::{c_char, c_int, c_void};

/// The argument of an interrupt task's body: one wakeup for one or more events. Times are on CLOCK_MONOTONIC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_interrupt {
    /// Number of the event, from 0; coalesced and lost events are counted, too.
    pub sequence: u64,
    /// Time at which the kernel saw the event, ns; 0 if its source has no time stamps.
    pub at_ns: u64,
    /// Time at which the thread woke for the event, ns.
    pub woke_ns: u64,
    /// Number of further events that arrived before the thread woke, and for which the body does not run.
    pub coalesced: u64,
    /// Number of events that the source lost before this one.
    pub lost: u64,
    /// Value of the event: the edge of a GPIO line (1 rising, 0 falling), or the value that a prt_wait function has
    /// set; otherwise 0.
    pub value: u64,
}

/// The body of an interrupt task. It has the same rules and return values as a prt_body.
pub type prt_interrupt_body = Option<unsafe extern "C" fn(interrupt: *const prt_interrupt, data: *mut c_void) -> c_int>;

/// Options of an interrupt task. Initialise them with prt_interrupt_options_init(), then change individual options.
#[repr(C)]
pub struct prt_interrupt_options {
    /// Name of the task. Its first 15 bytes are the name of the thread. Copied.
    pub name: *const c_char,
    /// One of enum prt_policy, but not PRT_POLICY_DEADLINE.
    pub policy: c_int,
    /// Priority 1 to 99 with PRT_POLICY_FIFO and PRT_POLICY_RR; a nice value with PRT_POLICY_OTHER.
    pub priority: c_int,
    /// CPU to pin the task to; −1 for any.
    pub cpu: c_int,
    /// Reserved for later versions; must be 0.
    pub reserved: [u64; 4],
}

/// Counters of an interrupt task: events == handled + coalesced + lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct prt_interrupt_counts {
    /// Total number of events.
    pub events: u64,
    /// Number of wakeups for which the body ran.
    pub handled: u64,
    /// Number of events that arrived together with a handled one.
    pub coalesced: u64,
    /// Number of events that the source lost.
    pub lost: u64,
    /// The errno of the source if it ended the task; otherwise 0.
    pub source_error: c_int,
}

/// Sets `*options` to the defaults for a task `name` with `policy` and `priority` on any CPU.
///
/// Threads: any. Real-time.
/// Errors: PRT_STATUS_NULL. prt_interrupt_start() detects values out of range.
/// Ownership: only the pointer `name` is stored; prt_interrupt_start() copies the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_interrupt_options_init(
    options: *mut prt_interrupt_options,
    name: *const c_char,
    policy: c_int,
    priority: c_int,
) -> c_int {
    guard(|| {
        let value = prt_interrupt_options { name, policy, priority, cpu: -1, reserved: [0; 4] };
        // SAFETY: NULL or a place for the options.
        unsafe { put(options, value, c"options is NULL") }
    })
}

#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(*const prt_interrupt, *mut c_void) -> c_int,
    data: Data,
}

impl Callback {
    fn call(&self, interrupt: &Interrupt) -> Next {
        let Interrupt { sequence, at, woke, coalesced, lost, value } = *interrupt;
        let at_ns = at.map_or(0, |at| at.0);
        let interrupt = prt_interrupt { sequence, at_ns, woke_ns: woke.0, coalesced, lost, value };
        // SAFETY: the caller of prt_interrupt_start guarantees a function that may be called in this thread with this
        // pointer while the task runs; the event lives through the call.
        prt_next::of(unsafe { (self.function)(&raw const interrupt, self.data.get()) })
    }
}

/// Starts a task whose body runs at every event of `source`. prt_task_stats(), prt_task_stop(), prt_task_join() and
/// prt_task_free() also work with it.
///
/// Threads: any non-real-time thread. `body` is called in the task's thread with `data`, until the task has ended.
/// Errors: PRT_STATUS_NULL; PRT_STATUS_INVALID for options out of range; PRT_STATUS_REFUSED if the system refuses the
/// policy, the CPU or the thread. In these cases nothing is started.
/// Ownership: `source` is freed in any case. `*out` is the caller's until prt_task_free(); `data` and what `options`
/// points to remain the caller's, and `data` is used until the task has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_interrupt_start(
    rt: *const prt,
    options: *const prt_interrupt_options,
    source: *mut prt_source,
    body: prt_interrupt_body,
    data: *mut c_void,
    out: *mut *mut prt_task,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or the caller's handle, given away.
        let source = unsafe { take(source) }.ok_or(Failure::fixed(prt_status::Null, c"source is NULL"))?;
        // SAFETY: NULL or a live handle, only read.
        let rt = unsafe { shared(rt, c"rt is NULL") }?;
        // SAFETY: NULL or initialised options.
        let options = unsafe { shared(options, c"options is NULL") }?;
        let function = body.ok_or(Failure::fixed(prt_status::Null, c"body is NULL"))?;
        wanted(out, c"out is NULL")?;
        // SAFETY: NULL or a C string of the caller.
        let name = unsafe { text(options.name, c"options->name is NULL") }?;
        if options.reserved != [0; 4] {
            let text = c"reserved is not 0: begin with prt_interrupt_options_init()";
            return Err(Failure::fixed(prt_status::Invalid, text));
        }
        if options.policy == crate::scheduling::prt_policy::Deadline as c_int {
            let text =
                c"an interrupt task has no period, so it cannot use SCHED_DEADLINE: use PRT_POLICY_FIFO or PRT_POLICY_RR";
            return Err(Failure::fixed(prt_status::Invalid, text));
        }
        let scheduling = scheduling(options.policy, options.priority, [0; 3])?;
        let mut task = rt.rt.interrupt(name, scheduling, source.0);
        if let Some(cpu) = cpu(options.cpu)? {
            task = task.cpu(cpu);
        }
        let body = Callback { function, data: Data::new(data) };
        let prepared = task.prepare(|| {
            touch();
            enter_task();
        });
        let task = prepared.spawn(move |interrupt| body.call(interrupt));
        let task = task.map_err(|error| Failure::written(prt_status::Refused, error))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, prt_task::of(Started::Interrupt(task)), c"out is NULL") }
    })
}

/// Reads the counters of an interrupt task, even after its end.
///
/// Threads: any non-real-time thread. Waits while another thread stops this task.
/// Errors: PRT_STATUS_INVALID for a periodic task; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_interrupt_get_counts(task: *const prt_task, out: *mut prt_interrupt_counts) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, only read.
        let task = unsafe { shared(task, c"task is NULL") }?;
        let Figures::Interrupt(stats) = task.figures()? else {
            return Err(Failure::fixed(prt_status::Invalid, c"a periodic task has no events: use prt_task_stats()"));
        };
        let InterruptStats { events, handled, coalesced, lost, failed, .. } = stats;
        let source_error = failed.map_or(0, |errno| errno.raw_os_error());
        let counts = prt_interrupt_counts { events, handled, coalesced, lost, source_error };
        // SAFETY: NULL or a place for the counts.
        unsafe { put(out, counts, c"out is NULL") }
    })
}
