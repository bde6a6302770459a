//! The kinds of delays that can be injected, one file per kind or family.

mod deadline;
mod held;
mod hog;
mod interrupts;
mod log_line;
mod migration;
mod network;
mod poll;
mod priority_inversion;
mod starved;
mod timers;
mod tracer;

use crate::InjectError;
use crate::config::Config;
use crate::truth::Burst;
use crate::victim::Manner;

#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub(crate) run: fn(&Config) -> Result<Vec<Burst>, InjectError>,
    pub(crate) victim: Manner,
}

type Run = fn(&Config) -> Result<Vec<Burst>, InjectError>;

const fn timed(name: &'static str, about: &'static str, run: Run) -> Kind {
    Kind { name, about, run, victim: Manner::Timed }
}

pub const KINDS: &[Kind] = &[
    timed("higher-priority-rr", "a thread of RR 99 spins", hog::rr99),
    timed("higher-priority-fifo", "a thread of FIFO 99 spins", hog::fifo99),
    timed("same-priority", "a thread of the victim's own priority spins", hog::same),
    timed("softirq-network", "a datagram for thousands of sockets, received on the victim's CPU", network::run),
    timed("softirq-timers", "thousands of timers at one instant, on RT in a raised ktimers thread", timers::softirq),
    timed("irq-timers", "thousands of timers at one instant, in the timer's interrupt", timers::irq),
    timed("irq-wakeups", "hundreds of threads woken by the timer's interrupt at one instant", interrupts::run),
    timed("starved", "real-time threads starve an ordinary one: fair server, or RT throttling", starved::run),
    timed(
        "priority-inversion",
        "a thread of low priority holds a lock that one of FIFO 90 wants",
        priority_inversion::run,
    ),
    timed("migration", "the victim is moved away from a hog, and waits for another one there", migration::run),
    timed("preemption-disabled", "a long poll(2) of an ordinary thread, on kernels that do not preempt it", poll::run),
    timed(
        "irqs-disabled",
        "a long line for the serial console, on kernels that print with interrupts off",
        log_line::run,
    ),
    timed("tracer-left-on", "the function tracer runs in the top instance", tracer::run),
    timed("deadline-hog", "a SCHED_DEADLINE thread spins", deadline::hog),
    Kind {
        victim: Manner::Deadline,
        ..timed(
            "deadline-peer",
            "of two SCHED_DEADLINE threads the one with the earlier deadline spins",
            deadline::peer,
        )
    },
    Kind {
        victim: Manner::Overrun,
        ..timed("deadline-budget", "a SCHED_DEADLINE thread uses more than its runtime", deadline::budget)
    },
    timed("throttled-idle", "RT throttling leaves the CPU idle, before 6.12", starved::idle),
    timed("irqs-off", "a module disables interrupts", held::irqs),
    timed("preempt-off", "a module disables preemption", held::preemption),
    timed("ipi", "a module's IPI handler spins", held::ipi),
    timed("irq-work", "a module's hard irq_work spins", held::irq_work),
    timed("stopper", "a module spins in stop_machine()", held::stopper),
    timed("idle-state", "a module delays the exit from an idle state", held::idle_state),
    timed("idle-loop", "a module makes the idle loop spin after its idle state", held::idle_loop),
    Kind {
        victim: Manner::Woken,
        ..timed("late-ipi", "another CPU wakes the victim while a module disables interrupts", held::late_ipi)
    },
];

pub(crate) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_the_table_once() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/kinds")).unwrap();
        let table = include_str!("mod.rs");
        for file in files.flatten().map(|f| f.file_name().into_string().unwrap()).filter(|f| f != "mod.rs") {
            assert!(table.contains(&format!(" {}::", file.trim_end_matches(".rs"))), "{file} is not listed");
        }
        for kind in KINDS {
            assert_eq!(named(kind.name).unwrap().about, kind.about);
        }
    }
}
