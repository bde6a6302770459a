//! Follows the cycles of a thread, from its release to the end of its work, which may be late although the thread was
//! woken in time.
//!
//! In between the thread runs, waits for the CPU (labelled like a late wakeup), or is blocked until it is woken. If the
//! system call in which the thread waits for its release is known, a cycle ends with that call ([`calls`]); otherwise
//! where the thread blocks and a timer wakes it next.

mod calls;
mod followed;
mod pending;

pub use calls::{Closed, Culprit, Delay, Given};
pub use pending::Released;

use super::cpu::Doing;
use super::ids::IdMap;
use super::label::{Label, Tally, What, Why};
use super::machine::{End, Machine, Window};
use super::piece::pieces;
use super::tasks::Waking;
use super::view::View;
use super::waits::For;
use super::walk::Walk;
use super::{Facts, chain, choose, sentences, victim};
use followed::Followed;
use punctual_model::{Blocked, Class, Confidence, Cycle};
use punctual_trace::{Comm, TaskState};
use punctual_units::Nanos;

/// Maximum number of threads whose cycles are followed. `BLOCKS` limits how many times one cycle may be blocked.
const THREADS: usize = 1024;
const BLOCKS: usize = 64;

#[derive(Clone, Debug, Default)]
struct Open {
    release: u64,
    /// When the wait for the release returned.
    start: Option<u64>,
    /// How long the previous cycle lasted beyond this release.
    behind: u64,
    /// Release of the cycle with which the backlog began if the thread was behind; `None` if it is unknown.
    backlog: Option<u64>,
    /// True if a timer released the thread.
    is_timed: bool,
    /// True if the thread did not have to wait, so that what released it is unknown.
    is_unknown: bool,
    /// The interrupt or softirq that released the thread, if one did.
    released_in: Option<Culprit>,
    /// Releases that this cycle has consumed; empty if the thread is not followed.
    releases: Vec<Released>,
    cpu: u32,
    prio: Option<i32>,
    comm: Option<Comm>,
    tally: Tally,
    ran: u64,
    blocked: Vec<Blocked>,
    /// The time since which the thread has been running, and its CPU.
    since: Option<(u64, u32)>,
    /// The time at which the thread left the CPU, that CPU, and the thread's state.
    out: Option<(u64, u32, TaskState)>,
}

#[derive(Debug, Default)]
pub(super) struct Cycles {
    open: IdMap<i32, Open>,
    longest: Vec<Cycle>,
    /// Threads for which the call in which they wait for their release is known.
    followed: IdMap<i32, Followed>,
    /// Number of each followed thread's last cycles to remember.
    pub remembered: usize,
    /// The timer whose callback is running, by CPU.
    expiring: IdMap<u32, u64>,
    closed: Vec<Closed>,
}

impl Cycles {
    /// Drops open cycles, which are unreliable after lost events or at the start of another trace.
    pub fn forget(&mut self) {
        self.open.clear();
        self.closed.extend(self.followed.values_mut().filter_map(Followed::forget));
    }

    /// Handles a chosen thread that was woken and runs; `tally` sums the labels of the time from T0 to T3.
    pub fn woken(&mut self, machine: &Machine, facts: &Facts, most: usize, window: &Window, tally: Tally) {
        let waking = &window.waking;
        if self.is_released(window, &tally) {
            return;
        }
        if waking.t1.is_some() && !self.followed.contains_key(&window.tid) {
            let done = self.open.remove(&window.tid);
            if let Some((open, (end, ..))) =
                done.and_then(|open| open.out.filter(|o| !o.2.runnable()).map(|out| (open, out)))
            {
                self.keep(close(machine, facts, window.tid, open, end), most);
            }
            if self.open.len() < THREADS {
                let since = Some((window.t3, window.cpu));
                let (release, cpu, prio, comm) = (waking.t0, window.cpu, window.prio, window.comm);
                self.open.insert(window.tid, Open { release, cpu, prio, comm, tally, since, ..Open::default() });
            }
            return;
        }
        let Some(mut open) = self.open.remove(&window.tid) else { return };
        let Some((out, _, state)) = open.out.take().filter(|out| !out.2.runnable() && out.0 <= waking.t0) else {
            self.broken(window.tid);
            return;
        };
        if open.blocked.len() < BLOCKS {
            open.blocked.push(blocked(machine, facts, window, waking.t0 - out, state));
            open.tally.absorb(tally);
            open.since = Some((window.t3, window.cpu));
            self.open.insert(window.tid, open);
        } else {
            self.broken(window.tid);
        }
    }

