//! Detects the fair server and real-time throttling, with which the scheduler itself passes over a real-time thread.

use super::Facts;
use super::cpu::Doing;
use super::gap::LONGEST_IDLE_EXIT;
use super::label::{Label, Why};
use super::machine::Seen;
use super::piece::Piece;
use super::view::View;
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};

/// Minimum time for which a thread is passed over, ns; shorter times occur on the way through the scheduler.
const LEAST: u64 = 500_000;
/// Minimum run of a lower-priority task, through an interrupt, if the trace has no flags, ns.
const LEAST_WITHOUT_FLAGS: u64 = 3_000_000;

/// Returns the label of lower-priority pieces if the scheduler passed the victim over while it waited on one CPU; the
/// pieces are those of that CPU.
///
/// The proof is that the scheduler made a choice: need-resched is no longer set at a later interrupt, or the scheduler
/// switched to another lower-priority task. If preemption was merely off, need-resched remains set
/// (kernel/sched/core.c, `__schedule`).
pub(super) fn passed_over(view: &View, pieces: &[Piece]) -> Option<Label> {
    let waking = &view.window.waking;
    let own = view.window.prio.filter(|prio| *prio < 100)?;
    // Before sched_wakeup the thread may not be on the runqueue yet.
    let queued = waking.queued.unwrap_or(waking.t2);
    let low = || pieces.iter().filter(|piece| piece.to > queued && view.is_low(piece.doing));
    let total: u64 = low().map(Piece::ns).sum();
    if total < LEAST || own < 0 {
        return None;
    }
    let chosen = low().any(|piece| {
        let around = matches!(piece.doing, Doing::Task(task) if task.around);
        let settled = piece.from >= queued && piece.ns() >= LEAST / 10 && !around;
        settled && (piece.resched_after == Some(false) || piece.switched)
    });
    let flags = low().any(|piece| piece.resched.is_some() || piece.resched_after.is_some());
    let ticking = low().count() >= 2 && total >= LEAST_WITHOUT_FLAGS;
    // The fair server never leaves the CPU idle. Since Linux 6.12, only kernels with CONFIG_RT_GROUP_SCHED throttle.
    let idle = low().any(|piece| piece.doing == Doing::Idle && piece.ns() >= LONGEST_IDLE_EXIT);
    let may_throttle = view.facts.kernel.is_none() || view.facts.rt_group_sched == Some(true);
    let (class, known) = match which(&view.machine.seen, view.facts) {
        (Class::FairServer, false) if idle && may_throttle => (Class::RtThrottling, false),
        found => found,
    };
    match (chosen, flags) {
        // The thread could not have used up its budget.
        (true, _) if class == Class::RtThrottling && little_used(view, pieces) => None,
        (true, _) if agrees(class, view.facts) && waking.queued.is_some() => {
            Some(Label::new(class, High, Why::NotPicked))
        }
        (true, _) => Some(Label::new(class, if known { Medium } else { Suspected }, Why::NotPicked)),
        (false, false) if ticking => Some(Label::new(class, Suspected, Why::TicksOnly)),
        _ => None,
    }
}

/// True if real-time threads ran less than a third of the preceding second, so that throttling (sched_rt_runtime_us) is
/// not the explanation. `false` if they ran more, or the trace does not go back so far.
fn little_used(view: &View, pieces: &[Piece]) -> bool {
    const PERIOD: u64 = 1_000_000_000;
    let Some((end, cpu)) = pieces.first().map(|piece| piece.from).zip(view.machine.cpu(view.window.cpu)) else {
        return false;
    };
    let Some(start) =
        end.checked_sub(PERIOD).filter(|start| cpu.history.front().is_some_and(|first| first.t <= *start))
    else {
        return false;
    };
    let real_time = |doing: Doing| match doing {
        Doing::Unknown => true,
        Doing::Task(task) | Doing::Soft(_, Some(task)) => view.prio(task).is_none_or(|prio| prio < 100),
        Doing::Idle | Doing::Hard(_) | Doing::Soft(_, None) | Doing::Nmi => false,
    };
    let ran = super::piece::pieces(Some(cpu), start, end).into_iter().filter(|piece| real_time(piece.doing));
    ran.map(|piece| piece.ns()).sum::<u64>() < PERIOD / 3
}

fn agrees(class: Class, facts: &Facts) -> bool {
    match class {
        Class::FairServer => facts.fair_server == Some(true),
        _ => facts.throttled == Some(true),
    }
}

/// Returns fair server or throttling, and whether that is certain. 6.12 replaced throttling by the fair server, except
/// in kernels with CONFIG_RT_GROUP_SCHED (5f6bd380c7bd), which may have both.
fn which(seen: &Seen, facts: &Facts) -> (Class, bool) {
    let release = facts.kernel.as_deref().and_then(version);
    let struck = facts.throttled == Some(true);
    match release {
        Some(release) if release < (6, 12) => (Class::RtThrottling, true),
        // The kernel itself reported throttling.
        _ if struck && facts.rt_group_sched != Some(false) => (Class::RtThrottling, true),
        Some(_) => (
            Class::FairServer,
            facts.rt_group_sched == Some(false) || facts.fair_server == Some(true) || seen.deadline_timer,
        ),
        None if facts.fair_server == Some(true) => (Class::FairServer, true),
        None if seen.rt_period_timer || seen.old_tick => (Class::RtThrottling, true),
        None => (Class::FairServer, seen.new_tick || seen.deadline_timer),
    }
}

/// Parses `6.12.95+deb12-rt-amd64` to (6, 12).
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}
