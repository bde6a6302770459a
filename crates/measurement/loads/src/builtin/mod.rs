//! The table of loads. Each load is a module.

use crate::LoadError;
use crate::beat::Beat;
use crate::counter::Counter;
use crate::message::Unit;
use crate::settings::ChildConfig;
use punctual_units::CpuId;
use std::iter;

mod command;
mod control;
mod control_all;
mod cpu;
mod io;
mod loopback;
mod memory;
mod network;
mod scheduler;
mod timers;

pub(crate) use command::check as check_command;

pub(crate) const LOADS: [Builtin; 10] = [
    cpu::LOAD,
    memory::LOAD,
    io::LOAD,
    loopback::LOAD,
    network::LOAD,
    scheduler::LOAD,
    timers::LOAD,
    control::LOAD,
    control_all::LOAD,
    command::LOAD,
];

/// Every name that [`parse`](crate::parse) accepts, with a one-line description for `--help`.
pub const NAMES: [(&str, &str); LOADS.len() + 2] = names();

const fn names() -> [(&'static str, &'static str); LOADS.len() + 2] {
    let mut names = [("", ""); LOADS.len() + 2];
    names[0] = ("idle", "no load");
    let mut i = 0;
    while i < LOADS.len() {
        names[i + 1] = (LOADS[i].name, LOADS[i].about);
        i += 1;
    }
    names[LOADS.len() + 1] = ("all", "all loads at once, scaled down (network only with --peer)");
    names
}

pub(crate) struct Builtin {
    pub name: &'static str,
    pub about: &'static str,
    /// Process name shown in ps and traces, of which the kernel keeps 15 bytes.
    pub comm: &'static str,
    pub runs_as: RunsAs,
    /// True if the load is part of the load `all`.
    pub in_all: bool,
    /// Examines the machine. Returns the load's plan, or why it cannot run.
    pub prepare: fn(&ChildConfig) -> Result<Plan, LoadError>,
}

/// The user as whom a load runs if the caller is root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsAs {
    /// The load runs as nobody from the start.
    Nobody,
    /// The load runs as nobody, but `prepare` runs as root, to open files that only root may open.
    NobodyOncePrepared,
    /// The load runs as root, because the command is the caller's own.
    Caller,
}

impl Builtin {
    /// Returns true if the load is part of the load `all`. `network` is included only with a peer.
    pub fn is_in_all(&self, has_peer: bool) -> bool {
        self.in_all && (has_peer || self.name != network::LOAD.name)
    }

    /// Returns true for `cmd:…`, which starts other programs and must end them.
    pub fn is_command(&self) -> bool {
        self.runs_as == RunsAs::Caller
    }
}

/// Returns the default loads of `prove`: `idle`, each part of `all`, and `all`.
pub fn defaults(has_peer: bool) -> Vec<&'static str> {
    let each = LOADS.iter().filter(|load| load.is_in_all(has_peer)).map(|load| load.name);
    iter::once("idle").chain(each).chain(iter::once("all")).collect()
}

pub(crate) fn named(name: &str) -> Option<&'static Builtin> {
    const TABLE: &[Builtin] = &LOADS;
    TABLE.iter().find(|load| load.name == name)
}

/// Main function of a worker. It runs until the process ends; if it returns, the load has failed.
pub(crate) type Work = Box<dyn FnOnce(&mut Beat) -> Result<(), LoadError> + Send>;

/// Main function of a helper thread, which publishes no beats.
pub(crate) type Help = Box<dyn FnOnce() -> Result<(), LoadError> + Send>;

#[derive(Default)]
pub(crate) struct Plan {
    pub workers: Vec<(Option<CpuId>, Work)>,
    pub helpers: Vec<(Option<CpuId>, Help)>,
    /// Kinds of work that the workers count, at most [`UNITS`](crate::board::UNITS).
    pub units: Vec<Unit>,
    /// Kernel counters that must confirm the work.
    pub counters: Vec<Counter>,
    pub notes: Vec<String>,
    /// Function called before the process ends normally.
    pub at_end: Option<Box<dyn FnOnce() + Send>>,
}

impl Plan {
    pub fn new(units: Vec<Unit>, counters: Vec<Counter>) -> Plan {
        Plan { units, counters, ..Plan::default() }
    }

    pub fn worker(
        &mut self,
        cpu: Option<CpuId>,
        work: impl FnOnce(&mut Beat) -> Result<(), LoadError> + Send + 'static,
    ) {
        self.workers.push((cpu, Box::new(work)));
    }

    pub fn helper(&mut self, cpu: Option<CpuId>, help: impl FnOnce() -> Result<(), LoadError> + Send + 'static) {
        self.helpers.push((cpu, Box::new(help)));
    }
}

/// Sanitises foreign text for terminals and reports: one line without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

pub(crate) fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_here_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/builtin");
        let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        let files: BTreeSet<String> =
            files.map(|p| p.file_stem().unwrap().to_str().unwrap().into()).filter(|n| n != "mod").collect();
        let listed = LOADS.iter().map(|l| if l.is_command() { "command".into() } else { l.name.replace('-', "_") });
        assert_eq!(files, listed.collect(), "a file in src/builtin is missing from the table LOADS");
    }

    #[test]
    fn defaults_are_each_load_alone_and_all_together() {
        assert_eq!(defaults(false), ["idle", "cpu", "memory", "io", "loopback", "scheduler", "timers", "all"]);
        assert_eq!(defaults(true)[5], "network");
    }

    #[test]
    fn names_fit_the_kernel() {
        assert!(LOADS.iter().all(|l| l.comm.len() <= 15));
    }
}