    pub fn out(&mut self, machine: &Machine, tid: i32, t: u64, cpu: u32, state: TaskState) {
        if self.waits_again(machine, tid, state) {
            return;
        }
        let Some(open) = self.open.get_mut(&tid) else { return };
        if !open.ran_until(machine, tid, t, cpu) {
            self.open.remove(&tid);
            self.broken(tid);
            return;
        }
        open.out = Some((t, cpu, state));
    }

    /// Returns true if the thread is preempted, according to the last event about it.
    pub fn is_preempted(&self, tid: i32) -> bool {
        self.open.get(&tid).and_then(|open| open.out).is_some_and(|(.., state)| state.runnable())
    }

    /// Handles a thread that gets the CPU without a wakeup, because it had been preempted. `end` tells whether the
    /// switch was recorded or an event of the thread shows it. Returns the number of pieces examined.
    pub fn back(&mut self, machine: &Machine, facts: &Facts, tid: i32, t: u64, cpu: u32, end: End) -> u64 {
        if let Some(steps) = self.is_replenished(machine, facts, tid, t, cpu) {
            return steps;
        }
        let Some(open) = self.open.get_mut(&tid) else { return 0 };
        let Some((out, on, _)) = open.out.take().filter(|out| out.2.runnable()) else {
            self.open.remove(&tid);
            self.broken(tid);
            return 0;
        };
        let waking = Waking::again(out, on, cpu);
        let window = Window { tid, comm: open.comm, prio: open.prio, cpu, waking, t3: t, end };
        let mut walk = Walk::new(View { machine, window: &window, facts });
        walk.run();
        let steps = walk.steps;
        open.tally.absorb(walk.tally);
        open.since = Some((t, cpu));
        steps
    }

    /// Removes and returns the thread's cycle, if it has not ended by `now`.
    pub fn unfinished(&mut self, machine: &Machine, facts: &Facts, tid: i32, now: u64) -> Option<Cycle> {
        let open = self.open.get_mut(&tid)?;
        let mut blocked = None;
        let rest = match (open.since, open.out) {
            (Some((_, cpu)), _) => {
                open.ran_until(machine, tid, now, cpu);
                "the thread runs".to_owned()
            }
            (None, Some((_, cpu, state))) if state.runnable() => {
                self.back(machine, facts, tid, now, cpu, End::Open);
                "the thread waits for a CPU".to_owned()
            }
            (None, Some((out, _, state))) => {
                let (ns, state) = (now.saturating_sub(out), char::from(state.letter).to_string());
                blocked = Some(Blocked { ns, state, woken_by: None, comm: None, inverted: None, lock: None });
                format!("the thread has been blocked for {}", Nanos(ns))
            }
            (None, None) => return None,
        };
        let mut cycle = close(machine, facts, tid, self.open.remove(&tid)?, now);
        cycle.blocked.extend(blocked);
        cycle.verdict += &format!("; it has not ended: {rest}");
        Some(cycle)
    }

    /// Returns the thread's cycle that has not ended by `now`, and continues to follow it.
    pub fn so_far(&mut self, machine: &Machine, facts: &Facts, tid: i32, now: u64) -> Option<Cycle> {
        let open = self.open.get(&tid)?.clone();
        let cycle = self.unfinished(machine, facts, tid, now);
        self.open.insert(tid, open);
        cycle
    }

