use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::thread::{become_thread, fifo, now, own_burst, rr, sleep_until, spin_until};
use crate::truth::Burst;
use punctual_units::Scheduling;

pub(super) fn rr99(config: &Config) -> Result<Vec<Burst>, InjectError> {
    spin(config, "higher_priority", "rogue99", rr(99)?)
}

pub(super) fn fifo99(config: &Config) -> Result<Vec<Burst>, InjectError> {
    spin(config, "higher_priority", "hog fifo-99", fifo(99)?)
}

pub(super) fn same(config: &Config) -> Result<Vec<Burst>, InjectError> {
    spin(config, "same_priority", "peer", fifo(config.priority)?)
}

pub(super) fn spin(
    config: &Config,
    class: &str,
    name: &str,
    scheduling: Scheduling,
) -> Result<Vec<Burst>, InjectError> {
    become_thread(name, config.cpu, scheduling)?;
    let burst = own_burst(class, name, scheduling, config.cpu);
    let mut bursts = Vec::with_capacity(config.bursts as usize);
    for slot in config.slots(begin()) {
        sleep_until(slot.from);
        let start_ns = now();
        let gaps = spin_until(slot.to);
        bursts.push(Burst { start_ns, end_ns: now(), earliest_ns: slot.from, gaps, ..burst.clone() });
    }
    Ok(bursts)
}
