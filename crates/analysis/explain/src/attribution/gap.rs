//! Labels time in which the victim should have run, or its interrupt should have arrived, and neither happened.

use super::cpu::{Gap, IdleState, OVERDUE, Running, SILENCE, Sent};
use super::label::{Label, Ruling, Why};
use super::machine::Machine;
use super::piece::{Piece, Place};
use super::section::{Off, Section};
use super::view::View;
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};

/// Maximum time to leave idle on hardware, ns; in a guest it may be longer.
pub(super) const LONGEST_IDLE_EXIT: u64 = 2_000_000;
/// Maximum time that a CPU that is awake needs to leave the idle loop, ns.
const BRIEF: u64 = 20_000;
/// Minimum latency of an interrupt between CPUs that shows that the receiver had interrupts off, ns; usually it takes a
/// few µs.
const SLOW_IPI: u64 = 50_000;

/// Labels time in which a task of lower priority, or none, has the CPU.
pub(super) fn low(view: &View, piece: &Piece, place: Place, task: Option<Running>) -> Ruling {
    let label = if place.early { early(view, piece, place, task) } else { late(view, piece, place, task) };
    let label = named(view, piece, place, label);
    match label.class {
        // The scheduler decided this for a time measured by the clock, which a stall does not prolong.
        Class::FairServer | Class::RtThrottling | Class::DeadlineBudget => label.with_stalls(),
        _ => label.without_stalls(),
    }
}

/// Adds the name of the section, if interrupts or preemption are off.
fn named(view: &View, piece: &Piece, place: Place, label: Label) -> Label {
    let off = matches!(label.class, Class::IrqsDisabled | Class::PreemptionDisabled) && label.task.is_some();
    let section = view.section(piece, place.cpu).filter(|_| off);
    Label { at: section.map(|section| (place.cpu, section.from)), ..label }
}

/// Labels an activity that ran to its end. If the CPU was silent for long within it, a hypervisor or firmware may have
/// stopped it there. This is likely for an activity that is normally `brief`, such as a timer interrupt, and if steal
/// time increased.
pub(super) fn whole(view: &View, piece: &Piece, place: Place, label: Label, brief: bool) -> Label {
    let cpu = view.machine.cpu(place.cpu);
    let silent = |gap: &Gap| gap.to.min(piece.to).saturating_sub(gap.from.max(piece.from)) >= piece.ns() / 5 * 4;
    let stopped = piece.ns() >= SILENCE && cpu.is_some_and(|cpu| cpu.gaps.iter().rev().any(silent));
    match (stopped, view.facts.steal_rose) {
        (false, _) => label,
        (true, Some(true)) => Label::new(Class::Steal, Medium, Why::SilentInside),
        (true, _) if brief => Label { confidence: Medium, why: Why::SilentInside, ..label },
        // In a guest whose steal time is unknown, or on a machine that may be a guest.
        (true, None) if view.facts.guest != Some(false) => Label { confidence: label.confidence.min(Medium), ..label },
        (true, _) => label,
    }
}

/// Labels time before sched_waking, by what delayed the interrupt.
fn early(view: &View, piece: &Piece, place: Place, task: Option<Running>) -> Label {
    if view.window.waking.t1.is_some_and(|t1| t1 <= piece.from) {
        return Label::new(Class::Softirq, Medium, Why::Pending);
    }
    let Some(task) = task else { return leaving_idle(view, piece, place) };
    if piece.irqs_off {
        return Label::new(Class::IrqsDisabled, off_events(view), Why::OffEvents).of(task);
    }
    if view.facts.steal_rose != Some(true)
        && let Some(section) = view.section(piece, place.cpu)
    {
        match section.off {
            Off::Irqs => return Label::new(Class::IrqsDisabled, Medium, Why::OffFlags).of(task),
            // It looks the same if the host stopped the guest's CPU while interrupts were briefly off.
            Off::IrqsReleased { .. } if view.facts.guest == Some(true) && stood_before(view.machine, piece) => {}
            Off::IrqsReleased { .. } => {
                let sure = if view.facts.guest == Some(false) { Medium } else { Suspected };
                return Label::new(Class::IrqsDisabled, sure, Why::Released).of(task);
            }
            // User code cannot disable interrupts, so the CPU stalled.
            Off::User if view.facts.guest == Some(false) => {
                return Label::new(Class::MachineStall, Suspected, Why::UserCode);
            }
            Off::User => return Label::new(Class::Steal, Suspected, Why::UserCode),
            Off::Preemption | Off::Woken { .. } | Off::Unknown => {}
        }
    }
    if let Some(label) = stolen(view, piece, place) {
        return label;
    }
    let ran = charged(view, piece, place).is_some_and(|(wall, runtime)| runtime >= wall / 5 * 4);
    // The host may have run something else, which leaves no trace in the guest.
    let alone = view.facts.guest != Some(true);
    match ran && alone && others_ran(view.machine, place.cpu, piece) {
        true => Label::new(Class::IrqsDisabled, Medium, Why::LateOthersRan).of(task),
        // A host or firmware would look the same, so the task that happened to be current is not blamed.
        false => Label::new(Class::IrqsDisabled, Suspected, Why::Late),
    }
}