    /// Adds to the sentence of a cycle that began late what delayed the first cycle of that backlog, if it is known.
    pub fn with_backlog(&self, machine: &Machine, facts: &Facts, mut cycle: Cycle) -> Cycle {
        let Some(followed) = self.followed.get(&cycle.tid).filter(|_| cycle.behind_ns > 0) else { return cycle };
        let first = followed.backlog_of(cycle.release_ns);
        if let Some(first) = first.and_then(|release| self.remembered(machine, facts, cycle.tid, release)) {
            cycle.verdict += &sentences::backlog(&first);
        }
        cycle
    }

    fn keep(&mut self, cycle: Cycle, most: usize) {
        keep(&mut self.longest, cycle, most);
    }

    pub fn finish(self) -> Vec<Cycle> {
        self.longest
    }
}

impl Open {
    /// Records that the thread ran on `cpu` until `t`, except for interrupts; returns `false` if it is not known to
    /// have run there.
    fn ran_until(&mut self, machine: &Machine, tid: i32, t: u64, cpu: u32) -> bool {
        let Some((since, _)) = self.since.take().filter(|(_, on)| *on == cpu) else { return false };
        for piece in pieces(machine.cpu(cpu), since, t) {
            let label = |class| Label::new(class, Confidence::High, Why::Nested);
            match piece.doing {
                Doing::Task(task) if task.tid == tid => self.ran += piece.ns(),
                Doing::Hard(name) if machine.by_flags(name) => {
                    let label = Label::new(Class::Irq, Confidence::Medium, Why::ByFlags);
                    self.tally.add(label.doing(What::Interrupt(name)), piece.ns());
                }
                Doing::Hard(name) => self.tally.add(label(Class::Irq).doing(What::Interrupt(name)), piece.ns()),
                Doing::Nmi => self.tally.add(label(Class::Irq).doing(What::Nmi), piece.ns()),
                Doing::Soft(vec, _) => self.tally.add(label(Class::Softirq).doing(What::Softirq(vec)), piece.ns()),
                _ => self.tally.add(Label::new(Class::Unaccounted, Confidence::High, Why::NotTraced), piece.ns()),
            }
        }
        true
    }
}

fn keep(longest: &mut Vec<Cycle>, cycle: Cycle, most: usize) {
    let at = longest.partition_point(|c| c.length_ns >= cycle.length_ns);
    if at < most {
        longest.insert(at, cycle);
        longest.truncate(most);
    }
}

fn blocked(machine: &Machine, facts: &Facts, window: &Window, ns: u64, state: TaskState) -> Blocked {
    let by = window.waking.by;
    let waker = by.and_then(|tid| machine.tasks.find(tid));
    let prio = waker.and_then(|waker| waker.base.or(waker.prio));
    Blocked {
        ns,
        state: char::from(state.letter).to_string(),
        woken_by: by,
        comm: waker.and_then(|waker| waker.comm).map(|comm| comm.to_string()),
        inverted: prio.zip(window.prio).map(|(waker, own)| waker > own),
        lock: window.waking.way.first().filter(|step| step.woke.is_none()).and_then(|step| match step.wait.what {
            For::Lock { lock, owner, by } => Some(chain::held(machine, facts, lock, owner, by)),
            _ => None,
        }),
    }
}

fn close(machine: &Machine, facts: &Facts, tid: i32, open: Open, end: u64) -> Cycle {
    let length_ns = end.saturating_sub(open.release);
    let mut cycle = Cycle {
        tid,
        comm: open.comm.map(|comm| comm.to_string()),
        scheduled: choose::scheduled(facts, tid, open.prio),
        cpu: open.cpu,
        release_ns: open.release,
        length_ns,
        behind_ns: open.behind,
        ran_ns: open.ran,
        delays: victim::causes(machine, facts, &open.tally, length_ns),
        blocked: open.blocked,
        verdict: String::new(),
    };
    cycle.verdict = sentences::cycle(&cycle);
    cycle
}
