//! Sources of events for interrupt tasks.

use crate::boundary::{Data, guard, put, shared, take, text, wanted};
use crate::mutex;
use crate::status::{Failure, prt_status};
use punctual_rt::gpio::{Chip, Edges, EventClock, Line, USUAL_BUFFER};
use punctual_rt::{Arrival, Eventfd, Gpio, MOST_EVENTS, Nanos, Source, Timer, TimerHandle, Uio};
use rustix::io::Errno;
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A source of events for an interrupt task. prt_interrupt_start() takes ownership of it.
pub struct prt_source(pub(crate) Box<dyn Source>);

/// A counter that other threads and processes increment: eventfd(2).
pub struct prt_eventfd(Eventfd);

/// A timer on CLOCK_MONOTONIC that other threads set. On PREEMPT_RT it expires in hard interrupt context if its task is
/// real-time, in contrast to a timerfd.
pub struct prt_timer {
    handle: TimerHandle,
    source: Mutex<Option<Timer>>,
}

/// Edges of a GPIO line that are events.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_edges {
    /// Edges from inactive to active.
    Rising = 0,
    /// Edges from active to inactive.
    Falling = 1,
    /// Both edges.
    Both = 2,
}

/// An event, as reported by a prt_wait function.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_arrival {
    /// Time of the event, ns on CLOCK_MONOTONIC; 0 if unknown.
    pub at_ns: u64,
    /// Number of events in this arrival, more than one if several occurred before it was read; 0 if there was none, and
    /// the function is to be called again.
    pub events: u64,
    /// Number of events that were lost before this one.
    pub lost: u64,
    /// Value of the event, which is passed to the body.
    pub value: u64,
}

/// Waits for the next event and stores it in `*arrival`, which is {0, 1, 0, 0} before the call. Returns 0, or an errno.
/// EINTR means that a signal ended the wait (prt_task_stop() sends SIGURG); the function is then called again unless
/// the task was stopped. Any other errno ends the task with PRT_END_SOURCE_FAILED. The rules of a prt_body apply,
/// except that the function blocks.
pub type prt_wait = Option<unsafe extern "C" fn(arrival: *mut prt_arrival, data: *mut c_void) -> c_int>;

/// # Safety
/// `out` is NULL or valid for writing a pointer.
unsafe fn give(out: *mut *mut prt_source, source: impl Source + 'static) -> Result<(), Failure> {
    let source = Box::into_raw(Box::new(prt_source(Box::new(source))));
    // SAFETY: as the caller promises.
    unsafe { put(out, source, c"out is NULL") }
}

/// Frees a source that was not given to prt_interrupt_start(). NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_free(source: *mut prt_source) {
    // SAFETY: NULL or the caller's handle, not used any more.
    drop(unsafe { take(source) });
}

/// Creates a counter at 0: eventfd(2).
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_REFUSED if no descriptor or memory is left; PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_eventfd_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_eventfd_new(out: *mut *mut prt_eventfd) -> c_int {
    guard(|| {
        wanted(out, c"out is NULL")?;
        let made = Eventfd::new();
        let made = made.map_err(|error| Failure::written(prt_status::Refused, format!("eventfd: {error}")))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { put(out, Box::into_raw(Box::new(prt_eventfd(made))), c"out is NULL") }
    })
}

/// Adds `events`, and wakes the task; 0 wakes nobody. Blocks only if 2^64 − 2 events have not been received yet.
///
/// Threads: any. Real-time: write(2).
/// Errors: PRT_STATUS_INVALID for more than 2^32; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_eventfd_raise(eventfd: *const prt_eventfd, events: u64) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let raised = unsafe { shared(eventfd, c"eventfd is NULL") }?.0.raise(events);
        raised.map_err(|_| Failure::fixed(prt_status::Invalid, c"more than 2^32 events at once: give fewer"))
    })
}

/// Frees a counter. A source created from it remains valid. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_eventfd_free(eventfd: *mut prt_eventfd) {
    // SAFETY: NULL or the caller's handle, not used any more.
    drop(unsafe { take(eventfd) });
}

/// Creates a source from a counter. Several increments before a wakeup are one arrival with several events. The events
/// have no time stamps.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_eventfd(eventfd: *const prt_eventfd, out: *mut *mut prt_source) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let source = unsafe { shared(eventfd, c"eventfd is NULL") }?.0.clone();
        // SAFETY: NULL or a place for a pointer.
        unsafe { give(out, source) }
    })
}

/// Creates a timer that is not set. Never returns NULL.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_timer_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_timer_new() -> *mut prt_timer {
    let (timer, handle) = Timer::new();
    Box::into_raw(Box::new(prt_timer { handle, source: Mutex::new(Some(timer)) }))
}

/// Sets the timer to expire at `first_ns`, or at once if that has passed, and then every `interval_ns` (0: only once).
/// Replaces the previous setting; expirations that the task has not received are lost.
///
/// Threads: any. Real-time: futex(2) if the task sleeps or is receiving an expiration.
/// Errors: PRT_STATUS_OWNER_DIED if a thread ended while it set the timer; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_timer_set(timer: *const prt_timer, first_ns: u64, interval_ns: u64) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let timer = unsafe { shared(timer, c"timer is NULL") }?;
        timer.handle.set(Nanos(first_ns), Nanos(interval_ns)).map_err(mutex::failure)
    })
}

