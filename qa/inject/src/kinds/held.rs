//! Delays that only the kernel can cause. A module produces them (qa/trials/src/sections/hold.c) and logs their times.

use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::kernel_threads::of_cpu;
use crate::thread::{ORDINARY, become_thread, own_burst, sleep_until};
use crate::truth::Burst;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};

const MODULE: &str = "/dev/hold";
const NAME: &str = "holder";

pub(super) fn irqs(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["alpha", "beta", "gamma"], config.cpu, Burst { tid: None, ..burst(config, "irqs_disabled") })
}

pub(super) fn preemption(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["delta", "epsilon"], config.cpu, burst(config, "preemption_disabled"))
}

pub(super) fn ipi(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["ipi"], config.other_cpu, of_no_thread(config, "irq", "call_function"))
}

pub(super) fn irq_work(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["work"], config.cpu, of_no_thread(config, "irq", "irq_work"))
}

pub(super) fn stopper(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let tid = of_cpu(&["migration"], config.cpu).first().map(|thread| thread.tid);
    hold(config, &["stop"], config.other_cpu, Burst { tid, ..burst(config, "higher_priority") })
}

pub(super) fn idle_state(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["state"], config.other_cpu, of_no_thread(config, "idle_exit", "in an idle state"))
}

/// Keeps the victim's CPU in the idle loop, where no trace shows what the kernel does.
pub(super) fn idle_loop(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["loop"], config.other_cpu, of_no_thread(config, "unaccounted", "the idle task was current"))
}

pub(super) fn late_ipi(config: &Config) -> Result<Vec<Burst>, InjectError> {
    hold(config, &["alpha", "beta", "gamma"], config.cpu, burst(config, "irqs_disabled"))
}

fn burst(config: &Config, class: &str) -> Burst {
    own_burst(class, NAME, ORDINARY, config.cpu)
}

fn of_no_thread(config: &Config, class: &str, what: &str) -> Burst {
    Burst { tid: None, comm: None, what: Some(what.into()), ..burst(config, class) }
}

/// Makes the module occupy the victim's CPU with each of these kinds of section in turn. The requests are written on
/// CPU `cpu`.
fn hold(config: &Config, kinds: &[&str], cpu: u32, burst: Burst) -> Result<Vec<Burst>, InjectError> {
    let mut module = match OpenOptions::new().write(true).open(MODULE) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return Err(InjectError::Impossible("the module of `cargo trials sections` is not loaded".into()));
        }
        opened => opened.map_err(InjectError::at("open /dev/hold"))?,
    };
    let log = || fs::read_to_string(MODULE).map_err(InjectError::at("read /dev/hold"));
    become_thread(NAME, cpu, ORDINARY)?;
    // Reading the log empties it.
    log()?;
    for (slot, kind) in config.slots(begin()).iter().zip(kinds.iter().cycle()) {
        sleep_until(slot.from);
        let line = format!("{kind} {} {}", (slot.to - slot.from) / 1000, config.cpu);
        module.write_all(line.as_bytes()).map_err(InjectError::at(format!("write {line} to /dev/hold")))?;
    }
    log()?.lines().map(|line| held(line, &burst)).collect()
}

/// Parses a line of the module: start and end of the write, the requested length in µs, start and end of the section,
/// and the gaps in it.
fn held(line: &str, burst: &Burst) -> Result<Burst, InjectError> {
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [earliest_ns, worst, _, start_ns, end_ns, gaps @ ..] = &numbers[..] else {
        return Err(InjectError::Child(format!("/dev/hold reports {line}")));
    };
    let gaps = gaps.chunks_exact(2).map(|gap| (gap[0], gap[1])).collect();
    let (start_ns, end_ns, earliest_ns, worst_ns) = (*start_ns, *end_ns, *earliest_ns, Some(*worst));
    Ok(Burst { start_ns, end_ns, earliest_ns, worst_ns, gaps, ..burst.clone() })
}
