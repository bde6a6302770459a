//! Computes the states of the late thread.

use super::super::cpu::Doing;
use super::super::machine::Machine;
use super::super::piece::pieces;
use super::Pending;
use punctual_model::{StateSpan, ThreadState};

/// Maximum number of times the thread may leave the CPU in one picture, which ends a millisecond after T3 at most.
pub(super) const OUTS: usize = 64;

/// Returns the thread's states from `start` to `end`, contiguously.
pub(super) fn of(machine: &Machine, pending: &Pending, (start, end): (u64, u64)) -> Vec<StateSpan> {
    let window = &pending.window;
    let (t0, t2, t3) = (window.waking.t0, window.waking.t2, window.t3);
    let mut states = Vec::new();
    for (from, to) in running(machine, window.tid, (start, t0)) {
        gap(&mut states, start, from, ThreadState::Sleeping);
        push(&mut states, from, to, ThreadState::Running);
    }
    gap(&mut states, start, t0, ThreadState::Sleeping);
    push(&mut states, t0, t2, ThreadState::Due);
    push(&mut states, t2, t3, ThreadState::Runnable);
    for (from, to) in running(machine, window.tid, (t3, end)) {
        gap(&mut states, t3, from, out(pending, from));
        push(&mut states, from, to, ThreadState::Running);
    }
    gap(&mut states, t3, end, out(pending, end));
    states
}

/// Returns the thread's state before `at`, when it did not run, derived from how it last left the CPU.
fn out(pending: &Pending, at: u64) -> ThreadState {
    let last = pending.outs.iter().rev().find(|(t, _)| *t < at);
    if last.is_some_and(|(_, runnable)| *runnable) { ThreadState::Runnable } else { ThreadState::Sleeping }
}

/// Fills the gap up to `to` with this state.
fn gap(states: &mut Vec<StateSpan>, start: u64, to: u64, state: ThreadState) {
    let from = states.last().map_or(start, |last| last.end_ns);
    push(states, from, to, state);
}

fn push(states: &mut Vec<StateSpan>, start_ns: u64, end_ns: u64, state: ThreadState) {
    match states.last_mut() {
        _ if end_ns <= start_ns => {}
        Some(last) if last.state == state && last.end_ns == start_ns => last.end_ns = end_ns,
        _ => states.push(StateSpan { start_ns, end_ns, state }),
    }
}

/// Returns the times in which the thread had a CPU, including interrupts on top of it, ordered by start; at most
/// [`OUTS`].
fn running(machine: &Machine, tid: i32, (start, end): (u64, u64)) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (_, cpu) in machine.cpus() {
        let mut runs = false;
        for piece in pieces(Some(cpu), start, end) {
            runs = match piece.doing {
                Doing::Task(task) | Doing::Soft(_, Some(task)) => task.tid == tid,
                Doing::Hard(_) | Doing::Nmi | Doing::Soft(_, None) => runs,
                Doing::Idle | Doing::Unknown => false,
            };
            let room = found.len() < OUTS;
            match found.last_mut() {
                Some(last) if runs && last.1 == piece.from => last.1 = piece.to,
                _ if runs && room => found.push((piece.from, piece.to)),
                _ => {}
            }
        }
    }
    found.sort_unstable();
    // A thread cannot be on two CPUs. If the trace contradicts that, no time counts twice.
    let mut at = start;
    found.retain_mut(|(from, to)| {
        *from = (*from).max(at);
        at = at.max(*to);
        *from < *to
    });
    found
}
