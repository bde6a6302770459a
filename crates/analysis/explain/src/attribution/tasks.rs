//! Tasks and timers of a trace, in bounded memory.

use super::cpu::Running;
use super::ids::IdMap;
use punctual_trace::{Comm, Task};

/// Tasks and timers that are kept; a table that fills up begins anew.
const MOST: usize = 1 << 16;
/// Moves of one waking thread that are kept.
pub(super) const MOVES: usize = 8;

/// A thread on its way from waking to running.
#[derive(Clone, Debug)]
pub(super) struct Waking {
    /// When it was due.
    pub t0: u64,
    /// When the timer's interrupt began; `None` if no timer woke it.
    pub t1: Option<u64>,
    /// sched_waking.
    pub t2: u64,
    /// sched_wakeup: it is in its CPU's queue.
    pub queued: Option<u64>,
    /// CPU of the timer, or of the waker.
    pub from_cpu: u32,
    /// CPUs it waits on, each from a moment on.
    pub path: Vec<(u64, u32)>,
    /// It was moved after it was queued, or due.
    pub moved: Option<u64>,
    /// A timer woke it, but when that was due is not known.
    pub due_unknown: bool,
    /// The thread that woke it, if no interrupt did.
    pub by: Option<i32>,
    /// The thread in whose context it was woken, itself or by a softirq in it or on top of it; none in a hard interrupt.
    pub waker: Option<Running>,
}

/// What is known about a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub comm: Option<Comm>,
    pub prio: Option<i32>,
    /// Its own priority while it is boosted.
    pub base: Option<i32>,
    pub on_cpu: Option<u32>,
    pub last_out: Option<u64>,
    pub waking: Option<Box<Waking>>,
    /// The softirq it was preempted in (RT).
    pub soft: Option<u32>,
}

/// All tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks(IdMap<i32, Known>);

impl Tasks {
    /// The task; a new one if it was not seen before.
    pub fn get(&mut self, tid: i32) -> &mut Known {
        if self.0.len() >= MOST && !self.0.contains_key(&tid) {
            self.0.retain(|_, task| task.on_cpu.is_some() || task.waking.is_some());
            if self.0.len() >= MOST {
                self.0.clear();
            }
        }
        self.0.entry(tid).or_default()
    }

    /// The task as an event names it.
    pub fn see(&mut self, task: &Task) -> &mut Known {
        let known = self.get(task.tid);
        known.comm = task.comm.or(known.comm);
        if task.prio.is_some() {
            known.prio = task.prio;
        }
        known
    }

    /// The task, if it was seen.
    pub fn find(&self, tid: i32) -> Option<&Known> {
        self.0.get(&tid)
    }

    /// Its tid may be somebody else's from here on.
    pub fn forget(&mut self, tid: i32) {
        self.0.remove(&tid);
    }

    /// All wakings are void.
    pub fn restart(&mut self) {
        self.0.clear();
    }
}

/// A started timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// Due on its own clock.
    pub expires: Option<i64>,
    /// When it was started, on the trace's clock.
    pub started: u64,
    /// CPU it last expired on.
    pub home: Option<u32>,
}

/// All timers.
#[derive(Debug, Default)]
pub(super) struct Timers(IdMap<u64, Timer>);

impl Timers {
    /// Started or restarted; gives the CPU it is known to expire on.
    pub fn start(&mut self, timer: u64, expires: i64, now: u64) -> Option<u32> {
        let home = self.entry(timer).home;
        self.0.insert(timer, Timer { expires: Some(expires), started: now, home });
        home
    }

    /// Its callback begins on `cpu`.
    pub fn expire(&mut self, timer: u64, cpu: u32) -> Timer {
        let entry = self.entry(timer);
        let was = *entry;
        (entry.home, entry.expires) = (Some(cpu), None);
        was
    }

    /// Cancelled; gives the CPU it would have expired on.
    pub fn cancel(&mut self, timer: u64) -> Option<u32> {
        let entry = self.entry(timer);
        entry.expires = None;
        entry.home
    }

    /// Forgets all.
    pub fn restart(&mut self) {
        self.0.clear();
    }

    fn entry(&mut self, timer: u64) -> &mut Timer {
        if self.0.len() >= MOST && !self.0.contains_key(&timer) {
            self.0.clear();
        }
        self.0.entry(timer).or_insert(Timer { expires: None, started: 0, home: None })
    }
}
