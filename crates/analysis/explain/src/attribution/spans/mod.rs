//! Measures activities whose beginning and end are in a trace that contains no complete wakeup: preemptions, sleeps
//! that nothing interrupts, handlers, softirqs from raise to entry, work of workqueues, threads from sched_waking to
//! their runqueue.

mod held;
mod said;
mod works;

use super::options::ExplainOptions;
use super::{choose, section, sentences, vectors};
use held::Held;
use punctual_model::Scheduled;
use punctual_trace::{Comm, Context, Delay, Event, Kind, Task, TaskState};
use punctual_units::{Arrange, Nanos};
use said::{blocked, comm_of, named, preempted, raised, slept, who};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use works::Works;

const CPUS: usize = 1024;
const THREADS: usize = 4096;
const SWITCHES: usize = 64;
const LENT: usize = 256;
const NESTED: usize = 16;
/// Shorter delays of softirqs, wakeups and work are normal and not reported, ns.
const LEAST: u64 = 20_000;
/// Shorter handlers are not reported, ns.
const BRIEF: u64 = 5_000;
/// Minimum time, ns, for which a real-time thread must run without a break to be reported as keeping others waiting.
const HOG: u64 = 1_000_000;
/// Activity that follows an interrupt by less than this is part of the interrupt's exit, ns.
const WAY_OUT: u64 = 20_000;
const FRAMES: usize = 5;

/// Displayed as `on CPU 3`, or as nothing if the lines state no CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct On(pub Option<u32>);

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |cpu| write!(f, " on CPU {cpu}"))
    }
}

/// The kind of a delay or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    /// A real-time thread that was runnable after losing its CPU.
    RealTime,
    /// Any other thread that had lost its CPU to a real-time thread.
    ByRealTime,
    /// Any other thread that had lost its CPU to an ordinary thread with a worse nice value.
    Outranked,
    Preempted,
    /// A thread in state D (uninterruptible sleep).
    Blocked,
    /// A softirq, from its raise.
    Raised,
    /// A thread, from sched_waking to sched_wakeup.
    Queued,
    /// Work of a workqueue, from queueing to its start.
    Work,
    /// A wait reported by sched_stat_wait.
    Waited,
    Handler,
    WorkRan,
    /// A real-time thread that kept a CPU for long.
    Hog,
    /// A thread that kept a CPU.
    Ran,
    /// A thread that had a CPU before and after missing lines.
    Held,
}

/// The longest delay or duration of each kind, ns, and the sentence about it.
#[derive(Debug, Default)]
struct Longest(BTreeMap<Of, (u64, String)>);

impl Longest {
    fn offer(&mut self, of: Of, ns: u64, least: u64, text: impl FnOnce() -> String) {
        if ns >= least && self.0.get(&of).is_none_or(|(longest, _)| ns > *longest) {
            self.0.insert(of, (ns, text()));
        }
    }
}

#[derive(Clone, Debug)]
struct Handler {
    key: u64,
    since: u64,
    name: String,
}

#[derive(Debug, Default)]
struct Cpu {
    handlers: Vec<Handler>,
    /// Consecutive interrupts: start of the first one, end of the last one, and name of the first one.
    interrupted: Option<(u64, u64, String)>,
    raised: BTreeMap<u32, (u64, Who)>,
    /// Which thread got the CPU, and when.
    switches: VecDeque<(u64, Task)>,
    idle: Option<(u64, u32)>,
    /// The thread that lost the CPU in the last event, if that event was a switch.
    left: Option<i32>,
}

type Who = (Option<Comm>, Option<i32>);
type Actor = (Who, Option<Context>);

fn actor(event: &Event) -> Actor {
    ((event.comm, event.tid), event.flags.and_then(|flags| flags.context))
}

/// A thread that left a CPU.
#[derive(Debug)]
struct Out {
    t: u64,
    cpu: u32,
    task: Task,
    state: TaskState,
    by: Task,
    /// When the previous interrupt began, and its name.
    interrupted: Option<(u64, String)>,
    frames: Vec<String>,
    woken: Option<(u64, Actor)>,
    /// The lock owner to which this thread had lent its priority before it left the CPU.
    owner: Option<Task>,
}

