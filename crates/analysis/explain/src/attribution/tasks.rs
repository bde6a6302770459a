use super::cpu::Running;
use super::ids::IdMap;
use super::waits::{Locks, Step};
use punctual_trace::{Comm, Name, Task};

/// Maximum number of tasks and timers; a full table is cleared.
const MOST: usize = 1 << 16;
pub(super) const MOVES: usize = 8;

#[derive(Clone, Debug)]
pub(super) struct Waking {
    /// Time at which the wakeup was due.
    pub t0: u64,
    /// Start of the timer's interrupt; `None` if no timer woke the thread.
    pub t1: Option<u64>,
    /// Time of sched_waking.
    pub t2: u64,
    /// Time of sched_wakeup, when the thread is on its CPU's runqueue.
    pub queued: Option<u64>,
    /// Time until which the waker was in its call without having queued the thread on another CPU: that of a
    /// sched_wakeup recorded on the waker's CPU.
    pub in_call: Option<u64>,
    /// CPU of the timer, or of the waker.
    pub from_cpu: u32,
    /// CPUs on which the thread waits, each with the start of the wait.
    pub path: Vec<(u64, u32)>,
    /// Time at which the thread was moved to another CPU after it was queued, or due.
    pub moved: Option<u64>,
    /// True if a timer with unknown due time woke the thread.
    pub due_unknown: bool,
    /// The thread that woke this one, unless an interrupt did.
    pub by: Option<i32>,
    /// The thread in whose context the wakeup took place: the thread itself, or a softirq in it or on top of it, woke
    /// the other thread. `None` in a hard interrupt.
    pub waker: Option<Running>,
    /// What the thread and its wakers waited for before, most recent first.
    pub way: Vec<Step>,
    /// Time at which the thread had left the CPU.
    pub slept: Option<u64>,
}

impl Waking {
    /// Adjusts the wakeup of a thread that was woken on its way to sleep and leaves the CPU at `out`: try_to_wake_up()
    /// records its event before it checks whether the thread still runs (kernel/sched/core.c). Returns `None` if the
    /// wakeup was too long before `out`, in which case the thread did not sleep.
    pub fn on_the_way(mut self: Box<Self>, out: u64) -> Option<Box<Waking>> {
        /// Maximum time from a wakeup on the way to sleep to the switch, ns: __schedule() has interrupts off in
        /// between.
        const SHORTLY: u64 = 1_000_000;
        if out.saturating_sub(self.t2) > SHORTLY {
            return None;
        }
        (self.t0, self.t2, self.slept) = (self.t0.max(out), self.t2.max(out), Some(out));
        self.t1 = self.t1.map(|t1| t1.max(out));
        self.path.iter_mut().for_each(|(t, _)| *t = out.max(*t));
        Some(self)
    }

