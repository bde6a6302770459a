use super::{CpuPlan, Movable};
use crate::Profile;
use crate::sight::{Notes, Sight, config_gap};
use punctual_units::{CpuId, CpuList};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootParameter {
    /// `isolcpus=managed_irq,domain,3`.
    pub text: String,
    /// Why it has or may have no effect on this kernel.
    pub doubt: Option<String>,
}

/// Documentation/admin-guide/kernel-parameters.txt; an unknown flag makes older kernels ignore all of isolcpus.
pub(super) fn parameters(sight: &Sight, plan: &CpuPlan) -> Vec<BootParameter> {
    let (isolated, housekeeping) = (&plan.isolated, &plan.housekeeping);
    let taken: CpuList = isolated.iter().chain(plan.siblings_off.iter()).collect();
    let flags = if is_since(sight, (5, 6)) { "managed_irq,domain," } else { "" };
    let plain = |text: String| BootParameter { text, doubt: None };
    let needs = |text: String, option: &str| BootParameter { text, doubt: doubt(sight, option) };
    let isolcpus = format!("isolcpus={flags}{taken}");
    // Before 4.15 CPU_ISOLATION was not optional.
    let mut all = vec![if is_since(sight, (4, 15)) { needs(isolcpus, "CPU_ISOLATION") } else { plain(isolcpus) }];
    // Without the tick every kernel entry costs more, which pays only where a thread has a CPU to itself.
    if matches!(sight.context.profile, Profile::DedicatedCore | Profile::BusyPoll | Profile::KvmHost) {
        all.push(needs(format!("nohz_full={taken}"), "NO_HZ_FULL"));
    }
    all.push(needs(format!("rcu_nocbs={taken}"), "RCU_NOCB_CPU"));
    all.push(plain(format!("irqaffinity={housekeeping}")));
    all
}

fn doubt(sight: &Sight, option: &str) -> Option<String> {
    match sight.config() {
        Ok(config) if config.is_on(option) => None,
        Ok(_) => Some(format!("no effect: this kernel is built without CONFIG_{option}")),
        Err(error) => {
            Some(format!("not known to have an effect (needs CONFIG_{option}): {}", config_gap(error).describe()))
        }
    }
}

/// Assumes a recent kernel if the release is unknown.
fn is_since(sight: &Sight, wanted: (u32, u32)) -> bool {
    let Ok(release) = sight.text("/proc/sys/kernel/osrelease", &mut Notes::default()) else { return true };
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= wanted,
        _ => true,
    }
}

pub(super) fn commands(sight: &Sight, plan: &CpuPlan) -> Vec<String> {
    let (isolated, housekeeping) = (&plan.isolated, &plan.housekeeping);
    let mut commands: Vec<String> = Vec::new();
    for cpu in plan.siblings_off.iter() {
        commands.push(format!("echo 0 > /sys/devices/system/cpu/cpu{cpu}/online"));
    }
    if has_partitions(sight) && isolated.minus(&plan.isolated_now) == *isolated {
        commands.push("echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control".to_owned());
        commands.push("mkdir -p /sys/fs/cgroup/punctual-rt".to_owned());
        commands.push(format!("echo {isolated} > /sys/fs/cgroup/punctual-rt/cpuset.cpus"));
        commands.push("echo isolated > /sys/fs/cgroup/punctual-rt/cpuset.cpus.partition".to_owned());
    }
    for irq in plan.interrupts.iter().filter(|irq| irq.movable == Movable::Yes) {
        commands.push(format!("echo {housekeeping} > /proc/irq/{}/smp_affinity_list  # {}", irq.irq, irq.device));
    }
    let mask = mask(housekeeping);
    commands.push(format!("echo {mask} > /proc/irq/default_smp_affinity"));
    commands.push(format!("echo {mask} > /sys/devices/virtual/workqueue/cpumask"));
    commands
}

/// Isolated cpuset partitions of cgroup v2 keep tasks off without a reboot, since Linux 6.1 (commit f28e22441f35).
pub(super) fn has_partitions(sight: &Sight) -> bool {
    let controllers = sight.text("/sys/fs/cgroup/cgroup.controllers", &mut Notes::default()).unwrap_or_default();
    controllers.split_whitespace().any(|name| name == "cpuset") && is_since(sight, (6, 1))
}

/// Groups of 32 bits, highest first, as the kernel parses masks (lib/bitmap-str.c, bitmap_parse).
fn mask(cpus: &CpuList) -> String {
    let last = cpus.iter().last().map_or(0, |CpuId(cpu)| cpu);
    let group =
        |at: u32| (0..32).filter(|bit| cpus.contains(CpuId(at * 32 + bit))).fold(0_u32, |bits, bit| bits | 1 << bit);
    let groups: Vec<u32> = (0..=last / 32).rev().map(group).collect();
    let (first, rest) = groups.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
    rest.iter().fold(format!("{first:x}"), |text, group| format!("{text},{group:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_the_kernels() {
        for (cpus, wanted) in
            [("0-1", "3"), ("0,31", "80000001"), ("0,32", "1,00000001"), ("63-64", "1,80000000,00000000")]
        {
            assert_eq!(mask(&cpus.parse().unwrap()), wanted);
            assert_eq!(crate::sight::mask(wanted).unwrap().to_string(), cpus.parse::<CpuList>().unwrap().to_string());
        }
    }
}
