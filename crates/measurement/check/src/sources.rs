//! The events that are recorded, and what their records contain.

use crate::calls::Call;
use punctual_perf::{Format, Tracepoint};
use std::path::Path;

/// TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ, TRACE_FLAG_NMI of include/linux/trace_events.h.
pub const IN_INTERRUPT: u64 = 0x08 | 0x10 | 0x40;

/// Number of bytes of stack that are copied with every record; usually enough to find the function that is to blame.
pub const SMALL_STACK: u32 = 2048;
/// Number of bytes of stack that are copied with calls that are rare and often far below the program's own functions, as
/// in dlopen(3).
pub const RARE_STACK: u32 = 8 << 10;
/// Number of bytes of stack in the records that are enabled for a while if the small copy was too short.
pub const DEEP_STACK: u32 = 32 << 10;
/// Bit that marks the tags of records with [`DEEP_STACK`].
pub const DEEP: u32 = 1 << 16;

/// Functions that allocate memory, from the C library, jemalloc, mimalloc and tcmalloc, also with the prefixes that the
/// Rust crates of these libraries add.
pub const ALLOCATORS: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "je_malloc",
    "je_free",
    "je_calloc",
    "je_realloc",
    "_rjem_malloc",
    "_rjem_mallocx",
    "_rjem_free",
    "_rjem_sdallocx",
    "_rjem_calloc",
    "_rjem_realloc",
    "_rjem_rallocx",
    "mi_malloc",
    "mi_malloc_aligned",
    "mi_free",
    "mi_calloc",
    "mi_realloc",
    "mi_realloc_aligned",
    "mi_zalloc_aligned",
    "tc_malloc",
    "tc_free",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Enter,
    Exit,
    /// Start of a page fault.
    Fault,
    Minor,
    Major,
    Waking,
    Timer,
    Lock,
    Probe,
}

/// What a high-resolution timer of the kernel does when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// Wakes the thread that waits in this call.
    Sleep,
    /// Completes a request of io_uring(7).
    Uring,
    Timerfd,
    /// Sends a signal.
    Signal,
}

/// The functions that these kinds of timers call when they expire, by their names in kernel/time, fs/timerfd.c and
/// io_uring.
const TIMER_FUNCTIONS: [(&str, TimerKind); 5] = [
    ("hrtimer_wakeup", TimerKind::Sleep),
    ("io_timeout_fn", TimerKind::Uring),
    ("timerfd_tmrproc", TimerKind::Timerfd),
    ("posix_timer_fn", TimerKind::Signal),
    ("it_real_fn", TimerKind::Signal),
];

pub const TASKS: u32 = 0;
pub const ENTER: u32 = 1;
pub const EXIT: u32 = 2;
pub const FAULT: u32 = 3;
pub const MINOR: u32 = 4;
pub const MAJOR: u32 = 5;
pub const WAKING: u32 = 6;
/// Tag of sched_switch events of the whole machine.
pub const SWITCHES: u32 = 7;
/// Tag of calls of the function at which real-time work begins.
pub const MARK: u32 = 8;
/// Tag of timer:hrtimer_start events.
pub const TIMER: u32 = 9;
/// Tag of calls of pthread_mutex_lock.
pub const LOCK: u32 = 10;
pub const PROBES: u32 = 16;

/// The meaning of the tags of events, and the layout of their records.
#[derive(Debug, Default)]
pub struct Tags {
    pub enter: Option<Tracepoint>,
    pub exit: Option<Tracepoint>,
    pub waking: Option<Tracepoint>,
    pub timer: Option<Tracepoint>,
    pub lock: Option<Format>,
    /// Addresses of the functions that end waits.
    pub timer_functions: Vec<(u64, TimerKind)>,
    /// Names of probed functions.
    pub probes: Vec<String>,
}

impl Tags {
    /// Finds the tracepoints of this kernel.
    pub fn find(tracefs: Option<&Path>) -> Tags {
        let find = |system: &str, name: &str| tracefs.and_then(|root| Tracepoint::find(root, system, name));
        Tags {
            enter: find("raw_syscalls", "sys_enter"),
            exit: find("raw_syscalls", "sys_exit"),
            waking: find("sched", "sched_waking"),
            timer: find("timer", "hrtimer_start"),
            lock: None,
            timer_functions: timer_functions(),
            probes: Vec::new(),
        }
    }

    pub fn kind(&self, tag: u32) -> Kind {
        match tag {
            ENTER => Kind::Enter,
            EXIT => Kind::Exit,
            FAULT => Kind::Fault,
            MINOR => Kind::Minor,
            MAJOR => Kind::Major,
            WAKING => Kind::Waking,
            TIMER => Kind::Timer,
            LOCK => Kind::Lock,
            _ => Kind::Probe,
        }
    }

    pub fn call(&self, raw: &[u8]) -> Option<Call> {
        let format = &self.enter.as_ref()?.format;
        let mut arguments = [0; 6];
        for (n, argument) in arguments.iter_mut().enumerate() {
            *argument = format.element("args", n, 6, raw)?;
        }
        Some(Call { number: signed(format.number("id", raw)?), arguments })
    }

    /// Returns the return value of a system call.
    pub fn result(&self, raw: &[u8]) -> Option<i64> {
        self.exit.as_ref()?.format.number("ret", raw).map(signed)
    }

    /// Returns the woken thread, its kernel priority, and the flags of the context of the wakeup.
    pub fn waking(&self, raw: &[u8]) -> Option<(i32, i32, u64)> {
        let format = &self.waking.as_ref()?.format;
        let number = |name: &str| format.number(name, raw);
        Some((number("pid")? as u32 as i32, number("prio")? as u32 as i32, number("common_flags")?))
    }

    /// Returns a timer that the running thread set: kind, address, expiry on the timer's own clock in ns, and true if
    /// the expiry is relative. `None` for timers that an interrupt set, and for other timers of the kernel.
    pub fn timer(&self, raw: &[u8]) -> Option<(TimerKind, u64, u64, bool)> {
        let format = &self.timer.as_ref()?.format;
        let number = |name: &str| format.number(name, raw);
        let (function, flags) = (number("function")?, number("common_flags")?);
        let (_, kind) = self.timer_functions.iter().find(|(address, _)| *address == function)?;
        let is_own = flags & IN_INTERRUPT == 0;
        // HRTIMER_MODE_REL of include/linux/hrtimer.h.
        let is_relative = number("mode")? & 1 != 0;
        is_own.then(|| Some((*kind, number("hrtimer")?, number("softexpires")?, is_relative))).flatten()
    }

    pub fn probe_name(&self, tag: u32) -> Option<String> {
        self.probes.get(tag.checked_sub(PROBES)? as usize).cloned()
    }
}

/// Returns the addresses of the functions; empty without the right to see addresses (kernel.kptr_restrict).
fn timer_functions() -> Vec<(u64, TimerKind)> {
    let found = punctual_tracefs::addresses(TIMER_FUNCTIONS.map(|(name, _)| name));
    found.into_iter().zip(TIMER_FUNCTIONS).filter_map(|(address, (_, kind))| Some((address?, kind))).collect()
}

/// Converts the bits of a recorded `long` to its signed value.
fn signed(value: u64) -> i64 {
    match size_of::<usize>() {
        8 => value as i64,
        _ => i64::from(value as u32 as i32),
    }
}
