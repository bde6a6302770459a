//! Functions for the threads of an injection: set a policy, wait, use CPU time.

use crate::InjectError;
use crate::truth::Burst;
use punctual_rt::monotonic;
use punctual_units::{CpuId, CpuList, Nanos, Priority, Scheduling};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::CString;

/// Returns the current time on CLOCK_MONOTONIC, ns.
pub(crate) fn now() -> u64 {
    monotonic().0
}

pub(crate) fn sleep_until(at: u64) {
    // Signals are ignored: the loop sleeps again.
    while now() < at {
        let _ = punctual_rt::sleep_until(Nanos(at));
    }
}

/// Time between two clock reads above which the interval is recorded as a gap, ns.
const GAP: u64 = 1_000_000;

pub(crate) type Gaps = Vec<(u64, u64)>;

#[derive(Debug)]
pub(crate) struct Watch {
    last: u64,
    pub gaps: Gaps,
}

impl Watch {
    pub fn new() -> Watch {
        Watch { last: now(), gaps: Vec::with_capacity(64) }
    }

    /// Reads the clock. Records a gap if the previous read was too long ago.
    pub fn look(&mut self) -> u64 {
        let t = now();
        if t - self.last > GAP {
            self.gaps.push((self.last, t));
        }
        self.last = t;
        t
    }
}

/// Spins until `at`. Returns the intervals in which the thread did not run.
pub(crate) fn spin_until(at: u64) -> Gaps {
    let mut watch = Watch::new();
    while watch.look() < at {
        std::hint::spin_loop();
    }
    watch.gaps
}

pub(crate) fn fifo(priority: u8) -> Result<Scheduling, InjectError> {
    let bad = |_| InjectError::Impossible(format!("{priority} is not a real-time priority"));
    Ok(Scheduling::Fifo { priority: Priority::try_from(priority).map_err(bad)? })
}

pub(crate) fn rr(priority: u8) -> Result<Scheduling, InjectError> {
    match fifo(priority)? {
        Scheduling::Fifo { priority } => Ok(Scheduling::Rr { priority }),
        other => Ok(other),
    }
}

/// Returns the scheduling of a SCHED_DEADLINE thread; the times are in ms.
pub(crate) const fn deadline(runtime: u64, deadline: u64, period: u64) -> Scheduling {
    let [runtime_ns, deadline_ns, period_ns] =
        [Nanos::from_millis(runtime), Nanos::from_millis(deadline), Nanos::from_millis(period)];
    Scheduling::Deadline { runtime_ns, deadline_ns, period_ns }
}

pub(crate) const ORDINARY: Scheduling = Scheduling::Other { nice: 0 };

pub(crate) fn become_thread(name: &str, cpu: u32, scheduling: Scheduling) -> Result<(), InjectError> {
    if let Ok(name) = CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
    pin(0, cpu)?;
    Ok(punctual_uapi::set_scheduling(0, scheduling, false)?)
}

/// Pins a thread (0 for the calling thread) to a CPU.
pub(crate) fn pin(tid: i32, cpu: u32) -> Result<(), InjectError> {
    Ok(punctual_uapi::set_affinity(tid, &CpuList::from_iter([CpuId(cpu)]))?)
}

pub(crate) fn tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Returns a burst caused by the calling thread, without its times.
pub(crate) fn own_burst(class: &str, name: &str, scheduling: Scheduling, cpu: u32) -> Burst {
    Burst {
        class: class.into(),
        tid: Some(tid()),
        comm: Some(name.into()),
        what: None,
        scheduled: scheduling.to_string(),
        cpu,
        start_ns: 0,
        end_ns: 0,
        earliest_ns: 0,
        worst_ns: None,
        gaps: Vec::new(),
        exact: true,
    }
}

/// Returns the result of a thread. A panic becomes an error.
pub(crate) fn joined<T>(result: std::thread::Result<Result<T, InjectError>>) -> Result<T, InjectError> {
    result.unwrap_or_else(|_| Err(InjectError::Child("a thread of the injection panicked".into())))
}

/// Raises the limit on open file descriptors to at most `wanted`, and the hard limit as well if permitted. Returns how
/// many may be opened.
pub(crate) fn descriptors(wanted: usize) -> usize {
    let all = |n| Rlimit { current: Some(n), maximum: Some(n) };
    // Some descriptors are already open.
    const OPEN: u64 = 100;
    if setrlimit(Resource::Nofile, all(wanted as u64 + OPEN)).is_ok() {
        return wanted;
    }
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(1024);
    // If that is not permitted either, opening fails at the soft limit.
    let _ = setrlimit(Resource::Nofile, all(hard));
    usize::try_from(hard.saturating_sub(OPEN)).unwrap_or(wanted).min(wanted)
}

/// Returns the amount of work for a burst of `length` ns: doubles it until it takes a substantial part of that time,
/// then scales it.
pub(crate) fn calibrate(
    length: u64,
    few: usize,
    most: usize,
    mut work: impl FnMut(usize) -> Result<(u64, u64), InjectError>,
) -> Result<usize, InjectError> {
    let mut count = few.min(most);
    loop {
        let (start, end) = work(count)?;
        let took = end.saturating_sub(start).max(1);
        if took >= length / 3 || count >= most {
            let wanted = count as u64 * length / took;
            return Ok(usize::try_from(wanted).unwrap_or(most).clamp(few.min(most), most));
        }
        count = (count * 2).min(most);
    }
}

/// Time that threads started during the recording need to set their policy, which a trace does not show before they
/// have slept once, ns.
pub(crate) const SETTLING: u64 = 200_000_000;
