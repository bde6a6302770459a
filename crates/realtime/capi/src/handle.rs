//! The handle of a started task, periodic or interrupt, with which it is stopped and its statistics are read.

use crate::boundary::{guard, put, shared, take};
use crate::status::{Failure, prt_status};
use punctual_rt::{End, Finished, InterruptHandle, InterruptStats, Task, TaskStats};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How a task ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_end {
    /// The task's body, or its safe_state function, returned PRT_NEXT_STOP.
    Returned = 0,
    /// The program stopped the task.
    Stopped = 1,
    /// The task has run its number of cycles.
    Cycles = 2,
    /// The task was late by a period, and its policy is PRT_MISS_STOP.
    Missed = 3,
    /// The task failed inside the library, which is a bug in the library.
    Failed = 4,
    /// The task's source of events failed. prt_interrupt_get_counts() returns the error.
    SourceFailed = 5,
}

/// A started task, created by prt_task_start() or prt_interrupt_start().
pub struct prt_task {
    state: Mutex<State>,
    not_resident: CString,
}

#[expect(clippy::large_enum_variant, reason = "there is one value per task, and it is moved only when the task ends")]
enum State {
    Running(Started),
    Ended(End, Figures),
    /// Temporary state while a thread waits for the end of the task. It remains only if that thread panics.
    Between,
}

pub(crate) enum Started {
    Periodic(Task),
    Interrupt(InterruptHandle),
}

/// Statistics of a task.
#[derive(Clone)]
pub(crate) enum Figures {
    Periodic(TaskStats),
    Interrupt(InterruptStats),
}

impl Started {
    fn task(&self) -> &Task {
        match self {
            Started::Periodic(task) => task,
            Started::Interrupt(handle) => handle.task(),
        }
    }

    fn figures(&self) -> Figures {
        match self {
            Started::Periodic(task) => Figures::Periodic(task.stats()),
            Started::Interrupt(handle) => Figures::Interrupt(handle.stats()),
        }
    }

    /// Waits until the task has ended; first asks it to end if `stop` is true. Returns how it ended, and its
    /// statistics.
    fn ended(self, stop: bool) -> (End, Figures) {
        match self {
            Started::Periodic(task) => {
                let Finished { end, stats } = if stop { task.stop() } else { task.join() };
                (end, Figures::Periodic(stats))
            }
            Started::Interrupt(handle) => {
                let (end, stats) = if stop { handle.stop() } else { handle.join() };
                (end, Figures::Interrupt(stats))
            }
        }
    }
}

impl prt_task {
    /// Creates the handle for the caller.
    pub(crate) fn of(started: Started) -> *mut prt_task {
        let not_resident = CString::new(started.task().not_resident().unwrap_or_default()).unwrap_or_default();
        Box::into_raw(Box::new(prt_task { state: Mutex::new(State::Running(started)), not_resident }))
    }

    pub(crate) fn figures(&self) -> Result<Figures, Failure> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Running(running) => Ok(running.figures()),
            State::Ended(_, figures) => Ok(figures.clone()),
            State::Between => {
                Err(Failure::fixed(prt_status::Panic, c"the statistics were lost because the library panicked"))
            }
        }
    }
}

thread_local! {
    static IN_A_TASK: Cell<bool> = const { Cell::new(false) };
}

/// Marks the calling thread as the thread of a task.
pub(crate) fn enter_task() {
    IN_A_TASK.set(true);
}

/// Returns an error if called in the body of a task. A body must not wait for tasks, because it might wait for its own
/// task.
pub(crate) fn not_in_a_task() -> Result<(), Failure> {
    match IN_A_TASK.get() {
        false => Ok(()),
        true => Err(Failure::fixed(
            prt_status::Deadlock,
            c"a task's body must not wait for tasks: return PRT_NEXT_STOP to end its own task, or stop the task from another thread",
        )),
    }
}

/// Returns why the task's memory is not locked; an empty string if it is locked; NULL if `task` is NULL.
///
/// Threads: any.
/// Ownership: the string belongs to the task and is valid until prt_task_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_not_resident(task: *const prt_task) -> *const c_char {
    // SAFETY: NULL or a live handle, only read.
    match unsafe { shared(task, c"task is NULL") } {
        Ok(task) => task.not_resident.as_ptr(),
        Err(failure) => {
            crate::status::remember(failure);
            std::ptr::null()
        }
    }
}