    /// Describes a thread that lost the CPU `on` at `out` and gets `cpu` next.
    pub fn again(out: u64, on: u32, cpu: u32) -> Waking {
        let mut path = vec![(out, on)];
        if on != cpu {
            path.push((out, cpu));
        }
        Waking {
            t0: out,
            t1: None,
            t2: out,
            queued: Some(out),
            in_call: None,
            from_cpu: on,
            path,
            moved: None,
            due_unknown: false,
            by: None,
            waker: None,
            way: Vec::new(),
            slept: None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub comm: Option<Comm>,
    pub prio: Option<i32>,
    /// The thread's own priority while it is boosted.
    pub base: Option<i32>,
    pub on_cpu: Option<u32>,
    pub last_out: Option<u64>,
    /// The CPU that the thread lost by preemption, if it did.
    pub preempted: Option<u32>,
    pub waking: Option<Box<Waking>>,
    /// True if the thread was woken again before it was seen to run: where it runs is not in the trace.
    pub is_unseen: bool,
    /// A wakeup of the thread while it still had the CPU: on its way to sleep, or after it had decided not to sleep.
    pub early: Option<Box<Waking>>,
    /// The thread that last woke this one; `None` if an interrupt did. `boosted_by` is the thread that last boosted
    /// this one.
    pub woken_by: Option<i32>,
    pub boosted_by: Option<i32>,
    /// The function that the thread runs, if a stack shows that it is a thread of the kernel.
    pub runs: Option<Name>,
    /// Time of the last expiry of the timer for the thread's SCHED_DEADLINE budget (dl_task_timer), which the thread
    /// starts itself.
    pub replenished: Option<u64>,
    /// The softirq in which the thread was preempted (PREEMPT_RT).
    pub soft: Option<u32>,
    /// What the thread and its wakers waited for before its current work, most recent first.
    pub way: Vec<Step>,
    pub locks: Option<Box<Locks>>,
}

#[derive(Debug, Default)]
pub(super) struct Tasks(IdMap<i32, Known>);

impl Tasks {
    /// Returns a task; inserts it if it is unknown.
    pub fn get(&mut self, tid: i32) -> &mut Known {
        if self.0.len() >= MOST && !self.0.contains_key(&tid) {
            self.0.retain(|_, task| task.on_cpu.is_some() || task.waking.is_some());
            if self.0.len() >= MOST {
                self.0.clear();
            }
        }
        self.0.entry(tid).or_default()
    }

    /// Updates the task from an event.
    pub fn see(&mut self, task: &Task) -> &mut Known {
        let known = self.get(task.tid);
        known.comm = task.comm.or(known.comm);
        if task.prio.is_some() {
            known.prio = task.prio;
        }
        known
    }

    pub fn find(&self, tid: i32) -> Option<&Known> {
        self.0.get(&tid)
    }

    pub fn find_mut(&mut self, tid: i32) -> Option<&mut Known> {
        self.0.get_mut(&tid)
    }

    pub fn iter(&self) -> impl Iterator<Item = (i32, &Known)> {
        self.0.iter().map(|(tid, known)| (*tid, known))
    }

    /// Removes a task, since its tid may be reused.
    pub fn forget(&mut self, tid: i32) {
        self.0.remove(&tid);
    }

    pub fn restart(&mut self) {
        self.0.clear();
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// Expiry on the timer's own clock.
    pub expires: Option<i64>,
    /// Time and CPU of the timer's removal from the queue: by a cancellation, or because it expires (`__run_hrtimer`
    /// reports hrtimer_cancel first).
    pub dequeued: Option<(u64, u32)>,
    /// Time at which the timer was started, on the trace's clock.
    pub started: u64,
    /// CPU of the timer's last expiry.
    pub home: Option<u32>,
    /// The thread that was current when the timer was started.
    pub by: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct Timers(IdMap<u64, Timer>);

impl Timers {
    /// Handles a start or restart; returns the CPU on which it is known to expire.
    pub fn start(&mut self, timer: u64, expires: i64, now: u64, by: Option<i32>) -> Option<u32> {
        let home = self.entry(timer).home;
        self.0.insert(timer, Timer { expires: Some(expires), started: now, home, by, dequeued: None });
        home
    }

    /// Returns the due time of the timer, on the timer's own clock.
    pub fn expires(&self, timer: u64) -> Option<i64> {
        self.0.get(&timer)?.expires
    }

    pub fn home(&self, timer: u64) -> Option<u32> {
        self.0.get(&timer)?.home
    }

    /// Handles the start of the timer's callback on `cpu`.
    pub fn expire(&mut self, timer: u64, cpu: u32, now: u64) -> Timer {
        /// Maximum time from hrtimer_cancel to hrtimer_expire_entry of one expiry, ns.
        const AT_ONCE: u64 = 50_000;
        let entry = self.entry(timer);
        let mut was = *entry;
        let cancelled = was.dequeued.is_some_and(|(t, by)| by != cpu || now.saturating_sub(t) > AT_ONCE);
        if cancelled {
            was.expires = None;
        }
        (entry.home, entry.expires, entry.dequeued) = (Some(cpu), None, None);
        was
    }

    /// Handles the timer's removal from its queue on CPU `by`; returns the CPU on which it would have expired.
    pub fn cancel(&mut self, timer: u64, by: u32, now: u64) -> Option<u32> {
        let entry = self.entry(timer);
        entry.dequeued = Some((now, by));
        entry.home
    }

    pub fn restart(&mut self) {
        self.0.clear();
    }

    fn entry(&mut self, timer: u64) -> &mut Timer {
        if self.0.len() >= MOST && !self.0.contains_key(&timer) {
            self.0.clear();
        }
        self.0.entry(timer).or_insert(Timer { expires: None, started: 0, home: None, by: None, dequeued: None })
    }
}
