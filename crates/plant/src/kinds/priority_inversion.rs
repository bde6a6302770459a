//! A thread of low priority holds a PI lock (FUTEX_LOCK_PI, futex(2)) that one of FIFO 90 wants: it runs ahead of the
//! victim, with the other's priority.

use crate::PlantError;
use crate::child::begin;
use crate::config::{Config, Slot};
use crate::thread::{ORDINARY, become_thread, fifo, joined, now, own_burst, sleep_until, spin_until};
use crate::truth::Burst;
use rustix::thread::futex::{Flags, lock_pi, unlock_pi};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

const OWNER: &str = "lock owner";

/// The lock, and when the waiter last went for it.
#[derive(Default)]
struct Shared {
    lock: AtomicU32,
    asked: AtomicU64,
}

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, PlantError> {
    become_thread(OWNER, config.cpu, ORDINARY)?;
    let slots = config.slots(begin());
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(config, &slots, &shared));
        let bursts = hold(config, &slots, &shared);
        joined(waiter.join())?;
        bursts
    })
}

fn hold(config: &Config, slots: &[Slot], shared: &Shared) -> Result<Vec<Burst>, PlantError> {
    let mut bursts = Vec::new();
    for (n, slot) in slots.iter().enumerate() {
        let scheduling = if n % 2 == 0 { ORDINARY } else { fifo(10)? };
        punctual_uapi::set_scheduling(0, scheduling, false)?;
        let burst = own_burst("priority_inversion", OWNER, scheduling, config.cpu);
        sleep_until(slot.from);
        lock_pi(&shared.lock, Flags::PRIVATE, None).map_err(PlantError::at("take the lock"))?;
        let held = now();
        spin_until(slot.to);
        let end_ns = now();
        unlock_pi(&shared.lock, Flags::PRIVATE).map_err(PlantError::at("give the lock back"))?;
        // Before the other asked, this was an ordinary thread that the victim preempts.
        let asked = shared.asked.load(SeqCst);
        if asked >= slot.from && asked < end_ns {
            bursts.push(Burst { start_ns: held.max(asked), end_ns, earliest_ns: slot.from, ..burst });
        }
    }
    Ok(bursts)
}

fn wait(config: &Config, slots: &[Slot], shared: &Shared) -> Result<(), PlantError> {
    become_thread("lock waiter", config.other_cpu, fifo(90)?)?;
    for slot in slots {
        sleep_until(slot.at(15));
        shared.asked.store(now(), SeqCst);
        lock_pi(&shared.lock, Flags::PRIVATE, None).map_err(PlantError::at("take the lock"))?;
        unlock_pi(&shared.lock, Flags::PRIVATE).map_err(PlantError::at("give the lock back"))?;
    }
    Ok(())
}