/// True if a CPU stalled elsewhere in the trace for at least half as long as this piece: an interrupt arrived late,
/// while user code ran.
fn stood_before(machine: &Machine, piece: &Piece) -> bool {
    let stood = |section: &Section| section.off == Off::User && section.to - section.from >= piece.ns() / 2;
    machine.cpus().any(|(_, cpu)| cpu.sections.iter().any(stood))
}

/// Returns the duration of the charge that covers a piece, and the CPU time charged, ns.
fn charged(view: &View, piece: &Piece, place: Place) -> Option<(u64, u64)> {
    let charges = view.machine.cpu(place.cpu)?.charges.iter().rev();
    let charge = charges.into_iter().find(|g| g.from <= piece.from && g.to >= piece.to)?;
    Some((charge.to - charge.from, charge.runtime))
}

/// Labels steal: far less CPU time was accounted than elapsed.
pub(super) fn stolen(view: &View, piece: &Piece, place: Place) -> Option<Label> {
    let (wall, runtime) = charged(view, piece, place)?;
    let short = wall.saturating_sub(runtime) >= (piece.ns() / 2).max(OVERDUE / 2);
    // On bare metal, the time that is not charged is that of interrupts (CONFIG_IRQ_TIME_ACCOUNTING).
    let sure = match (view.facts.guest, view.facts.steal_rose) {
        (Some(false), _) => return None,
        // Steal time is counted in steps of 10 ms for the whole trace, and interrupts may not be charged here either.
        (_, Some(true)) | (Some(true), _) => Medium,
        (None, _) => Suspected,
    };
    short.then(|| Label::new(Class::Steal, sure, Why::RuntimeShort))
}

/// Labels time after sched_waking by why the thread was not scheduled.
fn late(view: &View, piece: &Piece, place: Place, task: Option<Running>) -> Label {
    let waking = &view.window.waking;
    // A longer wait on the CPU to which the thread was moved has a cause of its own.
    if waking.moved.is_some_and(|moved| moved <= piece.from && piece.to - moved <= SLOW_IPI) {
        return Label::new(Class::Migration, Medium, Why::Moved);
    }
    let Some(task) = task else { return idle(view, piece, place) };
    if let Some(late) = late_ipi(view, piece, place.cpu) {
        let sure = if view.facts.guest == Some(true) { Suspected } else { Medium };
        return match late {
            SLOW_IPI.. => Label::new(Class::IrqsDisabled, sure, Why::Ipi).of(task),
            _ => Label::new(Class::Migration, Medium, Why::Ipi),
        };
    }
    // The fair server runs no real-time thread. Throttling of a group of tasks lets those of other groups run: they are
    // switched to, while a thread that was current already had not been chosen.
    let is_fair = view.prio(task).is_none_or(|prio| prio >= 100);
    let is_of_another_group =
        |label: Label| label.class == Class::RtThrottling && view.facts.rt_group_sched != Some(false) && piece.switched;
    match place.passed_over {
        Some(label) if label.class == Class::DeadlineBudget => return label,
        Some(label) if is_fair || is_of_another_group(label) => return label.of(task),
        _ => {}
    }
    if view.sends(task) {
        // The waker is still in its call, which is part of the wakeup.
        return Label::new(Class::Waker, Medium, Why::Waking).of(task);
    }
    if view.section(piece, place.cpu).is_some_and(|section| section.off == Off::Irqs) {
        return Label::new(Class::IrqsDisabled, Medium, Why::OffFlags).of(task);
    }
    let label = |sure, why| Label::new(Class::PreemptionDisabled, sure, why).of(task);
    if view.section(piece, place.cpu).is_some_and(|section| section.off == Off::Preemption) {
        return label(Medium, Why::Preempted);
    }
    match piece {
        _ if piece.may_be_interrupt() => Label::new(Class::Unaccounted, Medium, Why::RestOfInterrupt).of(task),
        _ if task.around => label(Suspected, Why::Around),
        Piece { preempt_off: true, .. } => label(off_events(view), Why::OffEvents),
        _ if is_way_out(view, piece) => Label::new(Class::Unaccounted, Medium, Why::WayOut).of(task),
        Piece { wanted: true, .. } | Piece { resched_after: Some(true), .. } => label(Medium, Why::NeedResched),
        _ => label(Suspected, Why::NoFlags),
    }
}

