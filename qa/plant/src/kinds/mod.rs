//! The delays that can be injected, one file each or one for a family.

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

use crate::PlantError;
use crate::config::Config;
use crate::truth::Burst;

#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    pub(crate) run: fn(&Config) -> Result<Vec<Burst>, PlantError>,
}

pub const KINDS: &[Kind] = &[
    Kind { name: "higher-priority-rr", about: "a thread of RR 99 spins", run: hog::rr99 },
    Kind { name: "higher-priority-fifo", about: "a thread of FIFO 99 spins", run: hog::fifo99 },
    Kind { name: "same-priority", about: "a thread of the victim's own priority spins", run: hog::same },
    Kind {
        name: "softirq-network",
        about: "a datagram for thousands of sockets, received on the victim's CPU",
        run: network::run,
    },
    Kind {
        name: "softirq-timers",
        about: "thousands of timers at one instant, on RT in a raised ktimers thread",
        run: timers::softirq,
    },
    Kind {
        name: "irq-timers",
        about: "thousands of timers at one instant, in the timer's interrupt",
        run: timers::irq,
    },
    Kind {
        name: "irq-wakeups",
        about: "hundreds of threads woken by the timer's interrupt at one instant",
        run: interrupts::run,
    },
    Kind {
        name: "starved",
        about: "real-time threads starve an ordinary one: fair server, or RT throttling",
        run: starved::run,
    },
    Kind {
        name: "priority-inversion",
        about: "a thread of low priority holds a lock that one of FIFO 90 wants",
        run: priority_inversion::run,
    },
    Kind {
        name: "migration",
        about: "the victim is moved away from a hog, and waits for another one there",
        run: migration::run,
    },
    Kind {
        name: "preemption-disabled",
        about: "a long poll(2) of an ordinary thread, on kernels that do not preempt it",
        run: poll::run,
    },
    Kind {
        name: "irqs-disabled",
        about: "a long line for the serial console, on kernels that print with interrupts off",
        run: log_line::run,
    },
    Kind { name: "tracer-left-on", about: "the function tracer runs in the top instance", run: tracer::run },
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
            assert!(table.contains(&format!("run: {}::", file.trim_end_matches(".rs"))), "{file} is not listed");
        }
        for kind in KINDS {
            assert_eq!(named(kind.name).unwrap().about, kind.about);
        }
    }
}
