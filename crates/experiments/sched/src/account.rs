//! Accounts for the time of threads, from sched_switch and sched_waking events.

use crate::predict::Foreign;
use punctual_model::{Doing, GanttSpan, Held, OtherTask};
use punctual_trace::{Event, Kind};
use punctual_units::{Arrange, CpuId, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum time from the expiry of the timer of RT throttling to the switch to a thread that is no longer throttled, ns.
const AFTER_EXPIRY: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Watched {
    pub tid: i32,
    /// Release time of the thread, CLOCK_MONOTONIC.
    pub from: u64,
    pub to: u64,
    pub class: Class,
}

/// Class of a thread, which determines the threads that may run before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// SCHED_OTHER, SCHED_BATCH, SCHED_IDLE.
    Ordinary,
    /// SCHED_FIFO, SCHED_RR.
    RealTime,
    /// Like `RealTime`, but with RT throttling, which stops the thread even if no other task is runnable. Ordinary
    /// tasks may run during that time.
    Throttled,
    /// SCHED_DEADLINE. Any task may run when the runtime is used up.
    Deadline,
}

impl Class {
    fn is_real_time(self) -> bool {
        matches!(self, Class::RealTime | Class::Throttled)
    }
}

/// Times of one thread by kind, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// Time on a CPU, including stolen time.
    pub on_cpu: u64,
    pub waited: u64,
    pub slept: u64,
    /// The part of `waited` during which a task outside the experiment had the CPU. The prediction assumes an idle CPU
    /// during that time.
    pub others: u64,
    /// At index `n`, the time during which thread `n` had the CPU while this thread waited for it.
    pub behind: Vec<u64>,
    /// The part of `on_cpu` in which the thread may have been waiting, because the switch that gave it the CPU is
    /// missing from the trace.
    pub unclear: u64,
    /// The part of `unclear` spent waiting for a task outside the experiment, which the prediction does not include.
    pub unclear_others: u64,
}