/// Disarms the timer.
///
/// Threads: any. Real-time: as for prt_timer_set().
/// Errors: as for prt_timer_set().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_timer_cancel(timer: *const prt_timer) -> c_int {
    // SAFETY: NULL or a live handle, which threads may share.
    guard(|| unsafe { shared(timer, c"timer is NULL") }?.handle.cancel().map_err(mutex::failure))
}

/// Frees a timer. A task that waits for it is no longer woken. NULL is ignored.
///
/// Threads: any non-real-time thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_timer_free(timer: *mut prt_timer) {
    // SAFETY: NULL or the caller's handle, not used any more.
    drop(unsafe { take(timer) });
}

/// Creates a source from a timer. The time stamp of an event is the time at which the expiration was due.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_BUSY if the timer already has a source; PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_timer(timer: *const prt_timer, out: *mut *mut prt_source) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, which threads may share.
        let timer = unsafe { shared(timer, c"timer is NULL") }?;
        wanted(out, c"out is NULL")?;
        let source = timer.source.lock().unwrap_or_else(PoisonError::into_inner).take();
        let source = source
            .ok_or(Failure::fixed(prt_status::Busy, c"the timer already has a source: create a timer for each task"))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { give(out, source) }
    })
}

/// Creates a source from the interrupts of a UIO device, for example "/dev/uio0". The kernel masks an interrupt until
/// the body has returned (Documentation/driver-api/uio-howto.rst). The events have no time stamps.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_REFUSED if the device cannot be opened; PRT_STATUS_INVALID if the path is not UTF-8;
/// PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_uio(path: *const c_char, out: *mut *mut prt_source) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string of the caller.
        let path = unsafe { text(path, c"path is NULL") }?;
        wanted(out, c"out is NULL")?;
        let opened = Uio::open(Path::new(path));
        let source = opened.map_err(|error| Failure::written(prt_status::Refused, format!("{path}: {error}")))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { give(out, source) }
    })
}

/// Creates a source from the edges of line `offset` of a GPIO chip (device, name or label); `edges` is one of enum
/// prt_edges. The kernel takes their time stamps in the hard interrupt. The value of an event is 1 for a rising edge, 0
/// for a falling one.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_REFUSED if there is no such line, or it is in use; PRT_STATUS_INVALID for an unknown value of
/// `edges`, or a name that is not UTF-8; PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_gpio(
    chip: *const c_char,
    offset: u32,
    edges: c_int,
    out: *mut *mut prt_source,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string of the caller.
        let chip = unsafe { text(chip, c"chip is NULL") }?;
        wanted(out, c"out is NULL")?;
        let edges = match edges {
            e if e == prt_edges::Rising as c_int => Edges::Rising,
            e if e == prt_edges::Falling as c_int => Edges::Falling,
            e if e == prt_edges::Both as c_int => Edges::Both,
            other => {
                let text = format!("edges {other} are unknown: use one of enum prt_edges");
                return Err(Failure::written(prt_status::Invalid, text));
            }
        };
        let line =
            Chip::find(chip).and_then(|chip| Line::edges(&chip, offset, edges, USUAL_BUFFER, EventClock::Monotonic));
        let line = line.map_err(|error| Failure::written(prt_status::Refused, error))?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { give(out, Gpio::new(line, edges == Edges::Both)) }
    })
}

/// Creates a source from a function of the caller: `wait` is called in the task's thread with `data`.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_NULL.
/// Ownership: `*out` is the caller's until prt_interrupt_start() or prt_source_free(); `data` is used until the task has
/// ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_source_custom(wait: prt_wait, data: *mut c_void, out: *mut *mut prt_source) -> c_int {
    guard(|| {
        let function = wait.ok_or(Failure::fixed(prt_status::Null, c"wait is NULL"))?;
        wanted(out, c"out is NULL")?;
        // SAFETY: not NULL, and a place for a pointer.
        unsafe { give(out, Custom { function, data: Data::new(data) }) }
    })
}

struct Custom {
    function: unsafe extern "C" fn(*mut prt_arrival, *mut c_void) -> c_int,
    data: Data,
}

impl Source for Custom {
    fn wait(&mut self) -> Result<Arrival, Errno> {
        let mut arrival = prt_arrival { at_ns: 0, events: 1, lost: 0, value: 0 };
        // SAFETY: the caller of prt_source_custom guarantees a function that may be called in the task's thread with this
        // pointer; the arrival lives through the call.
        let errno = unsafe { (self.function)(&raw mut arrival, self.data.get()) };
        let prt_arrival { at_ns, events, lost, value } = arrival;
        match errno {
            0 => Ok(Arrival {
                at: (at_ns != 0).then_some(Nanos(at_ns)),
                events: events.min(MOST_EVENTS),
                lost: lost.min(MOST_EVENTS),
                value,
            }),
            1..4096 => Err(Errno::from_raw_os_error(errno)),
            _ => Err(Errno::IO),
        }
    }
}