#[derive(Debug, Default)]
pub(super) struct Spans {
    cpus: BTreeMap<u32, Cpu>,
    out: HashMap<i32, Out>,
    woken: HashMap<i32, (u64, u32)>,
    /// For each thread that runs with a lent priority: the thread that lent it.
    lent: HashMap<i32, Task>,
    /// Number of wakeups of each thread, counted as long as no switch has been seen.
    wakings: HashMap<i32, (u64, Task)>,
    works: Works,
    held: Held,
    longest: Longest,
    /// Times of the first and the last event. `only` is the CPU and the thread of the first event; `many` is true if
    /// other threads follow.
    covered: Option<(u64, u64)>,
    only: Option<(u32, Who)>,
    many: bool,
}

impl Spans {
    pub fn event(&mut self, event: &Event, options: &ExplainOptions, has_cpu: bool) {
        if matches!(event.kind, Kind::Restart | Kind::LostEvents { .. }) {
            self.held.missing(event, self.cpus.iter().filter_map(|(cpu, of)| Some((*cpu, *of.switches.back()?))));
            self.cpus.clear();
            (self.out, self.woken, self.lent) = Default::default();
            self.works.forget();
            self.many = true;
            return;
        }
        self.cover(event);
        self.held.seen(event);
        if !is_end(&event.kind) || self.cpus.len() >= CPUS && !self.cpus.contains_key(&event.cpu) {
            return;
        }
        let on = On(Some(event.cpu).filter(|_| has_cpu));
        let t = event.t_ns;
        let cpu = self.cpus.entry(event.cpu).or_default();
        let left = cpu.left.take();
        match &event.kind {
            Kind::SchedSwitch { prev, prev_state, next } => {
                cpu.left = Some(prev.tid);
                self.switch(event, (prev, *prev_state, next), options, has_cpu);
            }
            Kind::Stack { frames } => {
                if let Some(out) = left.filter(|left| event.tid == Some(*left)).and_then(|left| self.out.get_mut(&left))
                {
                    out.frames = slept(frames);
                }
            }
            Kind::SchedWaking { task, .. } | Kind::SchedWakeup { task, .. } => {
                if let Some(out) = self.out.get_mut(&task.tid) {
                    out.woken.get_or_insert((t, actor(event)));
                }
                self.waking(event, task, options, has_cpu);
                if self.wakings.len() < THREADS && matches!(event.kind, Kind::SchedWakeup { .. }) {
                    self.wakings.entry(task.tid).or_insert((0, *task)).0 += 1;
                }
            }
            Kind::PiSetprio { task, new_prio } => self.lend(event, task, *new_prio),
            Kind::SoftirqRaise { vec } => {
                cpu.raised.entry(*vec).or_insert((t, (event.comm, event.tid)));
            }
            Kind::SoftirqEntry { vec } => {
                if let Some((since, by)) = cpu.raised.remove(vec) {
                    let ns = t.saturating_sub(since);
                    self.offer(Of::Raised, ns, LEAST, || raised(*vec, ns, by, (event.comm, event.tid), on));
                }
                self.enter(event, 3 << 32 | u64::from(*vec), || format!("softirq {}", sentences::softirq(*vec)));
            }
            Kind::SoftirqExit { vec } => self.exit(event, 3 << 32 | u64::from(*vec), on),
            Kind::IrqEntry { irq, name } => self.enter(event, 1 << 32 | u64::from(*irq), || match name {
                Some(name) => format!("interrupt irq {irq} {name}"),
                None => format!("interrupt irq {irq}"),
            }),
            Kind::IrqExit { irq, .. } => self.exit(event, 1 << 32 | u64::from(*irq), on),
            Kind::VectorEntry { vector, .. } => {
                self.enter(event, vectors::key_of(vector), || format!("interrupt {}", vectors::vector_name(vector)));
            }
            Kind::VectorExit { vector, .. } => self.exit(event, vectors::key_of(vector), on),
            Kind::HrtimerExpireEntry { timer, function, .. } => {
                let name = function.as_ref().and_then(section::name).unwrap_or("of an hrtimer");
                self.enter(event, timer | 1 << 63, || format!("the timer's function {name}"));
            }
            Kind::HrtimerExpireExit { timer } => self.exit(event, timer | 1 << 63, on),
            Kind::CpuIdle { state, cpu: of } if *of == event.cpu => cpu.idle = state.map(|state| (t, state)),
            Kind::StatDelay { what: Delay::Wait, tid, comm, delay_ns } => {
                let (ns, who) = (*delay_ns, Scheduled::default().thread(comm_of(*comm).as_deref(), Some(*tid)));
                self.offer(Of::Waited, ns, 1, || match ns > t {
                    true => format!(
                        "sched_stat_wait: {} of {who}, more than the time since the clock began: that value is wrong",
                        Nanos(ns)
                    ),
                    false => format!(
                        "sched_stat_wait: {who} had waited {} for a CPU; no event shows which thread ran meanwhile",
                        Nanos(ns)
                    ),
                });
            }
            Kind::Other { name, body: Some(body) } if name.starts_with("workqueue_") => {
                self.works.event(event, name, body, on, &mut self.longest);
            }
            _ => {}
        }
    }

