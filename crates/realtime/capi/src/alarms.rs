//! Sets of alarms at times relative to one epoch.

use crate::boundary::{guard, put, shared, take};
use crate::status::{Failure, prt_status};
use crate::task::prt_next;
use punctual_rt::{AlarmSet, Nanos, Rung};
use punctual_uapi as uapi;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// Maximum number of alarms in a set.
pub const PRT_ALARMS_MOST: usize = 64;

/// Up to PRT_ALARMS_MOST alarms, each with a time after a common epoch and a number that identifies its action. Each
/// alarm has an absolute time: if one is late, the next still runs on time.
pub struct prt_alarms {
    set: UnsafeCell<AlarmSet<i64, PRT_ALARMS_MOST>>,
    /// True after prt_alarms_stop(). While it is true, later runs end at once; prt_alarms_clear() resets it.
    asked: AtomicBool,
    /// True if the current run is to end.
    stop: AtomicBool,
    /// Thread ID of the thread that runs the set, or 0.
    runner: AtomicI32,
}

/// An alarm that is due. Times are on CLOCK_MONOTONIC.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct prt_rung {
    /// The number with which the alarm was added.
    pub action: i64,
    /// Time at which the alarm was due, ns.
    pub due_ns: u64,
    /// Time at which the thread woke for the alarm, ns.
    pub woke_ns: u64,
}

/// Action of an alarm, called in the thread that called prt_alarms_run(). It has the same rules and return values as a
/// prt_body.
pub type prt_alarm_action = Option<unsafe extern "C" fn(rung: *const prt_rung, data: *mut c_void) -> c_int>;

impl prt_alarms {
    /// Returns mutable access to the set.
    ///
    /// # Safety
    /// No other thread may change the set or start to run it while the reference is used.
    #[expect(
        clippy::mut_from_ref,
        reason = "the handle is shared with prt_alarms_stop, which only touches the atomics"
    )]
    unsafe fn set(&self) -> Result<&mut AlarmSet<i64, PRT_ALARMS_MOST>, Failure> {
        if self.runner.load(SeqCst) != 0 {
            return Err(Failure::fixed(
                prt_status::Busy,
                c"the set is running: change it after prt_alarms_run() has returned",
            ));
        }
        // SAFETY: nobody runs the set, and the caller promises the rest.
        Ok(unsafe { &mut *self.set.get() })
    }

    fn run(&self, epoch: Nanos, mut carry_out: impl FnMut(&i64, Rung) -> bool) -> Result<usize, Failure> {
        let me = tid();
        if self.runner.compare_exchange(0, me, SeqCst, Relaxed).is_err() {
            return Err(Failure::fixed(prt_status::Busy, c"the set is already running: create one set per thread"));
        }
        // SAFETY: this thread has just become the only runner, and while there is one nobody changes the set.
        let set = unsafe { &*self.set.get() };
        // A stop is announced in `asked` first, so it is noticed either here or during the run.
        self.stop.store(false, SeqCst);
        if self.asked.load(SeqCst) {
            self.stop.store(true, SeqCst);
        }
        let done = set.run(epoch, &self.stop, |action, rung| {
            if !carry_out(action, rung) {
                self.stop.store(true, SeqCst);
            }
        });
        self.runner.store(0, SeqCst);
        Ok(done)
    }
}

fn tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Creates an empty set. Never returns NULL. Installs an empty handler for SIGURG, with which prt_alarms_stop() wakes
/// the thread that runs the set.
///
/// Threads: any non-real-time thread.
/// Ownership: the caller's until prt_alarms_free().
#[unsafe(no_mangle)]
pub extern "C" fn prt_alarms_new() -> *mut prt_alarms {
    // This can only fail for an invalid handler.
    let _ = uapi::install_wakeup();
    let flag = || AtomicBool::new(false);
    let set = UnsafeCell::new(AlarmSet::new());
    Box::into_raw(Box::new(prt_alarms { set, asked: flag(), stop: flag(), runner: AtomicI32::new(0) }))
}

/// Frees the set. NULL is ignored.
///
/// Errors: PRT_STATUS_BUSY while it runs; in this case it is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_alarms_free(alarms: *mut prt_alarms) -> c_int {
    guard(|| {
        if alarms.is_null() {
            return Ok(());
        }
        // SAFETY: not NULL, so the caller's handle, which no other thread uses any more.
        unsafe { shared(alarms, c"alarms is NULL")?.set() }?;
        // SAFETY: as above, from prt_alarms_new.
        drop(unsafe { take(alarms) });
        Ok(())
    })
}