/// Confidence in a section that irq_disable or preempt_disable events show. If the trace has no events for the ends of
/// sections, the length is not known.
fn off_events(view: &View) -> Confidence {
    if view.machine.seen.on_again > 0 { High } else { Suspected }
}

/// True shortly after an interrupt, up to the switch, if there are no flags: this time belongs to the exit of the
/// interrupt, to softirqs or to the scheduler.
pub(super) fn is_way_out(view: &View, piece: &Piece) -> bool {
    let switch = piece.to >= view.window.t3;
    piece.after_interrupt && piece.resched.is_none() && piece.ns() <= BRIEF && (switch || piece.before_interrupt)
}

/// Returns the transit time, ns, of the interrupt from another CPU that ended this piece, if most of the piece was a
/// wait for it. Linux before 6.4 does not trace the sending; waking a thread of another CPU sends such an interrupt.
fn late_ipi(view: &View, piece: &Piece, cpu: u32) -> Option<u64> {
    let waking = &view.window.waking;
    let woken = (view.machine.seen.sends == 0 && waking.from_cpu != cpu).then_some(waking.t2);
    let cpu = view.machine.cpu(cpu)?;
    // Any other interrupt in between would show that interrupts were on, and would end the piece.
    let arrivals = cpu.arrivals.iter().rev().take_while(|t| **t >= piece.to);
    let arrived = *arrivals.filter(|t| **t - piece.to <= SLOW_IPI).last()?;
    let of_it = |(sent, at): &&(Sent, u64)| *at == arrived && sent.t >= waking.t2;
    let sent = woken.or_else(|| cpu.ipis.iter().rev().find(of_it).map(|(sent, _)| sent.t))?;
    let most = sent >= piece.from && piece.to.saturating_sub(sent) * 5 >= piece.ns() * 4;
    most.then(|| arrived - sent)
}

/// Labels time in which the idle task stays current although the thread is runnable. The fair server never chooses the
/// idle task; RT throttling does.
fn idle(view: &View, piece: &Piece, place: Place) -> Label {
    match (piece.ns(), place.passed_over) {
        (_, Some(label)) if label.class == Class::DeadlineBudget => label,
        (LONGEST_IDLE_EXIT.., Some(label)) if label.class == Class::RtThrottling => {
            Label::new(Class::RtThrottling, label.confidence.min(Medium), Why::IdleRunnable)
        }
        (LONGEST_IDLE_EXIT.., Some(_)) => Label::new(Class::RtThrottling, Suspected, Why::IdleRunnable),
        _ => leaving_idle(view, piece, place),
    }
}

/// Labels time in which the idle task is current: in an idle state, on the way out of its loop, or (without cpu_idle)
/// one of the two.
fn leaving_idle(view: &View, piece: &Piece, place: Place) -> Label {
    let long = piece.ns() > LONGEST_IDLE_EXIT;
    // A CPU that woke the thread itself was not in an idle state.
    let woken_here = !place.early && view.window.waking.from_cpu == place.cpu;
    match piece.idle {
        _ if woken_here => Label::new(Class::Unaccounted, Medium, Why::IdleWoken),
        IdleState::In(_) if long => Label::new(Class::IdleExit, Suspected, Why::IdleState),
        IdleState::In(_) => Label::new(Class::IdleExit, Medium, Why::IdleState),
        IdleState::Awake | IdleState::Polling if piece.ns() >= BRIEF => {
            Label::new(Class::Unaccounted, Medium, Why::IdleAwake)
        }
        IdleState::Awake | IdleState::Polling => Label::new(Class::IdleExit, Medium, Why::Idle),
        // Without cpu_idle events, nothing shows that the CPU was in an idle state.
        IdleState::Unknown => Label::new(Class::IdleExit, Suspected, Why::Idle),
    }
}

/// True if another CPU had events during the piece.
fn others_ran(machine: &Machine, cpu: u32, piece: &Piece) -> bool {
    let covers = |gap: &Gap| gap.from <= piece.from && gap.to >= piece.to;
    machine.cpus().filter(|(n, _)| *n != cpu).any(|(_, other)| {
        let silent = other.gaps.iter().rev().any(covers) || other.silence(machine.now).as_ref().is_some_and(covers);
        !silent && piece.ns() >= SILENCE && other.last.is_some_and(|last| last >= piece.from)
    })
}
