//! Tracks what threads waited for before their current work: a CPU, or a lock. A woken thread inherits these waits from
//! its waker.

use super::cpu::push;
use super::machine::{End, Machine, Window};
use super::tasks::{Known, Waking};
use punctual_trace::{Comm, Context, Event};
use std::sync::Arc;

/// Minimum wait that counts as a delay, ns.
pub(super) const LEAST: u64 = 20_000;
/// Maximum number of waits in one chain, and of nested locks that a thread waits for.
const STEPS: usize = 4;
const NESTED: usize = 4;

/// A wait of one thread.
#[derive(Debug)]
pub(super) struct Wait {
    pub tid: i32,
    pub comm: Option<Comm>,
    pub prio: Option<i32>,
    pub from: u64,
    pub to: u64,
    pub what: For,
}

#[derive(Debug)]
pub(super) enum For {
    Cpu(Box<Window>),
    /// A wait for the CPU after preemption.
    CpuAgain(Box<Window>),
    Lock {
        lock: Option<Lock>,
        /// The lock's owner according to sched_pi_setprio, since only owners inherit a priority.
        owner: Option<i32>,
        /// The thread that woke the waiting one.
        by: Option<i32>,
    },
}

/// A wait, and the thread that was woken after it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub wait: Arc<Wait>,
    /// The next thread in the chain, and the time; `None` for the thread to which the chain belongs.
    pub woke: Option<(i32, u64)>,
    /// True if each wakeup up to this step was recorded in the context of the thread that did it.
    pub sure: bool,
}

/// A lock as reported by contention_begin: its address, and its kind (include/trace/events/lock.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub address: u64,
    pub flags: Option<u32>,
}

const SPIN: u32 = 1;
const SHARED: u32 = 2 | 4;
const RT: u32 = 8;
const PERCPU: u32 = 16;
const MUTEX: u32 = 32;

impl Lock {
    fn has(self, bits: u32) -> bool {
        self.flags.is_some_and(|flags| flags & bits != 0)
    }

    /// True if threads spin for this lock and never sleep for it.
    fn is_spun_for(self) -> bool {
        self.has(SPIN) && !self.has(MUTEX)
    }

    /// Formats a lock: `the rtmutex at 0xffff8881002f4c30`.
    pub fn said(self) -> String {
        let kind = match () {
            () if self.has(!(SPIN | SHARED | RT | PERCPU | MUTEX)) => "lock",
            () if self.has(MUTEX) => "mutex",
            () if self.has(PERCPU) => "per-CPU rwsem",
            () if self.has(RT) && self.has(SHARED) => "reader-writer lock",
            () if self.has(RT) => "rtmutex",
            () if self.has(SPIN) && self.has(SHARED) => "rwlock",
            () if self.has(SPIN) => "spinlock",
            () if self.has(SHARED) => "rwsem",
            () => "lock",
        };
        format!("the {kind} at {:#x}", self.address)
    }
}

/// A thread that still sleeps, waiting for a lock, when the trace ends.
#[derive(Debug)]
pub(super) struct LockedOut {
    pub tid: i32,
    pub comm: Option<Comm>,
    pub waited: u64,
    pub lock: Option<Lock>,
    pub owner: Option<i32>,
}

/// A contention_begin event whose contention_end has not been seen.
#[derive(Clone, Copy, Debug)]
struct Begun {
    lock: Lock,
    since: u64,
    /// True if the thread has gone to sleep since this event.
    slept: bool,
    /// The owner of the lock, as in [`For::Lock`].
    owner: Option<i32>,
}

/// A thread, interrupt or softirq that spins for a lock: it is current, but waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spin {
    pub lock: Lock,
    pub from: u64,
    pub to: u64,
    /// The thread; `None` for an interrupt or softirq.
    pub tid: Option<i32>,
    pub owner: Option<i32>,
}

/// What a thread waits for and holds, as far as events show.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    begun: Vec<Begun>,
    /// Threads that have inherited this thread's priority since it last had a CPU, in the order of the chain.
    boosted: Vec<i32>,
    /// Set while the thread sleeps, waiting for a lock: start time, lock, and owner of the lock.
    asleep: Option<(u64, Option<Lock>, Option<i32>)>,
}

