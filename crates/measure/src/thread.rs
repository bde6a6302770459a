//! The measuring thread itself.

use crate::cell::Cell;
use crate::engine::Plan;
use crate::rendezvous::Rendezvous;
use punctual_model::Alignment;
use punctual_rt::{Attributes, Periodic, Refused, monotonic};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Scheduling};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What the threads of one phase share.
pub(crate) struct Shared {
    pub plan: Plan,
    pub cells: Vec<Arc<Cell>>,
    pub tids: Vec<AtomicI32>,
    pub stop: AtomicBool,
    /// The stop is the user's wish for the next phase.
    pub early: AtomicBool,
    /// Stopped because enough was measured: nothing is missing.
    pub enough: AtomicBool,
    pub meeting: Rendezvous,
    /// Threads that have measured all they had to.
    pub done: AtomicUsize,
    refused: Mutex<Option<Refused>>,
    start: AtomicU64,
}

impl Shared {
    pub fn new(plan: Plan) -> Shared {
        let n = plan.cpus.len();
        Shared {
            cells: (0..n).map(|_| Arc::new(Cell::new(plan.keep).with_bell(plan.bell.clone()))).collect(),
            tids: (0..n).map(|_| AtomicI32::new(0)).collect(),
            stop: AtomicBool::new(false),
            early: AtomicBool::new(false),
            enough: AtomicBool::new(false),
            meeting: Rendezvous::new(n + 1),
            done: AtomicUsize::new(0),
            refused: Mutex::new(None),
            start: AtomicU64::new(0),
            plan,
        }
    }

    /// Meets the threads when they have applied their attributes and again when they have agreed on the first
    /// release, which it returns; or what one of them was refused.
    pub fn begin(&self) -> Result<Nanos, Refused> {
        let ready = self.meeting.meet();
        if let Some(refused) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.meeting.call_off();
            return Err(refused);
        }
        debug_assert!(ready, "only a refusal calls off, and that was looked at");
        self.meeting.meet();
        self.meeting.meet();
        Ok(Nanos(self.start.load(Relaxed)))
    }
}

/// What a thread says when it ends.
pub(crate) struct ThreadEnd {
    pub scheduling: Scheduling,
    pub affinity_at_start: CpuList,
    pub affinity: CpuList,
    pub not_locked: Option<String>,
    pub released: u64,
    pub page_faults: Option<u64>,
    pub involuntary_switches: Option<u64>,
    pub run_delay_ns: Option<u64>,
    pub cpu_ns: u64,
}

/// How much later than CPU 0's the releases of the `index`-th CPU are.
pub(crate) fn offset(plan: &Plan, index: usize) -> Nanos {
    match plan.alignment {
        Alignment::Aligned => Nanos::ZERO,
        Alignment::Staggered => Nanos(plan.period.0 * index as u64 / plan.cpus.len().max(1) as u64),
    }
}

/// Body of a measuring thread. `None`: it was called off before it measured.
pub(crate) fn measure(shared: &Shared, index: usize, cpu: CpuId) -> Option<ThreadEnd> {
    let plan = &shared.plan;
    let cell = &*shared.cells[index];
    shared.tids[index].store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    let not_locked = lock_memory(cell).err().map(|e| e.to_string());
    let schedstat = File::open("/proc/thread-self/schedstat").ok();
    // The kernel refuses SCHED_DEADLINE to a thread that is not allowed on its whole root domain.
    let pinned = (plan.scheduling.policy() != Policy::Deadline).then_some(cpu);
    let attributes = Attributes { scheduling: plan.scheduling, cpu: pinned, lock_stack: not_locked.is_none() };
    let applied = match attributes.apply() {
        Ok(applied) => Some(applied),
        Err(refused) => {
            *shared.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
            None
        }
    };
    if !shared.meeting.meet() || !shared.meeting.meet() {
        return None;
    }
    let applied = applied?;
    // The threads are real-time by now, so none is far behind; the first release is after the last proposal.
    let margin = Nanos(250_000 + 20_000 * plan.cpus.len() as u64);
    shared.start.fetch_max((monotonic() + margin).0, Relaxed);
    if !shared.meeting.meet() {
        return None;
    }
    let start = Nanos(shared.start.load(Relaxed)) + offset(plan, index);
    let mut warmup = Periodic::new(start, plan.period, start + plan.warmup);
    while warmup.wait(&shared.stop).is_some() {}

    let (usage, delay) = (uapi::thread_usage().ok(), run_delay(schedstat.as_ref()));
    let first = warmup.next_release();
    let mut periodic = Periodic::new(first, plan.period, first + plan.duration);
    sample(&mut periodic, cell, &shared.stop, plan.period.0);

    let cpu_time = clock_gettime(ClockId::ThreadCPUTime);
    let after = uapi::thread_usage().ok();
    // On 32 bits a counter may have begun again at 0 in a long run: then it is not known.
    let used = |count: fn(&uapi::Usage) -> u64| count(&after?).checked_sub(count(&usage?));
    // The scheduling is read at the end: what counts is what it ran as.
    let scheduling = uapi::scheduling(0).map_or(applied.scheduling, |(s, _)| s);
    let end = ThreadEnd {
        scheduling,
        affinity: uapi::affinity(0).unwrap_or_default(),
        affinity_at_start: applied.affinity,
        not_locked: not_locked.or(applied.not_locked),
        released: periodic.released(),
        page_faults: used(|u| u.page_faults),
        involuntary_switches: used(|u| u.involuntary_switches),
        run_delay_ns: run_delay(schedstat.as_ref()).zip(delay).map(|(after, before)| after.saturating_sub(before)),
        cpu_ns: cpu_time.tv_sec as u64 * 1_000_000_000 + cpu_time.tv_nsec as u64,
    };
    shared.done.fetch_add(1, Relaxed);
    // Stays, so that its counters can be read to the end, until the results are collected.
    shared.meeting.meet();
    Some(end)
}

/// The sampling path: one system call a period, no allocation, no lock, no page fault.
#[inline(never)]
fn sample(periodic: &mut Periodic, cell: &Cell, stop: &AtomicBool, period: u64) {
    while let Some(wakeup) = periodic.wait(stop) {
        if cfg!(feature = "sabotage") && wakeup.latency() > 300_000 {
            continue;
        }
        cell.record(&wakeup, period);
    }
}

/// Locks what the sampling path touches: results, code, the program's data. The stack comes with the attributes.
fn lock_memory(cell: &Cell) -> Result<(), uapi::Error> {
    cell.touch();
    uapi::lock(cell)?;
    for code in [sample as *const () as usize, Cell::cold_path()] {
        uapi::lock_addresses(code, 2 * uapi::page_size())?;
    }
    uapi::lock_program_data().map(drop)
}

/// Time the thread was runnable but did not run, ns: second field of schedstat (CONFIG_SCHED_INFO).
pub(crate) fn run_delay(schedstat: Option<&File>) -> Option<u64> {
    let mut text = [0u8; 96];
    let n = schedstat?.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..n]).ok()?.split_whitespace().nth(1)?.parse().ok()
}
