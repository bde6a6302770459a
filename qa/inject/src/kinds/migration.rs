//! Delays caused by migration: the victim waits for another thread, is moved to another CPU (sched_setaffinity(2)), and
//! waits there for another thread. The move itself is short; the injection tests whether time is attributed to the
//! thread on the CPU on which the victim waited.

use crate::InjectError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::thread::{SETTLING, become_thread, fifo, joined, now, own_burst, pin, sleep_until, spin_until};
use crate::truth::Burst;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let slots = config.slots(begin() + SETTLING);
    std::thread::scope(|scope| {
        let hog = scope.spawn(|| hog(config, &slots));
        let mover = scope.spawn(|| moves(config, &slots));
        let (mut bursts, moves) = (joined(hog.join())?, joined(mover.join())?);
        for (burst, (moved, _)) in bursts.iter_mut().zip(&moves) {
            burst.end_ns = burst.end_ns.min(moved.0);
            burst.worst_ns = Some(moved.1);
        }
        bursts.extend(moves.into_iter().map(|(_, burst)| burst));
        Ok(bursts)
    })
}

/// Runs a thread on the victim's CPU for longer than the victim stays there.
fn hog(config: &Config, slots: &[Slot]) -> Result<Vec<Burst>, InjectError> {
    const NAME: &str = "hog";
    become_thread(NAME, config.cpu, fifo(99)?)?;
    let burst = own_burst("higher_priority", NAME, fifo(99)?, config.cpu);
    let mut bursts = Vec::new();
    for slot in slots {
        sleep_until(slot.from);
        let start_ns = now();
        let gaps = spin_until(slot.to);
        bursts.push(Burst { start_ns, end_ns: now(), earliest_ns: slot.from, gaps, ..burst.clone() });
    }
    Ok(bursts)
}

/// Times before and after the system call, and the wait on the new CPU.
type Move = ((u64, u64), Burst);

/// Moves the victim, makes it wait on its new CPU, and moves it back.
fn moves(config: &Config, slots: &[Slot]) -> Result<Vec<Move>, InjectError> {
    const NAME: &str = "mover";
    become_thread(NAME, config.other_cpu, fifo(95)?)?;
    let burst = own_burst("higher_priority", NAME, fifo(95)?, config.other_cpu);
    let mut moves = Vec::new();
    for (n, slot) in slots.iter().enumerate() {
        // In every second move there is hardly any wait on the new CPU.
        let last = if n % 2 == 0 { slot.at(100) } else { 0 };
        sleep_until(slot.at(60));
        let before = now();
        pin(config.victim_tid, config.other_cpu)?;
        let start_ns = now();
        let gaps = spin_until(last);
        moves.push(((before, start_ns), Burst { start_ns, end_ns: now(), earliest_ns: before, gaps, ..burst.clone() }));
        sleep_until(slot.to + config.every_ns / 4);
        pin(config.victim_tid, config.cpu)?;
    }
    Ok(moves)
}