impl Locks {
    /// Handles a thread that leaves the CPU and is not runnable.
    pub fn sleeps(&mut self, t: u64) {
        self.begun.iter_mut().for_each(|begun| begun.slept = true);
        let lock = self.begun.iter().rev().map(|begun| begun.lock).find(|lock| !lock.is_spun_for());
        let owner = self.boosted.first().copied();
        self.asleep = (lock.is_some() || owner.is_some()).then_some((t, lock, owner));
    }

    /// Returns the lock for which the sleeping thread waits, if any, and the owner of the lock if known.
    pub fn asleep(&self) -> Option<(Option<Lock>, Option<i32>)> {
        self.asleep.map(|(_, lock, owner)| (lock, owner))
    }

    pub fn returns(&mut self) {
        self.boosted.clear();
        self.asleep = None;
    }

    fn begin(&mut self, lock: Lock, t: u64) {
        // A thread spins for a mutex before it sleeps.
        if let Some(last) = self.begun.last_mut().filter(|last| last.lock.address == lock.address) {
            last.lock = lock;
            return;
        }
        if self.begun.len() >= NESTED {
            self.begun.clear();
        }
        self.begun.push(Begun { lock, since: t, slept: false, owner: None });
    }

    fn end(&mut self, address: u64) -> Option<Begun> {
        let at = self.begun.iter().rposition(|begun| begun.lock.address == address)?;
        let begun = self.begun.get(at).copied();
        self.begun.truncate(at);
        if begun.is_some_and(|begun| begun.lock.has(RT)) {
            self.boosted.clear();
        }
        begun
    }
}

impl Machine {
    /// Handles contention_begin (`Some`) and contention_end of the lock at `address`.
    pub(super) fn contends(&mut self, event: &Event, address: u64, begins: Option<Option<u32>>) {
        let t = event.t_ns;
        let context = event.flags.and_then(|flags| flags.context);
        let Some(cpu) = self.cpu(event.cpu) else { return };
        let hard = context.is_some_and(Context::is_hard) || cpu.interrupted_since().is_some();
        // On PREEMPT_RT, softirqs run in threads and can sleep; otherwise they spin.
        let soft = context == Some(Context::Softirq) || !cpu.frames.is_empty();
        let lock = Lock { address, flags: begins.flatten() };
        let tid = event.tid.filter(|tid| *tid != 0 && !hard);
        if begins.is_some() {
            match tid.filter(|_| !soft || !lock.is_spun_for()) {
                Some(tid) => self.tasks.get(tid).locks.get_or_insert_default().begin(lock, t),
                None => self.each(event, |cpu, t| cpu.locks.begin(lock, t)),
            }
            return;
        }
        let locks = tid.and_then(|tid| self.tasks.find_mut(tid)).and_then(|known| known.locks.as_mut());
        let of_thread = locks.and_then(|locks| locks.end(address));
        let tid = tid.filter(|_| of_thread.is_some());
        self.each(event, |cpu, t| {
            let ended = of_thread.or_else(|| cpu.locks.end(address));
            if let Some(Begun { lock, since, owner, .. }) =
                ended.filter(|begun| !begun.slept && t.saturating_sub(begun.since) >= LEAST)
            {
                push(&mut cpu.spins, Spin { lock, from: since, to: t, tid, owner });
            }
        });
    }

    /// Handles `owner` inheriting the priority of `booster`, which waits for a lock. Returns the thread in between: the
    /// owner of that lock, which is itself blocked on a lock held by `owner`.
    pub(super) fn inherits(&mut self, booster: i32, owner: i32) -> Option<i32> {
        let locks = self.tasks.get(booster).locks.get_or_insert_default();
        let before = locks.boosted.last().copied();
        if locks.boosted.len() < NESTED && !locks.boosted.contains(&owner) {
            locks.boosted.push(owner);
        }
        if let Some(begun) = locks.begun.last_mut().filter(|begun| before.is_none() && begun.lock.has(RT)) {
            begun.owner = Some(owner);
        }
        let before = before.filter(|before| *before != owner)?;
        let between = self.tasks.get(before).locks.as_mut().and_then(|locks| locks.asleep.as_mut())?;
        between.2 = Some(owner);
        Some(before)
    }

    /// Handles `owner` losing the priority of `booster`, because `owner` has released the lock.
    pub(super) fn disinherits(&mut self, booster: i32, owner: i32) {
        if let Some(locks) = self.tasks.find_mut(booster).and_then(|known| known.locks.as_mut()) {
            let at = locks.boosted.iter().position(|other| *other == owner);
            locks.boosted.truncate(at.unwrap_or(NESTED));
        }
    }

