//! Tracks one CPU: its current task, what interrupts it, and as much history as a late wakeup may need.

use super::expiry::Offset;
use super::inside::Inside;
use super::section::{Before, Section, Traced};
use super::waits::{Locks, Spin};
use punctual_trace::{Comm, Context, Flags, Name, Symbol, Task};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub tid: i32,
    /// Raw kernel priority of the thread while it ran.
    pub prio: Option<i32>,
    pub comm: Option<Comm>,
    /// True under priority inheritance: the priority is inherited from a waiter.
    pub boosted: bool,
    /// True if the thread was current before and after missing events; that it was current in between is a guess.
    pub around: bool,
    /// True if the thread's priority changed at an unknown time while it was current. `prio` is then the more urgent of
    /// the two: with the other one it would not have kept the CPU.
    pub changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Unknown,
    Idle,
    Task(Running),
    Hard(u16),
    /// A softirq, and the task it runs in or on top of.
    Soft(u32, Option<Running>),
    Nmi,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub t: u64,
    pub doing: Doing,
    /// True if the flags recorded at `t` request an urgent reschedule.
    pub resched: Option<bool>,
    /// Set if this was recorded in an interrupt whose end has no event: the duration of that interrupt so far, ns.
    pub in_hard: Option<u64>,
    /// True if a reschedule was requested at any time before the next segment.
    pub wanted: bool,
    pub switched: bool,
    /// True if preemption and interrupts are off, according to the events that record this.
    pub preempt_off: bool,
    pub irqs_off: bool,
    pub idle: IdleState,
}

/// The idle state, according to cpu_idle events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum IdleState {
    /// The trace has no cpu_idle event of this CPU yet.
    #[default]
    Unknown,
    /// The CPU has left its idle state.
    Awake,
    /// The idle loop polls, so a waker sends no interrupt (sched_wake_idle_without_ipi). Known until the next switch.
    Polling,
    In(u32),
}

/// An interrupt sent by another CPU: time, sending CPU, the thread running on that CPU, purpose.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub t: u64,
    pub cpu: u32,
    pub by: Option<Running>,
    pub what: Option<Symbol>,
}

/// Time without any event of this CPU, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub from: u64,
    pub to: u64,
    /// True if a timer of this CPU was due in the gap, at least [`OVERDUE`] before its end.
    pub overdue: bool,
}

/// CPU time charged to the current task (sched_stat_runtime) between two charges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub from: u64,
    pub to: u64,
    pub runtime: u64,
}

/// A place where a trace is incomplete or contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubtful {
    pub at: u64,
    /// Line number, if the trace is text.
    pub line: Option<u64>,
    pub what: Odd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    Lost,
    /// Lines are left out of the text there.
    LeftOut,
    /// An event shows a different thread as current than the events before it do.
    Current,
    /// An interrupt ended before an interrupt nested in it did, or too many interrupts are nested.
    Nested,
    /// An interrupt ended that had not begun.
    Exit,
    /// According to flags or a switch, a thread ran although an interrupt had not ended.
    Entry,
    /// A switch whose flags show that it occurred in an interrupt.
    Switch,
    /// According to the flags, no reschedule was requested, and neither interrupts nor preemption were off, but a more
    /// urgent thread had been woken.
    Calm,
}

impl Odd {
    pub fn is_missing(self) -> bool {
        matches!(self, Odd::Lost | Odd::LeftOut)
    }
}