impl Spent {
    /// Resolves unclear intervals of the trace by means of /proc/thread-self/schedstat, whose `wait` covers the same
    /// time. Returns false if `wait` is unknown and an interval is unclear.
    #[must_use]
    pub fn settle(&mut self, thread: usize, wait: Option<u64>) -> bool {
        let Some(wait) = wait else { return self.unclear == 0 };
        let waited = wait.saturating_sub(self.waited).min(self.unclear);
        self.waited += waited;
        self.others += (waited as f64 * (self.unclear_others as f64 / self.unclear.max(1) as f64)) as u64;
        self.on_cpu -= waited;
        self.behind[thread] = self.behind[thread].saturating_sub(waited);
        (self.unclear, self.unclear_others) = (0, 0);
        true
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accounts {
    /// Times of each thread, in the order of the threads.
    pub spent: Vec<Spent>,
    /// Spans of the threads' states, in order of time; times are relative to `start`.
    pub spans: Vec<GanttSpan>,
    /// Intervals in which ordinary threads ran while real-time threads waited for the same CPU.
    pub held: Vec<Held>,
    /// Other tasks that ran while a thread waited.
    pub others: Vec<OtherTask>,
    /// Intervals in which a task outside the experiment had a CPU; times are relative to `start`.
    pub foreign: Vec<Foreign>,
    /// The start of a period of RT throttling, ns after `start`: the first one since then, or the last one before. `None` if
    /// none was seen, or those of several groups of tasks, each of which has a timer of its own.
    pub period: Option<i64>,
    /// Number of observed switches of the threads. 0 means that the trace uses other thread IDs.
    pub switches: u64,
    /// Number of times a thread left a CPU without a recorded switch to it. In that case switches are missing, and the
    /// accounts are wrong.
    pub missing: u64,
}

#[derive(Clone, Copy, PartialEq)]
struct Now {
    doing: Doing,
    cpu: Option<u32>,
    since: u64,
    here: u64,
    /// True if the thread was runnable when its CPU became idle. It was then throttled for an unknown time.
    set_aside: bool,
}

struct Current {
    tid: i32,
    comm: String,
    /// True if the kernel priority is 100 or above, or unknown.
    is_ordinary: bool,
    since: u64,
}

struct Sweep<'a> {
    threads: &'a [Watched],
    releaser: Option<i32>,
    start: u64,
    now: Vec<Now>,
    current: BTreeMap<u32, Current>,
    at: u64,
    out: Accounts,
    others: BTreeMap<String, u64>,
    /// For each CPU, the time since which a real-time thread has been prevented from running on it.
    held: BTreeMap<u32, u64>,
    /// The timers of RT throttling.
    timers: BTreeSet<u64>,
    /// The times of their expiries.
    expiries: BTreeSet<u64>,
}

/// Follows the threads through a trace in chronological order. `start` is the beginning of the experiment, and
/// `releaser` the thread that releases the others.
pub fn account(
    events: impl Iterator<Item = Event>,
    threads: &[Watched],
    releaser: Option<i32>,
    start: u64,
) -> Accounts {
    let asleep = Now { doing: Doing::Sleeps, cpu: None, since: start, here: start, set_aside: false };
    let spent = Spent { behind: vec![0; threads.len()], ..Spent::default() };
    let mut sweep = Sweep {
        threads,
        releaser,
        start,
        now: vec![asleep; threads.len()],
        current: BTreeMap::new(),
        at: 0,
        out: Accounts { spent: vec![spent; threads.len()], ..Accounts::default() },
        others: BTreeMap::new(),
        held: BTreeMap::new(),
        timers: BTreeSet::new(),
        expiries: BTreeSet::new(),
    };
    for event in events {
        sweep.advance(event.t_ns);
        sweep.take(&event);
    }
    sweep.finish()
}

impl Sweep<'_> {
    fn advance(&mut self, t: u64) {
        for n in 0..self.threads.len() {
            let watched = self.threads[n];
            let length = t.min(watched.to).saturating_sub(self.at.max(watched.from));
            let Now { doing, cpu, .. } = self.now[n];
            let spent = &mut self.out.spent[n];
            match doing {
                Doing::Runs | Doing::Shares => {
                    spent.on_cpu += length;
                    spent.behind[n] += length;
                }
                Doing::Sleeps => spent.slept += length,
                Doing::Waits => {
                    spent.waited += length;
                    let Some(current) = cpu.and_then(|cpu| self.current.get(&cpu)) else { continue };
                    match self.threads.iter().position(|other| other.tid == current.tid) {
                        Some(other) => spent.behind[other] += length,
                        None if current.tid == 0 || length == 0 => {}
                        None => {
                            if !self.is_predicted(n, current, cpu) {
                                self.out.spent[n].others += length;
                            }
                            *self.others.entry(current.comm.clone()).or_default() += length;
                        }
                    }
                }
            }
        }
        self.at = self.at.max(t);
    }

    /// Notes that a task outside the experiment had the CPU until now. If the CPU was idle before, the start of this
    /// interval may be unknown; the interval is then left out.
    fn end_of_foreign(&mut self, cpu: u32, t: u64) {
        let Some(current) = self.current.get(&cpu) else { return };
        let (from, to) = (current.since.max(self.start), t);
        let known = current.tid == 0 || Some(current.tid) == self.releaser || self.find(current.tid).is_some();
        if !known && from < to {
            let since_start = |t: u64| Nanos(t - self.start);
            let (from, to) = (since_start(from), since_start(to));
            self.out.foreign.push(Foreign { cpu: CpuId(cpu), from, to, is_ordinary: current.is_ordinary });
        }
    }

    /// Returns true if the prediction, too, lets another thread run at this point: an ordinary thread while a real-time
    /// thread is held back in favour of the experiment's ordinary threads, or any thread while a runtime is used up.
    fn is_predicted(&self, n: usize, current: &Current, cpu: Option<u32>) -> bool {
        let wants = |(now, watched): (&Now, &Watched)| {
            let wants = watched.class == Class::Ordinary && now.doing == Doing::Waits && now.cpu == cpu;
            wants && (watched.from..watched.to).contains(&self.at)
        };
        match self.threads[n].class {
            Class::Ordinary => false,
            Class::RealTime => current.is_ordinary && self.now.iter().zip(self.threads).any(wants),
            Class::Throttled => current.is_ordinary,
            Class::Deadline => true,
        }
    }