    /// Returns the chain of a thread that `by` wakes: its own wait for a lock first, then what `by` waited for
    /// meanwhile.
    pub(super) fn way(&self, event: &Event, woken: i32, by: Option<i32>, sure: bool) -> Vec<Step> {
        let t = event.t_ns;
        let whole = |from: u64| self.lost.is_none_or(|lost| lost < from);
        let known = self.tasks.find(woken);
        let slept = known.and_then(|known| known.last_out).unwrap_or(0);
        let asleep = known.and_then(|known| known.locks.as_ref()?.asleep).filter(|(from, ..)| whole(*from));
        let mut way = Vec::new();
        if let (Some((from, lock, owner)), Some(known)) = (asleep, known)
            && t.saturating_sub(from) >= LEAST
        {
            let what = For::Lock { lock, owner, by };
            let wait = Wait { tid: woken, comm: known.comm, prio: known.base.or(known.prio), from, to: t, what };
            way.push(Step { wait: Arc::new(wait), woke: None, sure });
        }
        let steps = by.and_then(|by| self.tasks.find(by)).into_iter().flat_map(|by| &by.way);
        for step in steps.filter(|step| step.wait.to > slept && whole(step.wait.from)) {
            let woke = step.woke.or(Some((woken, t)));
            way.push(Step { wait: Arc::clone(&step.wait), woke, sure: sure && step.sure });
        }
        if let (Some(_), Some(known)) = (asleep, known) {
            way.extend(known.way.iter().cloned());
        }
        way.truncate(STEPS);
        way
    }

    /// Returns the thread that has been sleeping longest while it waits for a lock: its name, the minimum duration, the
    /// lock, and the owner of the lock.
    pub(super) fn locked_out(&self, wanted: impl Fn(i32, &Known) -> bool) -> Option<LockedOut> {
        let whole = |from: u64| self.lost.is_none_or(|lost| lost < from);
        let asleep = self.tasks.iter().filter(|(tid, known)| known.waking.is_none() && wanted(*tid, known));
        let asleep = asleep.filter_map(|(tid, known)| {
            let (from, lock, owner) = known.locks.as_ref()?.asleep.filter(|(from, ..)| whole(*from))?;
            Some(LockedOut { tid, comm: known.comm, waited: self.now.checked_sub(from)?, lock, owner })
        });
        asleep.filter(|asleep| asleep.waited >= LEAST).max_by_key(|asleep| (asleep.waited, asleep.tid))
    }

    /// Handles a woken thread that has the CPU.
    pub(super) fn came(&mut self, window: &Window) {
        let mut way = Vec::new();
        if window.t3.saturating_sub(window.waking.t0) >= LEAST {
            let waking = Waking { way: Vec::new(), ..window.waking.clone() };
            let bare = Window { waking, ..window.clone() };
            way.push(waited(bare, For::Cpu));
        }
        way.extend(window.waking.way.iter().take(STEPS - 1).cloned());
        let known = self.tasks.get(window.tid);
        known.way = way;
        if let Some(locks) = &mut known.locks {
            locks.returns();
        }
    }

    /// Handles a preempted thread that runs again. `taken` is the time at which it lost the CPU, and that CPU; it is `None`
    /// if the trace does not show the preemption.
    pub(super) fn came_back(&mut self, tid: i32, taken: Option<(u64, u32)>, t: u64, cpu: u32) {
        let known = self.tasks.get(tid);
        let Some((out, on)) = taken else {
            known.way.clear();
            return;
        };
        if t.saturating_sub(out) >= LEAST {
            let waking = Waking::again(out, on, cpu);
            let (comm, prio) = (known.comm, known.prio);
            known
                .way
                .insert(0, waited(Window { tid, comm, prio, cpu, waking, t3: t, end: End::Switch }, For::CpuAgain));
            known.way.truncate(STEPS);
        }
    }
}

fn waited(window: Window, what: fn(Box<Window>) -> For) -> Step {
    let (tid, comm, prio, from, to) = (window.tid, window.comm, window.prio, window.waking.t0, window.t3);
    let wait = Wait { tid, comm, prio, from, to, what: what(Box::new(window)) };
    Step { wait: Arc::new(wait), woke: None, sure: true }
}