/// Waits for the thread of the task if the task has ended, or stops the task if `stop` is true. Returns how it ended,
/// one of enum prt_end. Returns `None` if it still runs.
fn finish(task: &prt_task, stop: bool) -> Option<c_int> {
    let mut state = task.state.lock().unwrap_or_else(PoisonError::into_inner);
    if let State::Running(running) = &*state
        && !stop
        && !running.task().is_finished()
    {
        return None;
    }
    *state = match std::mem::replace(&mut *state, State::Between) {
        State::Running(running) => {
            let (end, figures) = running.ended(stop);
            State::Ended(end, figures)
        }
        other => other,
    };
    Some(match &*state {
        State::Ended(end, _) => number(end),
        _ => prt_end::Failed as c_int,
    })
}

fn number(end: &End) -> c_int {
    (match end {
        End::Returned => prt_end::Returned,
        End::Stopped => prt_end::Stopped,
        End::Cycles => prt_end::Cycles,
        End::Missed => prt_end::Missed,
        End::Failed => prt_end::SourceFailed,
        End::Panicked(_) => prt_end::Failed,
    }) as c_int
}

/// Asks the task to end and waits until it has ended. A running body is not interrupted; a sleeping task is woken. If
/// the task has already ended, returns the same end again.
///
/// Threads: any non-real-time thread, not a task's. Blocks.
/// Errors: PRT_STATUS_NULL; PRT_STATUS_DEADLOCK from a task's body. `*end` receives one of enum prt_end; `end` may be
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_stop(task: *const prt_task, end: *mut c_int) -> c_int {
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { wait(task, end, true) })
}

/// Waits until the task ends on its own. Other threads may read its statistics in the meantime.
///
/// Threads: any non-real-time thread, not a task's. Blocks; polls at least every 10 ms.
/// Errors: as for prt_task_stop().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_join(task: *const prt_task, end: *mut c_int) -> c_int {
    // SAFETY: as this function's caller promises.
    guard(|| unsafe { wait(task, end, false) })
}

/// # Safety
/// `task` is NULL or a live handle; `end` is NULL or valid for writing a number.
unsafe fn wait(task: *const prt_task, end: *mut c_int, stop: bool) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let task = unsafe { shared(task, c"task is NULL") }?;
    not_in_a_task()?;
    let mut pause = Duration::from_micros(200);
    let ended = loop {
        if let Some(ended) = finish(task, stop) {
            break ended;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    if end.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and the caller promises the rest.
    unsafe { put(end, ended, c"end is NULL") }
}

/// Stops the task like prt_task_stop() if it is still running, and frees its handle. NULL is ignored.
///
/// Threads: any non-real-time thread, not a task's. Blocks.
/// Errors: PRT_STATUS_DEADLOCK from a task's body; in this case nothing is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_task_free(task: *mut prt_task) -> c_int {
    guard(|| {
        not_in_a_task()?;
        // SAFETY: NULL or the caller's handle, not used any more.
        if let Some(task) = unsafe { take(task) } {
            finish(&task, true);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{prt_stats, prt_task_stats};
    use std::mem::MaybeUninit;

    #[test]
    fn a_body_that_panicked_has_failed() {
        assert_eq!(number(&End::Panicked("an index".into())), prt_end::Failed as c_int);
        assert_eq!(number(&End::Failed), prt_end::SourceFailed as c_int);
        assert_eq!(number(&End::Returned), prt_end::Returned as c_int);
    }

    #[test]
    fn a_task_lost_in_a_panic_is_joined_and_has_no_statistics() {
        let task = Box::new(prt_task { state: Mutex::new(State::Between), not_resident: CString::default() });
        let (task, mut end, mut stats) = (Box::into_raw(task), -1, MaybeUninit::<prt_stats>::uninit());
        // SAFETY: a live handle and places for the answers; freed once, at the end.
        unsafe {
            assert_eq!((prt_task_join(task, &mut end), end), (prt_status::Ok as c_int, prt_end::Failed as c_int));
            assert_eq!(prt_task_stats(task, stats.as_mut_ptr()), prt_status::Panic as c_int);
            assert_eq!(prt_task_free(task), prt_status::Ok as c_int);
        }
    }
}
