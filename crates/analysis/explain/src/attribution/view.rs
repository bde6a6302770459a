//! The wakeup as the rules see it; immutable.

use super::Facts;
use super::cpu::{Doing, Running};
use super::label::{Label, Why};
use super::machine::{Machine, Window};
use super::piece::Piece;
use super::section::{self, Off, Section};
use super::sentences;
use punctual_model::{Class, Confidence};
use punctual_trace::Comm;

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub machine: &'a Machine,
    pub window: &'a Window,
    pub facts: &'a Facts,
}

impl View<'_> {
    /// Returns the label of a task that runs because of its priority; `None` if the victim should have run instead.
    pub fn task(&self, task: Running, wanted: bool) -> Option<Label> {
        use Confidence::High;
        if task.tid == self.window.tid {
            return Some(Label::new(Class::Unaccounted, High, Why::Itself));
        }
        if !wanted {
            return None;
        }
        let Some((prio, own)) = self.prio(task).zip(self.window.prio) else {
            return Some(Label::new(Class::Unaccounted, High, Why::NoPrio).of(task));
        };
        // A stopper thread runs before all others, including SCHED_DEADLINE, whatever priority is shown
        // (kernel/sched/stop_task.c).
        if prio <= 0 && task.comm.is_some_and(|comm| sentences::is_stopper(&comm.to_string())) {
            return Some(
                Label::new(Class::HigherPriority, self.sure(), Why::Ran).of(Running { prio: Some(prio), ..task }),
            );
        }
        let ordinary = prio >= 100 && own >= 100;
        let class = match prio {
            _ if ordinary || prio == own => Class::SamePriority,
            _ if prio < own => Class::HigherPriority,
            _ => return None,
        };
        let (class, why) = match thread_class(task.comm) {
            Some(class) => (class, Why::Ran),
            None if task.boosted => (Class::PriorityInversion, Why::Boosted),
            None => (class, Why::Ran),
        };
        if class == Class::SamePriority && own < 0 {
            return Some(Label::new(class, Confidence::Medium, Why::Edf).of(Running { prio: Some(prio), ..task }));
        }
        if task.around {
            return Some(
                Label::new(class, Confidence::Suspected, Why::Around).of(Running { prio: Some(prio), ..task }),
            );
        }
        // No event shows which of two ordinary threads the scheduler prefers.
        let (sure, why) = match task.changed {
            true => (Confidence::Medium, Why::Changed),
            false if ordinary => (Confidence::Medium, why),
            false => (self.sure(), why),
        };
        Some(Label::new(class, sure, why).of(Running { prio: Some(prio), ..task }))
    }

    /// Returns the confidence that a thread ran: without interrupt events, the time of interrupts is attributed to the
    /// thread.
    fn sure(&self) -> Confidence {
        if self.machine.seen.interrupts == 0 { Confidence::Medium } else { Confidence::High }
    }

    /// Returns the section in which most of a piece lies.
    pub fn section(&self, piece: &Piece, cpu: u32) -> Option<&Section> {
        let sections = self.machine.cpu(cpu)?.sections.iter().rev();
        let covers = |s: &&Section| s.to.min(piece.to).saturating_sub(s.from.max(piece.from)) * 2 > piece.ns();
        let mut known = sections
            .take_while(|section| section.to > piece.from)
            .filter(|section| covers(section) && self.is_known(section, piece));
        // The most recent one, except that the end of a system call says less than a place.
        let first = known.next()?;
        Some(if first.place == section::CALL_ENDED { known.next().unwrap_or(first) } else { first })
    }

    /// True if a section is certain. A stack always names something: an interrupted function had interrupts off only if
    /// it had just enabled them.
    fn is_known(&self, section: &Section, piece: &Piece) -> bool {
        match section.off {
            Off::IrqsReleased { at, sure } => sure || self.facts.released.contains(&at),
            Off::Woken { tid } => {
                let same = matches!(piece.doing, Doing::Task(task) if task.tid == tid);
                same && section.from >= self.window.waking.t0 && section.from <= self.window.waking.t2
            }
            Off::Irqs | Off::User | Off::Preemption | Off::Unknown => true,
        }
    }

    /// Returns the raw kernel priority, as last observed in the trace.
    pub fn prio(&self, task: Running) -> Option<i32> {
        task.prio.or_else(|| self.machine.tasks.find(task.tid).and_then(|known| known.prio))
    }

    /// True if the task has a lower priority than the victim, or is idle.
    pub fn is_low(&self, doing: Doing) -> bool {
        match doing {
            Doing::Idle => true,
            Doing::Task(task) => self.task(task, true).is_none(),
            _ => false,
        }
    }

    /// True if the task is the sender whose clock reading released the victim.
    pub fn sends(&self, task: Running) -> bool {
        self.facts.sent && task.comm.is_some_and(|comm| comm.as_bytes().starts_with(b"send/"))
    }
}

/// Returns the class of kernel threads that do the work of interrupts and softirqs: `irq/24-eth0`, `ksoftirqd/1`,
/// `ktimers/1`, `napi/eth0-8193`.
pub(super) fn thread_class(comm: Option<Comm>) -> Option<Class> {
    let comm = comm?;
    let name = comm.as_bytes();
    // The -rt patches of 2.6 name their threads `IRQ 18` or `IRQ-18`, and `softirq-timer/1`.
    if [&b"irq/"[..], b"IRQ ", b"IRQ-", b"IRQ_"].iter().any(|prefix| name.starts_with(prefix)) {
        return Some(Class::Irq);
    }
    // NAPI threads (net/core/dev.c): of a device, and of the backlog (RPS, loopback; on RT since 6.10).
    let softirq: [&[u8]; 7] =
        [b"ksoftirqd/", b"softirq-", b"ktimers/", b"ktimersoftd/", b"sirq-", b"napi/", b"backlog_napi/"];
    softirq.iter().any(|prefix| name.starts_with(prefix)).then_some(Class::Softirq)
}