    fn take(&mut self, event: &Event) {
        match &event.kind {
            Kind::SchedSwitch { prev, prev_state, next } => {
                self.end_of_foreign(event.cpu, event.t_ns);
                self.left(event, prev.tid, prev_state.runnable(), next.tid);
                let comm = next.comm.map_or_else(|| format!("thread {}", next.tid), |comm| comm.to_string());
                let is_ordinary = next.prio.is_none_or(|prio| prio >= 100);
                let current = Current { tid: next.tid, comm, is_ordinary, since: event.t_ns };
                self.current.insert(event.cpu, current);
                if let Some(n) = self.find(next.tid) {
                    self.set(n, Doing::Runs, Some(event.cpu), event.t_ns);
                    self.out.switches += 1;
                }
            }
            Kind::SchedWaking { task, target_cpu } => {
                if let Some(n) = self.find(task.tid).filter(|n| self.now[*n].doing == Doing::Sleeps) {
                    let cpu = target_cpu.or(self.now[n].cpu);
                    self.set(n, Doing::Waits, cpu, event.t_ns);
                }
            }
            Kind::SchedMigrate { task, to_cpu, .. } => {
                if let Some(n) = self.find(task.tid).filter(|n| self.now[*n].doing == Doing::Waits) {
                    self.now[n].cpu = Some(*to_cpu);
                    self.now[n].here = event.t_ns;
                }
            }
            // Only timers of RT throttling are recorded.
            Kind::HrtimerExpireEntry { timer, .. } => {
                self.timers.insert(*timer);
                self.expiries.insert(event.t_ns);
                if self.out.period.is_none_or(|period| period < 0) {
                    self.out.period = Some(event.t_ns.cast_signed() - self.start.cast_signed());
                }
            }
            _ => {}
        }
        self.note_held(event.t_ns);
    }

    fn left(&mut self, event: &Event, prev: i32, runnable: bool, next: i32) {
        let current = self.current.get(&event.cpu);
        let was_idle = current.is_none_or(|current| current.tid == 0);
        let since = current.map_or(0, |current| current.since);
        let Some(n) = self.find(prev) else {
            if was_idle && current.is_some() && prev != 0 {
                self.other_ran_from_idle(event, prev, since);
            }
            return;
        };
        let now = self.now[n];
        let unseen = now.doing != Doing::Runs && event.t_ns > self.threads[n].from;
        // No other thread can have had the CPU, because it would still have it.
        let given = unseen && now.doing == Doing::Waits && self.find_on(event.cpu).is_none();
        match given {
            true => self.ran_unseen(n, since.max(now.here), event.t_ns, was_idle && !now.set_aside),
            false => self.out.missing += u64::from(unseen),
        }
        let doing = if runnable { Doing::Waits } else { Doing::Sleeps };
        self.set(n, doing, Some(event.cpu), event.t_ns);
        self.now[n].set_aside = runnable && next == 0;
    }

    /// Handles a thread that leaves a CPU although no switch to it was recorded. (On 6.18, switches from some tasks,
    /// such as the idle task of CPU 1, are never recorded.) If `at_once`, the CPU was idle, and an idle CPU runs any
    /// thread woken on it or moved to it at once, so the thread has not waited since then. If the thread waited for
    /// another task, or was throttled, it waited for an unknown part of that time.
    fn ran_unseen(&mut self, n: usize, since: u64, t: u64, at_once: bool) {
        let watched = self.threads[n];
        let length = t.min(watched.to).saturating_sub(since.max(watched.from));
        let spent = &mut self.out.spent[n];
        spent.waited = spent.waited.saturating_sub(length);
        spent.on_cpu += length;
        spent.behind[n] += length;
        if !at_once {
            spent.unclear += length;
            // This time was charged by `advance`.
            let charged = length.min(spent.others);
            spent.others -= charged;
            spent.unclear_others += charged;
            let other = self.now[n].cpu.and_then(|cpu| self.current.get(&cpu)).map(|current| &current.comm);
            if let Some(took) = other.and_then(|comm| self.others.get_mut(comm)) {
                *took = took.saturating_sub(length);
            }
        }
        if let Some((cpu, from)) = self.now[n].cpu.and_then(|cpu| self.held.remove_entry(&cpu)) {
            self.end_of_held(cpu, from, since);
        }
        if since > self.now[n].since {
            self.set(n, Doing::Runs, self.now[n].cpu, since);
        }
        self.now[n].doing = Doing::Runs;
        self.out.switches += 1;
    }