/// Adds an alarm `after_ns` after the epoch. Alarms with the same time run in the order in which they were added.
///
/// Threads: one at a time. Real-time.
/// Errors: PRT_STATUS_FULL; PRT_STATUS_BUSY while it runs; PRT_STATUS_INVALID for more than 31 years; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_alarms_add(alarms: *mut prt_alarms, after_ns: u64, action: i64) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, changed by one thread at a time.
        let set = unsafe { shared(alarms, c"alarms is NULL")?.set() }?;
        if after_ns > 1_000_000_000_000_000_000 {
            return Err(Failure::fixed(
                prt_status::Invalid,
                c"after_ns is longer than 31 years: give it in nanoseconds",
            ));
        }
        let full = Failure::fixed(
            prt_status::Full,
            c"the set already holds PRT_ALARMS_MOST alarms: use a second set for further alarms",
        );
        set.at(Nanos(after_ns), action).map_err(|_| full)
    })
}

/// Removes all alarms, and cancels the effect of prt_alarms_stop().
///
/// Threads: one at a time. Real-time.
/// Errors: PRT_STATUS_BUSY while it runs; PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_alarms_clear(alarms: *mut prt_alarms) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle, changed by one thread at a time.
        let alarms = unsafe { shared(alarms, c"alarms is NULL") }?;
        // SAFETY: as above.
        unsafe { alarms.set() }?.clear();
        alarms.asked.store(false, SeqCst);
        Ok(())
    })
}

/// Runs all alarms in the calling thread, ordered by time. Sleeps until each is due, with one system call per alarm;
/// alarms that are already due run at once. Ends early if an action returns anything but PRT_NEXT_CONTINUE, or if
/// prt_alarms_stop() is called.
///
/// Threads: one at a time, which should be real-time. Real-time; blocks.
/// Errors: PRT_STATUS_NULL, PRT_STATUS_BUSY, PRT_STATUS_INVALID for an epoch beyond 2^62 ns. `*done` receives the
/// number of alarms that ran; `done` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_alarms_run(
    alarms: *mut prt_alarms,
    epoch_ns: u64,
    action: prt_alarm_action,
    data: *mut c_void,
    done: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle.
        let alarms = unsafe { shared(alarms, c"alarms is NULL") }?;
        let function = action.ok_or(Failure::fixed(prt_status::Null, c"action is NULL"))?;
        if epoch_ns > 1 << 62 {
            return Err(Failure::fixed(
                prt_status::Invalid,
                c"epoch_ns is beyond 2^62 ns: give a time based on prt_now_ns()",
            ));
        }
        let count = alarms.run(Nanos(epoch_ns), |action, rung| {
            let rung = prt_rung { action: *action, due_ns: rung.due.0, woke_ns: rung.woke.0 };
            // SAFETY: the caller guarantees a function that may be called here with this pointer; the alarm lives
            // through the call.
            let answer = unsafe { function(&raw const rung, data) };
            answer == prt_next::Continue as c_int
        })?;
        if done.is_null() {
            return Ok(());
        }
        // SAFETY: not NULL, and a place for a number.
        unsafe { put(done, count, c"done is NULL") }
    })
}

/// Ends the current run, and every later one until prt_alarms_clear(). Waits until the current run has ended, unless
/// called by the thread that runs the set. A running action is not interrupted.
///
/// Threads: any non-real-time thread, or the one that runs the set. Blocks.
/// Errors: PRT_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_alarms_stop(alarms: *mut prt_alarms) -> c_int {
    guard(|| {
        // SAFETY: NULL or a live handle; only its atomics are touched.
        let alarms = unsafe { shared(alarms, c"alarms is NULL") }?;
        alarms.asked.store(true, SeqCst);
        alarms.stop.store(true, SeqCst);
        let me = tid();
        loop {
            match alarms.runner.load(SeqCst) {
                runner if runner == 0 || runner == me => return Ok(()),
                runner => {
                    // The thread has ended and left the set marked as running, so there is nothing to wait for.
                    if uapi::wake(runner).is_err() {
                        return Ok(());
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
    })
}
