use super::takes::{misfit, running};
use super::{CpuPlan, Movable};
use crate::Profile;
use crate::sight::{Notes, Sight};
use punctual_units::{CpuId, CpuList};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootParameter {
    /// Parameter as written on the command line, such as `isolcpus=managed_irq,domain,3`.
    pub text: String,
    /// Why the parameter has no effect on this kernel, or may have none; `None` if it has an effect.
    pub doubt: Option<String>,
}

/// Returns the parameters to add (Documentation/admin-guide/kernel-parameters.txt); an unknown flag makes older kernels
/// ignore all of isolcpus. For each parameter that is omitted because it has no effect on this kernel, the second list
/// gives the reason.
pub(super) fn parameters(sight: &Sight, plan: &CpuPlan) -> (Vec<BootParameter>, Vec<String>) {
    let (isolated, housekeeping) = (&plan.isolated, &plan.housekeeping);
    let taken: CpuList = isolated.iter().chain(plan.siblings_off.iter()).collect();
    let flags = if is_since(sight, (5, 6)) { "managed_irq,domain," } else { "" };
    let mut wanted = vec![format!("isolcpus={flags}{taken}")];
    if is_tickless(sight.context.profile) {
        wanted.push(format!("nohz_full={taken}"));
    }
    wanted.extend([format!("rcu_nocbs={taken}"), format!("irqaffinity={housekeeping}")]);
    let (mut all, mut inert) = (Vec::new(), Vec::new());
    for text in wanted {
        match misfit(sight, &text) {
            Some(misfit) if misfit.is_certain => inert.push(format!("{text} is omitted: {}", misfit.why)),
            misfit => all.push(BootParameter { doubt: misfit.map(|misfit| misfit.why), text }),
        }
    }
    (all, inert)
}

/// Returns true if plans for this profile stop the tick. Without the tick every kernel entry is slower, so a thread
/// that shares its CPU gains nothing.
fn is_tickless(profile: Profile) -> bool {
    matches!(profile, Profile::DedicatedCore | Profile::BusyPoll | Profile::KvmHost)
}

/// Returns true if a plan for this profile proposes a kernel parameter of that name.
pub fn proposes(profile: Profile, name: &str) -> bool {
    match name {
        "isolcpus" | "rcu_nocbs" | "irqaffinity" => true,
        "nohz_full" => is_tickless(profile),
        _ => false,
    }
}

/// Returns true if the kernel's release is `wanted` or later, or is unknown.
fn is_since(sight: &Sight, wanted: (u32, u32)) -> bool {
    running(sight).is_none_or(|release| release >= wanted)
}

pub(super) fn commands(sight: &Sight, plan: &CpuPlan) -> Vec<String> {
    let (isolated, housekeeping) = (&plan.isolated, &plan.housekeeping);
    let mut commands: Vec<String> = Vec::new();
    for cpu in plan.siblings_off.iter() {
        commands.push(format!("echo 0 > /sys/devices/system/cpu/cpu{cpu}/online"));
    }
    if no_partition(sight).is_none() && isolated.minus(&plan.isolated_now) == *isolated {
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
    let file = |command: &String| command.split_whitespace().find(|word| word.starts_with('/')).map(str::to_owned);
    commands.retain(|command| {
        file(command).is_none_or(|file| punctual_machine::read_only_mount(sight.machine, &file).is_none())
    });
    commands
}

/// Explains why an isolated cpuset partition of cgroup v2 cannot keep other tasks off the CPUs without a reboot
/// (isolated partitions exist since Linux 6.1, commit f28e22441f35).
pub(super) fn no_partition(sight: &Sight) -> Option<String> {
    let controllers = sight.text("/sys/fs/cgroup/cgroup.controllers", &mut Notes::default()).unwrap_or_default();
    if !controllers.split_whitespace().any(|name| name == "cpuset") {
        return Some("an isolated cpuset partition needs the cpuset controller of cgroup v2".to_owned());
    }
    let release = sight.text("/proc/sys/kernel/osrelease", &mut Notes::default());
    punctual_machine::partition_unpins(release.ok().as_deref())
}

/// Formats CPUs as a mask: groups of 32 bits, highest first, as the kernel parses masks (lib/bitmap-str.c,
/// bitmap_parse).
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