/// Minimum silence that counts as evidence, ns.
pub(super) const SILENCE: u64 = 500_000;
/// Minimum lateness of a timer that slow handling does not explain, ns.
pub(super) const OVERDUE: u64 = 1_000_000;
/// Maximum number of nested interrupts; more means a damaged trace.
const NESTED: usize = 16;
pub(super) const KEPT: usize = 512;
const ODD: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A hard interrupt: index of its name, the key that its exit matches, and its start.
    Hard {
        name: u16,
        key: u64,
        since: u64,
    },
    Soft {
        vec: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Expiring {
    /// Due time and start of the timer, on the trace's clock.
    pub due: Option<u64>,
    pub irq: u64,
}

#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub current: Option<Running>,
    pub frames: Vec<Frame>,
    pub last: Option<u64>,
    /// Line number of the CPU's last event, if the trace is text.
    pub line: Option<u64>,
    pub history: VecDeque<Segment>,
    /// True if older activity has been removed from `history`.
    pub forgotten: bool,
    pub gaps: VecDeque<Gap>,
    pub charges: VecDeque<Charge>,
    pub charged_until: Option<u64>,
    pub armed: Vec<(u64, u64)>,
    pub timers: Offset,
    pub expiring: Option<Expiring>,
    /// The task that the last sched_switch preempted, until an event confirms the next one.
    pub before: Option<i32>,
    pub preempt_off: bool,
    pub irqs_off: bool,
    pub idle: IdleState,
    /// Time in interrupts and in softirqs, according to the flags of events, ns.
    pub in_hard: u64,
    pub in_soft: u64,
    /// The interrupt in which the CPU's events were recorded, according to their flags.
    pub inside: Inside,
    /// Lines of a function trace.
    pub traced: VecDeque<Traced>,
    pub sections: VecDeque<Section>,
    /// Other events than those of this program: time, thread and name.
    pub others: VecDeque<(u64, i32, Name)>,
    pub before_stack: Before,
    /// For each recorded stack: the time of the event before it, and the time of the stack. Between the two, the tracer
    /// recorded the stack.
    pub stacks: VecDeque<(u64, u64)>,
    /// Time since which nothing is known because events were lost, and what ran at that time.
    pub lost: Option<(u64, Running)>,
    /// True if an event shows that an interrupt began on this CPU.
    pub entered: bool,
    /// Times at which events were lost or inconsistent, most recent last.
    pub doubtful: VecDeque<Doubtful>,
    /// The last event of a thread whose flags show preemption and interrupts on, and no requested reschedule.
    pub calm: Option<Doubtful>,
    /// Interrupts of other CPUs that have not arrived yet.
    pub sent: VecDeque<Sent>,
    /// Interrupts of other CPUs that arrived, and when; of those that arrived together, the first one sent is last.
    pub ipis: VecDeque<(Sent, u64)>,
    /// Arrival times of interrupts of other CPUs, whoever sent them.
    pub arrivals: VecDeque<u64>,
    /// Locks taken by the CPU's interrupts and softirqs.
    pub locks: Locks,
    pub spins: VecDeque<Spin>,
}

impl Cpu {
    pub fn doing(&self) -> Doing {
        match (self.frames.last(), self.current) {
            (Some(Frame::Hard { name, .. }), _) => Doing::Hard(*name),
            (Some(Frame::Soft { vec }), task) => Doing::Soft(*vec, task),
            (None, Some(task)) if task.tid == 0 => Doing::Idle,
            (None, Some(task)) => Doing::Task(task),
            (None, None) => Doing::Unknown,
        }
    }

    /// Returns the index of the CPU's activity at `t`. Searches from the end, where late wakeups are.
    pub fn since(&self, t: u64) -> usize {
        let later = |at: usize| self.history.get(at).is_some_and(|segment| segment.t > t);
        let (mut high, mut step) = (self.history.len(), 1);
        let mut low = high.saturating_sub(step);
        while low > 0 && later(low) {
            (high, step) = (low, step * 2);
            low = low.saturating_sub(step);
        }
        // `low` is at or before `t`, or 0; `high` is after `t`, or the end.
        while low < high {
            let middle = low + (high - low) / 2;
            if later(middle) { high = middle } else { low = middle + 1 }
        }
        low.saturating_sub(1)
    }

    pub fn turn(&mut self, t: u64, flags: Option<Flags>, switched: bool, most: usize) {
        let doing = self.doing();
        self.write(t, doing, flags, switched, most);
    }