    /// Like `ran_unseen`, for a task outside the experiment: threads may have waited for it since the CPU was idle.
    fn other_ran_from_idle(&mut self, event: &Event, tid: i32, since: u64) {
        let Kind::SchedSwitch { prev, .. } = &event.kind else { return };
        let mut took = 0;
        for (n, watched) in self.threads.iter().enumerate() {
            let now = self.now[n];
            let from = since.max(now.here).max(watched.from);
            let length = event.t_ns.min(watched.to).saturating_sub(from);
            if now.doing == Doing::Waits && now.cpu == Some(event.cpu) && !now.set_aside {
                self.out.spent[n].others += length;
                took += length;
            }
        }
        if took > 0 {
            let comm = prev.comm.map_or_else(|| format!("thread {tid}"), |comm| comm.to_string());
            *self.others.entry(comm).or_default() += took;
        }
    }

    fn find_on(&self, cpu: u32) -> Option<usize> {
        self.find(self.current.get(&cpu)?.tid)
    }

    fn find(&self, tid: i32) -> Option<usize> {
        self.threads.iter().position(|watched| watched.tid == tid)
    }

    fn set(&mut self, n: usize, doing: Doing, cpu: Option<u32>, t: u64) {
        self.close(n, t);
        self.now[n] = Now { doing, cpu, since: t, here: t, set_aside: false };
    }

    fn close(&mut self, n: usize, t: u64) {
        let (Now { doing, cpu, since, .. }, watched) = (self.now[n], self.threads[n]);
        let (from, to) = (since.max(watched.from), t.min(watched.to));
        if to > from {
            let since_start = |t: u64| Nanos(t.saturating_sub(self.start));
            let cpu = cpu.filter(|_| doing != Doing::Sleeps).map(CpuId);
            self.out.spans.push(GanttSpan {
                thread: n,
                cpu,
                doing,
                from_ns: since_start(from),
                to_ns: since_start(to),
            });
        }
    }

    /// Records that an ordinary task runs on a CPU for which a real-time thread waits.
    fn note_held(&mut self, t: u64) {
        let waits = |(now, watched): (&Now, &Watched)| {
            let waits = watched.class.is_real_time() && now.doing == Doing::Waits;
            now.cpu.filter(|_| waits && (watched.from..watched.to).contains(&t))
        };
        let ordinary = |cpu: &u32| self.current.get(cpu).is_some_and(|current| current.tid != 0 && current.is_ordinary);
        let now: Vec<u32> = self.now.iter().zip(self.threads).filter_map(waits).filter(ordinary).collect();
        for cpu in &now {
            self.held.entry(*cpu).or_insert(t);
        }
        let over: Vec<u32> = self.held.keys().copied().filter(|cpu| !now.contains(cpu)).collect();
        for cpu in over {
            let from = self.held.remove(&cpu).unwrap_or(t);
            self.end_of_held(cpu, from, t);
        }
    }

    fn end_of_held(&mut self, cpu: u32, from: u64, t: u64) {
        if from < t {
            let from_ns = Nanos(from.saturating_sub(self.start));
            let expiry = self.expiries.range(from.max(t.saturating_sub(AFTER_EXPIRY))..=t);
            let ends_at_period = expiry.count() > 0;
            self.out.held.push(Held { from_ns, lasted_ns: Nanos(t - from), cpu: CpuId(cpu), ends_at_period });
        }
    }

    fn finish(mut self) -> Accounts {
        let end = self.threads.iter().map(|watched| watched.to).max().unwrap_or(0);
        self.advance(end);
        for n in 0..self.threads.len() {
            self.close(n, end);
        }
        for cpu in self.current.keys().copied().collect::<Vec<u32>>() {
            self.end_of_foreign(cpu, end);
        }
        self.out.period = self.out.period.filter(|_| self.timers.len() == 1);
        self.out.foreign.arrange_by_key(|foreign| foreign.from);
        self.out.held = crate::joined::rounds(&self.out.held);
        self.out.spans.arrange_by_key(|span| (span.from_ns, span.thread));
        let took = |(comm, ns)| OtherTask { comm, took_ns: Nanos(ns) };
        self.out.others = std::mem::take(&mut self.others).into_iter().map(took).collect();
        self.out.others.arrange_by_key(|other| std::cmp::Reverse(other.took_ns));
        self.out
    }
}