    fn cover(&mut self, event: &Event) {
        let (first, last) = self.covered.get_or_insert((event.t_ns, event.t_ns));
        (*first, *last) = ((*first).min(event.t_ns), (*last).max(event.t_ns));
        let here = (event.cpu, (event.comm, event.tid));
        self.many |= self.only.get_or_insert(here).1.1 != event.tid;
    }

    fn offer(&mut self, of: Of, ns: u64, least: u64, text: impl FnOnce() -> String) {
        self.longest.offer(of, ns, least, text);
    }

    /// Describes works that queue each other or themselves without an end.
    pub fn loops(&self, has_cpu: bool) -> Option<String> {
        self.works.loops(has_cpu)
    }

    fn enter(&mut self, event: &Event, key: u64, name: impl FnOnce() -> String) {
        let Some(cpu) = self.cpus.get_mut(&event.cpu) else { return };
        let handler = Handler { key, since: event.t_ns, name: name() };
        if cpu.handlers.is_empty() && is_interrupt(key) {
            let goes_on =
                cpu.interrupted.as_ref().is_some_and(|(_, end, _)| event.t_ns.saturating_sub(*end) <= WAY_OUT);
            if !goes_on {
                cpu.interrupted = Some((event.t_ns, event.t_ns, handler.name.clone()));
            }
        }
        if cpu.handlers.len() < NESTED {
            cpu.handlers.push(handler);
        }
    }

    fn exit(&mut self, event: &Event, key: u64, on: On) {
        let Some(cpu) = self.cpus.get_mut(&event.cpu) else { return };
        let Some(at) = cpu.handlers.iter().rposition(|handler| handler.key == key) else { return };
        let handler = cpu.handlers.remove(at);
        cpu.handlers.truncate(at);
        if let Some((_, end, _)) = cpu.interrupted.as_mut().filter(|_| cpu.handlers.is_empty() && is_interrupt(key)) {
            *end = event.t_ns;
        }
        let ns = event.t_ns.saturating_sub(handler.since);
        self.offer(Of::Handler, ns, BRIEF, || {
            let upon = match event.tid {
                Some(0) => ", on top of the idle task".to_owned(),
                Some(_) => format!(", upon {}", named((event.comm, event.tid))),
                None => String::new(),
            };
            format!("{} took {}{on}{upon}", handler.name, Nanos(ns))
        });
    }

    fn switch(
        &mut self,
        event: &Event,
        (prev, state, next): (&Task, TaskState, &Task),
        options: &ExplainOptions,
        has_cpu: bool,
    ) {
        let Some(cpu) = self.cpus.get_mut(&event.cpu) else { return };
        let t = event.t_ns;
        let on = On(Some(event.cpu).filter(|_| has_cpu));
        cpu.handlers.clear();
        let before = cpu.interrupted.take().filter(|(_, end, _)| t.saturating_sub(*end) <= WAY_OUT);
        let ran = cpu
            .switches
            .back()
            .filter(|(_, task)| task.tid == prev.tid && prev.tid != 0)
            .map(|(at, _)| t.saturating_sub(*at));
        if cpu.switches.len() >= SWITCHES {
            cpu.switches.pop_front();
        }
        cpu.switches.push_back((t, *next));
        if let Some(out) = self.out.remove(&next.tid) {
            self.back(out, event, next, options, on);
        }
        self.woken.remove(&next.tid);
        if let Some(ns) = ran {
            let urgent = prev.prio.is_some_and(|prio| prio < 100);
            let of = if urgent && ns >= HOG { Of::Hog } else { Of::Ran };
            self.offer(of, ns, 1, || format!("{} ran for {} at a stretch{on}", who(options, prev), Nanos(ns)));
        }
        if let Some(ns) = self.held.left(event.cpu, t).filter(|_| prev.tid != 0 && has_cpu) {
            self.offer(Of::Held, ns, 1, || said::held(&who(options, prev), ns, on));
        }
        let more_urgent = next.tid != 0 && prev.prio.zip(next.prio).is_some_and(|(prev, next)| next < prev);
        let kept = state.runnable() || state.letter == b'D' || state.letter == b'?' && more_urgent;
        if kept && prev.tid != 0 && self.out.len() < THREADS {
            let interrupted = before.map(|(began, _, name)| (began, name));
            let (cpu, task, by) = (event.cpu, *prev, *next);
            let owner = self.lent.get(&prev.tid).copied();
            let out = Out { t, cpu, task, state, by, interrupted, frames: Vec::new(), woken: None, owner };
            self.out.insert(prev.tid, out);
        }
    }

