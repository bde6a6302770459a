use super::text;
use crate::text::{field_values, numbered_name};
use crate::{Listing, Machine};
use punctual_units::CpuList;

/// Part numbers of the cores designed by Arm, as in arch/arm64/include/asm/cputype.h.
const ARM_PARTS: &[(u32, &str)] = &[
    (0xb76, "ARM1176"),
    (0xc05, "Cortex-A5"),
    (0xc07, "Cortex-A7"),
    (0xc08, "Cortex-A8"),
    (0xc09, "Cortex-A9"),
    (0xc0f, "Cortex-A15"),
    (0xd03, "Cortex-A53"),
    (0xd04, "Cortex-A35"),
    (0xd05, "Cortex-A55"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd09, "Cortex-A73"),
    (0xd0a, "Cortex-A75"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd0d, "Cortex-A77"),
    (0xd0e, "Cortex-A76AE"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd42, "Cortex-A78AE"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4f, "Neoverse-V2"),
];

/// Reads /proc/cpuinfo: `model name` on x86 and 32-bit Arm, `uarch` or `isa` on RISC-V, `cpu` on PowerPC. 64-bit Arm
/// lists part numbers, several on a heterogeneous processor.
pub(super) fn model(cpuinfo: &str) -> Option<String> {
    let parts = arm_parts(cpuinfo);
    if !parts.is_empty() {
        return Some(parts.join(" + "));
    }
    ["model name", "uarch", "cpu", "isa"]
        .iter()
        .find_map(|name| field_values(cpuinfo, name).find(|value| !value.is_empty()))
        .map(str::to_owned)
}

fn arm_parts(cpuinfo: &str) -> Vec<String> {
    let hex = |value: &str| u32::from_str_radix(value.strip_prefix("0x")?, 16).ok();
    let makers = field_values(cpuinfo, "CPU implementer").filter_map(hex);
    let mut names = Vec::new();
    for (maker, part) in makers.zip(field_values(cpuinfo, "CPU part").filter_map(hex)) {
        let known = ARM_PARTS.iter().find(|(number, _)| maker == 0x41 && *number == part);
        let name =
            known.map_or_else(|| format!("Arm maker {maker:#x} part {part:#x}"), |(_, name)| format!("ARM {name}"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Reads /sys/devices/system/cpu/smt/active, else (before 5.17 on processors other than x86, PowerPC and s390) the
/// sibling lists of all online CPUs.
pub(super) fn smt_active(machine: &dyn Machine, online: Option<&CpuList>) -> Option<bool> {
    match text(machine, "/sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => return Some(true),
        Some("0") => return Some(false),
        _ => {}
    }
    let mut shared = false;
    for cpu in online?.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings: CpuList = text(machine, &path)?.parse().ok()?;
        if siblings.is_empty() {
            return None;
        }
        shared |= siblings.len() > 1;
    }
    Some(shared)
}

/// Returns one governor per cpufreq policy, by policy number; empty if the kernel does not scale frequencies.
pub(super) fn governors(machine: &dyn Machine) -> Option<Vec<String>> {
    const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
    let names = match machine.list(CPUFREQ) {
        Listing::Known(names) => names,
        Listing::Absent => return machine.list("/sys/devices/system/cpu").names().map(|_| Vec::new()),
        Listing::Denied | Listing::Failed(_) | Listing::NotGiven => return None,
    };
    let mut policies: Vec<u32> = names.iter().filter_map(|name| numbered_name(name, "policy")).collect();
    policies.sort_unstable();
    policies.iter().map(|n| text(machine, &format!("{CPUFREQ}/policy{n}/scaling_governor"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_in_every_form() {
        let x86 = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t: fpu\n";
        assert_eq!(model(x86).as_deref(), Some("Intel(R) Xeon(R) Processor"));
        let mixed =
            "processor: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd09\n";
        assert_eq!(model(mixed).as_deref(), Some("ARM Cortex-A53 + ARM Cortex-A73"));
        let old = "model name\t: ARMv6-compatible processor rev 7 (v6l)\nCPU implementer\t: 0x41\nCPU part\t: 0xb76\n";
        assert_eq!(model(old).as_deref(), Some("ARM ARM1176"));
        assert_eq!(model("hart\t: 1\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n").as_deref(), Some("sifive,u74-mc"));
        assert_eq!(model("rubbish"), None);
    }
}
