//! Delays caused by priority inversion: a thread of low priority holds a PI lock (FUTEX_LOCK_PI, futex(2)) for which a
//! thread of FIFO 90 waits, so it runs before the victim, with the priority of the waiting thread.

use crate::InjectError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::thread::{ORDINARY, SETTLING, become_thread, fifo, joined, now, own_burst, sleep_until, spin_until};
use crate::truth::Burst;
use rustix::thread::futex::{Flags, lock_pi, unlock_pi};
use std::sync::atomic::AtomicU32;

const OWNER: &str = "lock owner";

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    become_thread(OWNER, config.cpu, ORDINARY)?;
    let slots = config.slots(begin() + SETTLING);
    let lock = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(config, &slots, &lock));
        let bursts = hold(config, &slots, &lock);
        let waits = joined(waiter.join())?;
        // Until the other thread requested the lock, the owner was an ordinary thread that the victim preempts. If the
        // other thread requested it first, the owner was boosted from the start.
        let inverted = |(burst, (asked, got)): (Burst, (u64, u64))| {
            let start_ns = burst.start_ns.max(asked);
            (start_ns < burst.end_ns && got >= burst.end_ns).then_some(Burst { start_ns, ..burst })
        };
        Ok(bursts?.into_iter().zip(waits).filter_map(inverted).collect())
    })
}

fn hold(config: &Config, slots: &[Slot], lock: &AtomicU32) -> Result<Vec<Burst>, InjectError> {
    let mut bursts = Vec::new();
    for (n, slot) in slots.iter().enumerate() {
        let scheduling = if n % 2 == 0 { ORDINARY } else { fifo(10)? };
        punctual_uapi::set_scheduling(0, scheduling, false)?;
        let burst = own_burst("priority_inversion", OWNER, scheduling, config.cpu);
        sleep_until(slot.from);
        lock_pi(lock, Flags::PRIVATE, None).map_err(InjectError::at("take the lock"))?;
        let held = now();
        let gaps = spin_until(slot.to);
        let end_ns = now();
        unlock_pi(lock, Flags::PRIVATE).map_err(InjectError::at("release the lock"))?;
        bursts.push(Burst { start_ns: held, end_ns, earliest_ns: slot.from, gaps, ..burst });
    }
    Ok(bursts)
}

/// Returns the times at which the thread requested and acquired the lock.
fn wait(config: &Config, slots: &[Slot], lock: &AtomicU32) -> Result<Vec<(u64, u64)>, InjectError> {
    become_thread("lock waiter", config.other_cpu, fifo(90)?)?;
    let mut waits = Vec::with_capacity(slots.len());
    for slot in slots {
        sleep_until(slot.at(15));
        let asked = now();
        lock_pi(lock, Flags::PRIVATE, None).map_err(InjectError::at("take the lock"))?;
        waits.push((asked, now()));
        unlock_pi(lock, Flags::PRIVATE).map_err(InjectError::at("release the lock"))?;
    }
    Ok(waits)
}