    /// Records which thread lent its priority to which (PI mutexes, locks of PREEMPT_RT).
    fn lend(&mut self, event: &Event, task: &Task, new_prio: i32) {
        let rises = task.prio.is_some_and(|old| new_prio < old);
        self.lent.retain(|_, owner| owner.tid != task.tid);
        if let Some(by) = event.tid.filter(|by| rises && *by != task.tid && self.lent.len() < LENT) {
            self.lent.insert(by, Task { prio: Some(new_prio), ..*task });
        }
    }

    /// Handles a thread that has a CPU again.
    fn back(&mut self, out: Out, event: &Event, next: &Task, options: &ExplainOptions, on: On) {
        let ns = event.t_ns.saturating_sub(out.t);
        if out.state.letter == b'D' && !out.state.runnable() && out.owner.is_none() {
            return self.offer(Of::Blocked, ns, LEAST, || blocked(&out, Some(event.t_ns), options, on));
        }
        // A woken thread was asleep, or had decided to sleep; its wait counts from the wakeup.
        if out.woken.is_some() && out.owner.is_none() {
            return;
        }
        let asked = matches!(options.victims, super::Victims::Tid(_) | super::Victims::Comm(_));
        let rank = |task: &Task| choose::rank(&options.victims, task.tid, task.comm, task.prio);
        let own = rank(next).is_some() && (asked || rank(&out.task).is_some());
        let urgent = out.by.prio.is_some_and(|prio| prio < 100);
        let of = match own {
            true => Of::RealTime,
            false if urgent => Of::ByRealTime,
            false if out.task.prio.zip(out.by.prio).is_some_and(|(own, by)| own < by) => Of::Outranked,
            false => Of::Preempted,
        };
        if asked && !own {
            return;
        }
        let meanwhile = self.meanwhile(&out, event);
        self.offer(of, ns, 1, || preempted(&out, event, next, &meanwhile, options, on));
    }

    /// Returns what ran on the CPU that a thread lost, if the thread has the same CPU again: each thread with its run
    /// time.
    fn meanwhile(&self, out: &Out, event: &Event) -> Vec<(Task, u64)> {
        let Some(cpu) = self.cpus.get(&event.cpu).filter(|_| out.cpu == event.cpu) else { return Vec::new() };
        let mut ran: Vec<(Task, u64)> = Vec::new();
        let stays = cpu.switches.iter().zip(cpu.switches.iter().skip(1));
        for ((from, task), (to, _)) in stays.filter(|((from, _), _)| *from >= out.t) {
            match ran.iter_mut().find(|(known, _)| known.tid == task.tid) {
                Some((_, ns)) => *ns += to.saturating_sub(*from),
                None => ran.push((*task, to.saturating_sub(*from))),
            }
        }
        ran.arrange_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        ran
    }

