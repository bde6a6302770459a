//! Time in which the victim should have run, or its interrupt should have come, and neither did.

use super::carrier;
use super::cpu::{Gap, OVERDUE, Running, SILENCE};
use super::machine::Machine;
use super::walk::{Label, Piece, Place, Walk, Why};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};

/// Leaving idle takes no longer on hardware; in a guest it may.
const LONGEST_IDLE_EXIT: u64 = 2_000_000;

/// A worse task, or none, has the CPU.
pub(super) fn low(walk: &mut Walk, piece: &Piece, place: Place, task: Option<Running>) {
    let label = if place.early { early(walk, piece, place, task) } else { late(walk, piece, place, task) };
    match label.class {
        // It has the CPU by the scheduler's choice, and for a time by the clock: no stall made that longer.
        Class::FairServer | Class::RtThrottling => ran(walk, piece, place, label),
        _ => without_stalls(walk, piece, place, label),
    }
}

/// Something that ran to its end. If the CPU was silent for long in the middle of it, a hypervisor or firmware may have stopped
/// it there: likely for what is `brief` otherwise, such as the timer's interrupt, and where steal is known.
pub(super) fn whole(walk: &mut Walk, piece: &Piece, place: Place, label: Label, brief: bool) {
    let cpu = walk.machine.cpu(place.cpu);
    let silent = |gap: &Gap| gap.to.min(piece.to).saturating_sub(gap.from.max(piece.from)) >= piece.ns() / 5 * 4;
    let stopped = piece.ns() >= SILENCE && cpu.is_some_and(|cpu| cpu.gaps.iter().rev().any(silent));
    let label = match (stopped, walk.facts.steal_rose) {
        (false, _) => label,
        (true, Some(true)) => Label::new(Class::Steal, Medium, Why::SilentInside),
        (true, _) if brief => Label { confidence: Medium, why: Why::SilentInside, ..label },
        (true, _) => label,
    };
    without_stalls(walk, piece, place, label);
}

/// Adds a piece under `label`, but for the time in which the whole machine stood still.
pub(super) fn without_stalls(walk: &mut Walk, piece: &Piece, place: Place, label: Label) {
    let mut rest = piece.ns();
    walk.draw((place.cpu, piece.doing), (piece.from, piece.to), label.class);
    if rest >= OVERDUE {
        for (from, to) in stalls(walk.machine, place, piece.from, piece.to, &mut walk.steps) {
            let ns = (to - from).min(rest);
            rest -= ns;
            walk.draw((place.cpu, piece.doing), (from, to), Class::MachineStall);
            walk.tally.add(Label::new(Class::MachineStall, Medium, Why::AllSilent), ns);
        }
    }
    walk.tally.add(label, rest);
}

/// Adds a piece of a task that ran by its priority. It keeps time in which the whole machine stood still, since it would
/// have run then too, but is less sure of it.
pub(super) fn ran(walk: &mut Walk, piece: &Piece, place: Place, label: Label) {
    let mut rest = piece.ns();
    walk.draw((place.cpu, piece.doing), (piece.from, piece.to), label.class);
    if rest >= OVERDUE && label.confidence > Medium {
        for (from, to) in stalls(walk.machine, place, piece.from, piece.to, &mut walk.steps) {
            let ns = (to - from).min(rest);
            rest -= ns;
            walk.tally.add(Label { confidence: Medium, ..label }, ns);
        }
    }
    walk.tally.add(label, rest);
}

/// Before sched_waking: where was the interrupt?
fn early(walk: &Walk, piece: &Piece, place: Place, task: Option<Running>) -> Label {
    if walk.window.waking.t1.is_some_and(|t1| t1 <= piece.from) {
        return Label::new(Class::Softirq, Medium, Why::Pending);
    }
    let Some(task) = task else {
        let sure = if piece.ns() <= LONGEST_IDLE_EXIT { Medium } else { Suspected };
        return Label::new(Class::IdleExit, sure, Why::Idle);
    };
    if piece.irqs_off {
        return Label::new(Class::IrqsDisabled, High, Why::OffEvents).of(task);
    }
    if let Some(label) = stolen(walk, piece, place) {
        return label;
    }
    let ran = charged(walk, piece, place).is_some_and(|(wall, runtime)| runtime >= wall / 5 * 4);
    match ran && others_ran(walk.machine, place.cpu, piece) {
        true => Label::new(Class::IrqsDisabled, Medium, Why::LateOthersRan).of(task),
        // The host of a guest, or firmware, looks the same: whoever happened to be current is not named.
        false => Label::new(Class::IrqsDisabled, Suspected, Why::Late),
    }
}

