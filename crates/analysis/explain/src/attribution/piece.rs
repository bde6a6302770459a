//! Divides the activity of a CPU into pieces, with their places in a wakeup.

use super::cpu::{Cpu, Doing, IdleState, Segment};
use super::label::Label;

/// Maximum duration of an interrupt that wakes a thread, including the switch to the thread, ns.
const BRIEF: u64 = 50_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub from: u64,
    pub to: u64,
    pub doing: Doing,
    pub switched: bool,
    /// True if a reschedule was requested at the start of the piece, and also at its end if an interrupt ended it.
    pub resched: Option<bool>,
    pub resched_after: Option<bool>,
    /// Set if the piece begins in an interrupt that no event ends: the duration of that interrupt so far, ns.
    pub in_hard: Option<u64>,
    /// True if events of an interrupt precede the piece; `before_interrupt` is true if they follow it.
    pub after_interrupt: bool,
    pub before_interrupt: bool,
    /// True if a reschedule was requested at any time in the piece, according to the flags of any event.
    pub wanted: bool,
    pub preempt_off: bool,
    pub irqs_off: bool,
    pub idle: IdleState,
}

impl Piece {
    fn unknown(from: u64, to: u64) -> Piece {
        Piece {
            from,
            to,
            doing: Doing::Unknown,
            switched: false,
            resched: None,
            resched_after: None,
            in_hard: None,
            after_interrupt: false,
            before_interrupt: false,
            wanted: false,
            preempt_off: false,
            irqs_off: false,
            idle: IdleState::Unknown,
        }
    }

    pub fn ns(&self) -> u64 {
        self.to - self.from
    }

    /// True if the interrupt in which the piece begins may have lasted until the end of the piece: at most ten times as
    /// long as observed, or briefly.
    pub fn may_be_interrupt(&self) -> bool {
        self.in_hard.is_some_and(|seen| self.ns() <= seen.saturating_mul(10).max(BRIEF))
    }
}

/// Returns the activity of `cpu` from `from` to `to`, contiguously.
pub(super) fn pieces(cpu: Option<&Cpu>, from: u64, to: u64) -> Vec<Piece> {
    let mut all = Vec::new();
    let mut at = from;
    if let Some(cpu) = cpu {
        let first = cpu.since(from);
        for (n, segment) in cpu.history.iter().enumerate().skip(first).take_while(|(_, s)| s.t < to) {
            let next = cpu.history.get(n + 1);
            let (start, end) = (segment.t.max(at), next.map_or(to, |s| s.t).min(to));
            if start > at {
                all.push(Piece::unknown(at, start));
            }
            if end > start {
                // A switch clears the need-resched flag, even if the switch has no event.
                let stays = |next: &&Segment| !next.switched && next.t <= to && same_task(segment.doing, next.doing);
                let resched_after = next.filter(stays).and_then(|next| next.resched);
                all.push(Piece {
                    from: start,
                    to: end,
                    doing: segment.doing,
                    switched: segment.switched && segment.t >= from,
                    resched: segment.resched,
                    resched_after,
                    in_hard: segment.in_hard.filter(|_| segment.t >= from),
                    after_interrupt: before_of(cpu, n, segment).is_some_and(is_interrupt),
                    before_interrupt: next.is_some_and(|next| is_interrupt(next.doing)),
                    wanted: segment.wanted,
                    preempt_off: segment.preempt_off,
                    irqs_off: segment.irqs_off,
                    idle: segment.idle,
                });
            }
            at = at.max(end);
        }
    }
    if at < to {
        all.push(Piece::unknown(at, to));
    }
    all
}

/// Returns the activity of the CPU before segment `n`, ignoring other segments of the same task.
fn before_of(cpu: &Cpu, n: usize, segment: &Segment) -> Option<Doing> {
    const FEW: usize = 8;
    let before = (0..n).rev().take(FEW).filter_map(|at| cpu.history.get(at));
    let same = |doing: &Doing| matches!((doing, segment.doing), (Doing::Task(one), Doing::Task(other)) if one.tid == other.tid);
    before.map(|before| before.doing).find(|doing| !same(doing))
}

fn is_interrupt(doing: Doing) -> bool {
    matches!(doing, Doing::Hard(_) | Doing::Nmi)
}

fn same_task(one: Doing, other: Doing) -> bool {
    let task = |doing| match doing {
        Doing::Task(task) | Doing::Soft(_, Some(task)) => Some(task.tid),
        Doing::Idle => Some(0),
        Doing::Soft(_, None) | Doing::Hard(_) | Doing::Nmi | Doing::Unknown => None,
    };
    task(one).zip(task(other)).is_none_or(|(one, other)| one == other)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub cpu: u32,
    /// True before sched_waking.
    pub early: bool,
    /// True if the waking is in progress: a sender was in its call, or an interrupt had arrived.
    pub released: bool,
    /// True on the CPU that the victim requires.
    pub wanted: bool,
    /// Set if the scheduler passed the victim over (fair server, throttling).
    pub passed_over: Option<Label>,
}