    fn waking(&mut self, event: &Event, task: &Task, options: &ExplainOptions, has_cpu: bool) {
        let t = event.t_ns;
        let Kind::SchedWakeup { target_cpu, .. } = &event.kind else {
            if self.woken.len() < THREADS {
                self.woken.insert(task.tid, (t, event.cpu));
            }
            return;
        };
        let Some((since, from)) = self.woken.remove(&task.tid) else { return };
        let ns = t.saturating_sub(since);
        let target = target_cpu.unwrap_or(event.cpu);
        let idle = self.cpus.get(&target).and_then(|cpu| cpu.idle);
        self.offer(Of::Queued, ns, LEAST, || {
            let who = who(options, task);
            let idle = idle.map(|(_, state)| format!(", which was in idle state {state},")).unwrap_or_default();
            match has_cpu {
                true => format!(
                    "{who} was woken by CPU {from} (sched_waking) and reached the runqueue of CPU {target}{idle} {} later (sched_wakeup)",
                    Nanos(ns)
                ),
                false => format!("{who} reached its runqueue (sched_wakeup) {} after sched_waking", Nanos(ns)),
            }
        });
    }

    /// Returns the longest delay or duration of this kind in ns, if longer than `than`, and its description.
    pub fn longest(&self, of: Of, than: u64) -> Option<(u64, &str)> {
        self.longest.0.get(&of).filter(|(ns, _)| *ns > than).map(|(ns, text)| (*ns, text.as_str()))
    }

    /// Returns descriptions of what delayed something or took long, each with its duration, ns.
    pub fn delays(&self, options: &ExplainOptions, has_cpu: bool) -> Vec<(u64, String)> {
        let mut all: Vec<(u64, String)> =
            self.longest.0.iter().filter(|(of, _)| **of < Of::Ran).map(|(_, longest)| longest.clone()).collect();
        let asleep = self.out.values().filter(|out| out.state.letter == b'D' && !out.frames.is_empty());
        let until = self.covered.map_or(0, |(_, last)| last);
        let asleep = asleep.max_by_key(|out| (until.saturating_sub(out.t), out.task.tid));
        all.extend(asleep.map(|out| {
            let on = On(Some(out.cpu).filter(|_| has_cpu));
            (until.saturating_sub(out.t), blocked(out, None, options, on))
        }));
        all
    }

    /// Describes what the lines cover, if nothing in them is known to have taken long. `gap` says where most of the
    /// time passed.
    pub fn covered(&self, options: &ExplainOptions, has_cpu: bool, gap: Option<&str>) -> Option<String> {
        const LONG: u64 = 1_000_000_000;
        let (first, last) = self.covered.filter(|(first, last)| last > first && last - first < LONG)?;
        let length = Nanos(last - first);
        let often = self.wakings.values().max_by_key(|(times, task)| (*times, task.tid));
        let often = often.filter(|_| !self.longest.0.contains_key(&Of::Ran)).map(|(times, task)| match *times {
            1 => format!("; {} was woken", who(options, task)),
            _ => format!("; {} was woken {times} times", who(options, task)),
        });
        let often = often.unwrap_or_default();
        let of = match self.only.filter(|(_, (_, tid))| !self.many && tid.is_some()) {
            Some((cpu, who)) => format!(" of {}{}", named(who), On(Some(cpu).filter(|_| has_cpu))),
            None => String::new(),
        };
        let ran = self
            .longest
            .0
            .get(&Of::Ran)
            .map(|(_, text)| format!("; {text}, longer than any other"))
            .unwrap_or_default();
        let gap = gap.map(|gap| format!("; {gap}")).unwrap_or_default();
        let more = format!("{of}{often}{ran}{gap}");
        (!more.is_empty()).then(|| format!("the lines cover {length}{more}"))
    }
}

/// True if the event begins or ends a span, which most events of a long trace do not.
fn is_end(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::SchedSwitch { .. }
            | Kind::SchedWaking { .. }
            | Kind::SchedWakeup { .. }
            | Kind::PiSetprio { .. }
            | Kind::Stack { .. }
            | Kind::SoftirqRaise { .. }
            | Kind::SoftirqEntry { .. }
            | Kind::SoftirqExit { .. }
            | Kind::IrqEntry { .. }
            | Kind::IrqExit { .. }
            | Kind::VectorEntry { .. }
            | Kind::VectorExit { .. }
            | Kind::HrtimerExpireEntry { .. }
            | Kind::HrtimerExpireExit { .. }
            | Kind::CpuIdle { .. }
            | Kind::StatDelay { .. }
            | Kind::Other { body: Some(_), .. }
    )
}

fn is_interrupt(key: u64) -> bool {
    matches!(key >> 32, 1..=2)
}