/// The time of the charge that covers a piece, and the CPU time charged, ns.
fn charged(walk: &Walk, piece: &Piece, place: Place) -> Option<(u64, u64)> {
    let charges = walk.machine.cpu(place.cpu)?.charges.iter().rev();
    let charge = charges.into_iter().find(|g| g.from <= piece.from && g.to >= piece.to)?;
    Some((charge.to - charge.from, charge.runtime))
}

/// Much less CPU time was charged than passed: the hypervisor ran something else.
pub(super) fn stolen(walk: &Walk, piece: &Piece, place: Place) -> Option<Label> {
    let (wall, runtime) = charged(walk, piece, place)?;
    let short = wall.saturating_sub(runtime) >= (piece.ns() / 2).max(OVERDUE / 2);
    let sure = if walk.facts.steal_rose == Some(true) { High } else { Medium };
    short.then(|| Label::new(Class::Steal, sure, Why::RuntimeShort))
}

/// After sched_waking: why was it not scheduled?
fn late(walk: &Walk, piece: &Piece, place: Place, task: Option<Running>) -> Label {
    let waking = &walk.window.waking;
    if waking.moved.is_some_and(|moved| moved <= piece.from) {
        return Label::new(Class::Migration, High, Why::Moved);
    }
    let ipis = walk.machine.cpu(place.cpu).map(|c| &c.ipis);
    let on_its_way = |(sent, arrived): &&(u64, u64)| *sent <= piece.from && *arrived >= piece.to && *sent >= waking.t2;
    if task.is_some() && ipis.is_some_and(|ipis| ipis.iter().rev().find(on_its_way).is_some()) {
        return Label::new(Class::Migration, High, Why::Ipi);
    }
    if let Some(label) = place.passed_over {
        return match task {
            Some(task) => label.of(task),
            None => label,
        };
    }
    let Some(task) = task else {
        let sure = if piece.ns() <= LONGEST_IDLE_EXIT { Medium } else { Suspected };
        return Label::new(Class::IdleExit, sure, Why::Idle);
    };
    if carrier::sends(walk, task) {
        // Its call is not over, and what it does there is the way to the victim.
        return Label::new(Class::Waker, Medium, Why::Waking).of(task);
    }
    let label = |sure, why| Label::new(Class::PreemptionDisabled, sure, why).of(task);
    match piece {
        Piece { preempt_off: true, .. } => label(High, Why::OffEvents),
        Piece { resched: Some(true), .. } | Piece { resched_after: Some(true), .. } => label(Medium, Why::NeedResched),
        _ => label(Suspected, Why::NoFlags),
    }
}

/// When every CPU was silent although timers were due.
fn stalls(machine: &Machine, place: Place, from: u64, to: u64, steps: &mut u64) -> Vec<(u64, u64)> {
    let Some(own) = machine.cpu(place.cpu) else { return Vec::new() };
    let mut found = Vec::new();
    for gap in own.gaps.iter().rev().take_while(|gap| gap.to > from).filter(|gap| gap.from < to) {
        let span = (gap.from.max(from), gap.to.min(to));
        if (gap.overdue || place.early) && span.1.saturating_sub(span.0) >= OVERDUE {
            found.extend(stall(machine, place.cpu, span, steps));
        }
    }
    found
}

/// The part of a silence of one CPU in which all the others were silent too, and one of them should not have been.
fn stall(machine: &Machine, cpu: u32, span: (u64, u64), steps: &mut u64) -> Option<(u64, u64)> {
    let (mut from, mut to) = span;
    let mut overdue = false;
    for (_, other) in machine.cpus().filter(|(n, _)| *n != cpu) {
        *steps += 1;
        let overlap = |gap: &Gap| gap.to.min(span.1).saturating_sub(gap.from.max(span.0));
        let now = other.silence(machine.now);
        let recent = other.gaps.iter().rev().take_while(|gap| gap.to > span.0).copied();
        let gap = recent.chain(now).max_by_key(overlap).filter(|gap| overlap(gap) > 0)?;
        (from, to) = (from.max(gap.from), to.min(gap.to));
        overdue |= gap.overdue;
    }
    let silent = to.checked_sub(from).filter(|ns| overdue && *ns >= OVERDUE)?;
    // CPUs come back one after the other: what is left of such a silence belongs to it.
    let whole = silent >= (span.1 - span.0) / 5 * 4;
    Some(if whole { span } else { (from, to) })
}

/// Another CPU had events meanwhile.
fn others_ran(machine: &Machine, cpu: u32, piece: &Piece) -> bool {
    let covers = |gap: &Gap| gap.from <= piece.from && gap.to >= piece.to;
    machine.cpus().filter(|(n, _)| *n != cpu).any(|(_, other)| {
        let silent = other.gaps.iter().rev().any(covers) || other.silence(machine.now).as_ref().is_some_and(covers);
        !silent && piece.ns() >= SILENCE && other.last.is_some_and(|last| last >= piece.from)
    })
}
