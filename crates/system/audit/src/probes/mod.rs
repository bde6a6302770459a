//! Readings that a rule file cannot express, one file per subject. A probe reads; the rule judges.

mod application;
mod boot;
pub(crate) mod cmdline;
mod config_txt;
mod console;
mod consoles;
mod cpu_lists;
mod cpuidle;
mod debug;
mod fair_server;
mod governor;
mod idle_injection;
mod idle_words;
mod irq;
mod isolation;
pub(crate) mod kernel;
mod limits;
mod memory;
mod network;
mod offload;
mod open_lists;
mod overlays;
mod partitions;
mod platform;
mod ranges;
mod raspberry;
mod rcu;
mod rt_group;
mod smt;
mod switches;
mod system;
mod task;

pub(crate) use irq::planned_threads;
pub(crate) use task::comes_first_there;

use crate::reading::Reading;
use crate::sight::{Notes, Sight};
use std::collections::BTreeMap;

pub(crate) type With = BTreeMap<String, i64>;

pub(crate) struct Probe {
    pub name: &'static str,
    /// Names of the probe's numeric arguments, sorted.
    pub with: &'static [&'static str],
    /// All paths that the probe may read, with `*` for variable parts.
    pub reads: &'static [&'static [&'static str]],
    pub run: fn(&Sight, &With, &mut Notes) -> Reading,
}

pub(crate) const CONFIG_READS: &[&str] = &[
    "/proc/sys/kernel/osrelease",
    "/proc/config.gz",
    "/boot/config-*",
    "/lib/modules/*/config",
    "/usr/lib/modules/*/config",
    "/lib/modules/*/build/.config",
];

pub(crate) const CPU_SET_READS: &[&str] = &[
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/*",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/cpuset.cpus.effective",
    "/sys/fs/cgroup/*/*/cpuset.cpus.effective",
];

pub(crate) const UNIT_READS: &[&str] = &[
    "/sys/fs/cgroup/system.slice",
    "/sys/fs/cgroup/systemd/system.slice",
    "/etc/systemd/system/*",
    "/usr/lib/systemd/system/*",
    "/lib/systemd/system/*",
];

pub(crate) fn find(name: &str) -> Option<&'static Probe> {
    PROBES.iter().copied().flatten().find(|probe| probe.name == name)
}

const PROBES: &[&[Probe]] = &[
    application::PROBES,
    boot::PROBES,
    cmdline::PROBES,
    config_txt::PROBES,
    console::PROBES,
    cpu_lists::PROBES,
    consoles::PROBES,
    cpuidle::PROBES,
    debug::PROBES,
    fair_server::PROBES,
    governor::PROBES,
    idle_injection::PROBES,
    idle_words::PROBES,
    irq::PROBES,
    isolation::PROBES,
    kernel::PROBES,
    limits::PROBES,
    memory::PROBES,
    network::PROBES,
    offload::PROBES,
    overlays::PROBES,
    partitions::PROBES,
    platform::PROBES,
    ranges::PROBES,
    raspberry::PROBES,
    rcu::PROBES,
    rt_group::PROBES,
    smt::PROBES,
    switches::PROBES,
    system::PROBES,
    task::PROBES,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_numbers_sorted() {
        let mut names: Vec<&str> = PROBES.iter().copied().flatten().map(|probe| probe.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(PROBES.iter().copied().flatten().all(|probe| probe.with.is_sorted()));
    }
}