    pub fn write(&mut self, t: u64, doing: Doing, flags: Option<Flags>, switched: bool, most: usize) {
        let resched = flags.and_then(urgent);
        let (preempt_off, irqs_off, idle) = (self.preempt_off, self.irqs_off, self.idle);
        let in_hard = self.inside.since.filter(|_| !self.entered).map(|since| t.saturating_sub(since));
        self.history.push_back(Segment {
            t,
            doing,
            resched,
            in_hard,
            wanted: resched == Some(true),
            switched,
            preempt_off,
            irqs_off,
            idle,
        });
        while self.history.len() > most.max(2) {
            self.history.pop_front();
            self.forgotten = true;
        }
    }

    /// Records an event of the current task, with its flags.
    pub fn wanted(&mut self, t: u64, flags: Option<Flags>, most: usize) {
        if flags.and_then(urgent) != Some(true) {
            return;
        }
        let Some(segment) = self.history.back_mut() else { return };
        let is_first = !std::mem::replace(&mut segment.wanted, true);
        if !is_first || flags.and_then(|flags| flags.context).is_some_and(Context::is_hard) {
            return;
        }
        if segment.t == t {
            segment.resched = Some(true);
        } else {
            self.turn(t, flags, false, most);
        }
    }

    /// Handles the current task leaving as `left`: changes without an event apply to the whole time for which it was
    /// current, since sched_setscheduler(2) has no event, and a name may be set while it runs.
    pub fn leaves(&mut self, left: &Task) {
        let Some(came) = self.current.filter(|task| task.tid == left.tid && !task.boosted) else { return };
        let prio = left.prio.filter(|prio| came.prio.is_some_and(|known| known != *prio));
        let comm = left.comm.filter(|comm| came.comm.is_some_and(|known| known != *comm));
        if prio.is_none() && comm.is_none() {
            return;
        }
        for segment in self.history.iter_mut().rev() {
            match &mut segment.doing {
                Doing::Task(task) | Doing::Soft(_, Some(task)) if task.tid == left.tid => {
                    (task.prio, task.comm) = (task.prio.min(prio.or(task.prio)), comm.or(task.comm));
                    task.changed |= prio.is_some();
                }
                Doing::Task(_) | Doing::Idle | Doing::Unknown => return,
                Doing::Hard(_) | Doing::Nmi | Doing::Soft(..) => {}
            }
            if segment.switched {
                return;
            }
        }
    }

    pub fn alive(&mut self, t: u64) {
        if let Some(gap) = self.silence(t) {
            push(&mut self.gaps, gap);
        }
        self.last = Some(t);
    }

    /// Returns the silence up to `t`, if long enough to matter.
    pub fn silence(&self, t: u64) -> Option<Gap> {
        let from = self.last.filter(|last| t.saturating_sub(*last) >= SILENCE)?;
        let overdue = self.armed.iter().any(|(_, due)| due.saturating_add(OVERDUE) <= t);
        Some(Gap { from, to: t, overdue })
    }

    pub fn arm(&mut self, timer: u64, due: u64) {
        self.disarm(timer);
        if self.armed.len() < KEPT {
            self.armed.push((timer, due));
        }
    }

    pub fn disarm(&mut self, timer: u64) {
        self.armed.retain(|(t, _)| *t != timer);
    }

    pub fn charge(&mut self, t: u64, runtime: u64) {
        if let Some(from) = self.charged_until.replace(t) {
            push(&mut self.charges, Charge { from, to: t, runtime });
        }
    }

    pub fn arrived(&mut self, t: u64) {
        push(&mut self.arrivals, t);
        while let Some(sent) = self.sent.pop_back() {
            push(&mut self.ipis, (sent, t));
        }
    }

    /// Rewrites the history since an event with what is known now.
    pub fn rewrite(&mut self, from: u64, doing: Doing, most: usize) {
        if self.history.back().is_none_or(|segment| segment.t < from) {
            return self.write(from, doing, None, false, most);
        }
        let later = self.history.iter_mut().rev().take_while(|segment| segment.t >= from);
        later.for_each(|segment| (segment.doing, segment.in_hard) = (doing, None));
    }

    pub fn enter(&mut self, frame: Frame, t: u64) {
        self.entered |= matches!(frame, Frame::Hard { .. });
        if self.frames.len() < NESTED {
            self.frames.push(frame);
        } else {
            self.frames.clear();
            self.odd(Odd::Nested, t);
        }
    }

    pub fn odd(&mut self, what: Odd, at: u64) {
        if self.doubtful.len() >= ODD {
            self.doubtful.pop_front();
        }
        self.doubtful.push_back(Doubtful { at, line: self.line, what });
    }

    /// Ends an interrupt. If an interrupt nested in it did not end, the trace is doubtful from here; an end without a
    /// start is normal at the start of a trace.
    pub fn leave(&mut self, matches: impl Fn(&Frame) -> bool, t: u64) {
        match self.frames.iter().rposition(matches) {
            Some(at) => {
                if at + 1 != self.frames.len() {
                    self.odd(Odd::Nested, t);
                }
                self.frames.truncate(at);
            }
            // It began before the trace.
            None if !self.entered => {}
            None if self.history.len() > 1 => self.odd(Odd::Exit, t),
            None => {}
        }
    }

    /// Removes hard interrupts that cannot be running any more.
    pub fn no_hard(&mut self, t: u64) -> bool {
        let before = self.frames.len();
        self.frames.retain(|f| matches!(f, Frame::Soft { .. }));
        let removed = self.frames.len() != before;
        if removed {
            self.odd(Odd::Entry, t);
        }
        removed
    }

    pub fn interrupted_since(&self) -> Option<u64> {
        self.frames.iter().find_map(|f| match f {
            Frame::Hard { since, .. } => Some(*since),
            Frame::Soft { .. } => None,
        })
    }

    /// Handles lost events: the activity is unknown until the next event.
    pub fn lose(&mut self, what: Odd, t: u64, most: usize) {
        self.lost =
            self.current.filter(|current| current.tid != 0 && self.frames.is_empty()).map(|current| (t, current));
        self.frames.clear();
        self.current = None;
        self.armed.clear();
        self.expiring = None;
        self.charged_until = None;
        self.sent.clear();
        if let Some(line) = self.traced.back_mut() {
            line.last = true;
        }
        (self.inside, self.entered) = (Inside::default(), false);
        self.locks = Locks::default();
        (self.preempt_off, self.irqs_off, self.idle) = (false, false, IdleState::Unknown);
        self.odd(what, t);
        self.turn(t, None, false, most);
    }
}

impl Cpu {
    /// Handles the first event after a loss: if the same thread ran before, it probably ran in between.
    pub fn found_again(&mut self, tid: i32) {
        let Some((since, running)) = self.lost.take().filter(|(_, running)| running.tid == tid) else { return };
        let before =
            self.history.len().checked_sub(2).and_then(|at| self.history.get(at)).and_then(|segment| segment.resched);
        if let Some(segment) = self.history.back_mut().filter(|segment| segment.t == since) {
            (segment.doing, segment.resched) = (Doing::Task(Running { around: true, ..running }), before);
        }
    }
}

/// True if a reschedule for a real-time thread is requested. A lazy request is set by ticks for other tasks, and is
/// deferred.
fn urgent(flags: Flags) -> Option<bool> {
    let known = [flags.need_resched, flags.preempt_resched];
    if known.contains(&Some(true)) { Some(true) } else { known.into_iter().flatten().next() }
}

pub(super) fn in_task(flags: Option<Flags>) -> bool {
    flags.and_then(|f| f.context).is_some_and(|c| c == Context::Task)
}

pub(super) fn push<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() >= KEPT {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_did_is_found_from_the_end_as_from_the_beginning() {
        let mut cpu = Cpu::default();
        for n in 0..100u64 {
            for t in 0..120 {
                let expected = cpu.history.partition_point(|s| s.t <= t).saturating_sub(1);
                assert_eq!(cpu.since(t), expected, "{n} {t}");
            }
            cpu.write(n + n % 3, Doing::Idle, None, false, 1000);
            cpu.write(n + n % 3, Doing::Nmi, None, false, 1000);
            cpu.history.make_contiguous().sort_by_key(|s| s.t);
        }
    }
}
