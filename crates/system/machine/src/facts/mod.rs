mod board;
mod co_kernel;
mod cpu;
mod distribution;
mod preemption;
mod virt;

pub use co_kernel::co_kernel;
pub use distribution::{Distribution, kernels_distribution};
pub use preemption::{default_preemption, is_preempt_rt, preemption_mode};
pub use virt::{Virtualisation, virtualisation};

use crate::text::field_values;
use crate::{KernelConfig, Machine, Read, Setting, scrub};
use punctual_model::MachineFacts;
use punctual_units::CpuList;

/// Reads about 40 small files, in under 5 ms on a small machine. What cannot be read is `None`. The cost of a clock
/// read is left for the caller to measure.
pub fn facts(machine: &dyn Machine) -> MachineFacts {
    facts_with(machine, None)
}

/// Like [`facts`]. The kernel configuration supplies the preemption mode if the scheduler's debug file cannot be read
/// and the command line does not set a mode.
pub fn facts_with(machine: &dyn Machine, config: Option<&KernelConfig>) -> MachineFacts {
    let kernel = |name: &str| text(machine, &format!("/proc/sys/kernel/{name}"));
    let cpus = |name: &str| -> Option<CpuList> {
        text(machine, &format!("/sys/devices/system/cpu/{name}")).and_then(|list| list.parse().ok())
    };
    let version = kernel("version");
    let cpuinfo = machine.read("/proc/cpuinfo");
    let online = cpus("online");
    MachineFacts {
        preempt_rt: preemption::preempt_rt(machine, version.as_deref()),
        preemption: preemption::mode(machine, version.as_deref(), config),
        board: board::name(machine),
        cpu_model: cpuinfo.text().and_then(cpu::model),
        smt_active: cpu::smt_active(machine, online.as_ref()),
        governors: cpu::governors(machine),
        cpus_online: online,
        cpus_isolated: cpus("isolated"),
        clocksource: text(machine, "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        virtualisation: virt::by_cpuinfo(machine, cpuinfo.text()).name(),
        cmdline: text(machine, "/proc/cmdline").map(|line| scrub(&line)),
        memory_bytes: memory(machine),
        rt_throttling: rt_throttling(machine),
        clock_read_ns: None,
        os: distribution(machine),
        kernel_release: kernel("osrelease"),
        architecture: kernel("arch"),
        kernel_version: version,
    }
}

/// Returns true if the kernel schedules real-time threads by group, according to its configuration and the parameter
/// that enables or disables it (Documentation/admin-guide/kernel-parameters.txt, since 6.15); `None` if unknown.
pub fn rt_group_sched(machine: &dyn Machine) -> Option<bool> {
    let config = KernelConfig::read(machine).ok()?;
    let asked = text(machine, "/proc/cmdline").and_then(|line| {
        let value = line.split_ascii_whitespace().rev().find_map(|word| word.strip_prefix("rt_group_sched="))?;
        matches!(value, "0" | "1").then_some(value == "1")
    });
    match config.get("RT_GROUP_SCHED") {
        Setting::Is(_) => Some(asked.unwrap_or(!config.is_on("RT_GROUP_SCHED_DEFAULT_DISABLED"))),
        Setting::Off => Some(false),
        Setting::Unknown => None,
    }
}

fn text(machine: &dyn Machine, path: &str) -> Option<String> {
    machine.read(path).text().map(str::to_owned)
}

fn memory(machine: &dyn Machine) -> Option<u64> {
    let meminfo = text(machine, "/proc/meminfo")?;
    let kilobytes: u64 = field_values(&meminfo, "MemTotal").next()?.strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Returns the limit of RT throttling, such as `950000/1000000 µs`, or `off` when the runtime is −1 (proc_sys_kernel:
/// sched_rt_runtime_us).
fn rt_throttling(machine: &dyn Machine) -> Option<String> {
    let number = |name: &str| text(machine, &format!("/proc/sys/kernel/{name}"))?.parse::<i64>().ok();
    match (number("sched_rt_runtime_us")?, number("sched_rt_period_us")) {
        (-1, _) => Some("off".to_owned()),
        (runtime, Some(period)) => Some(format!("{runtime}/{period} µs")),
        (_, None) => None,
    }
}

/// Returns PRETTY_NAME of os-release(5). /usr/lib is read only if the file is absent from /etc.
fn distribution(machine: &dyn Machine) -> Option<String> {
    let release = match machine.read("/etc/os-release") {
        Read::Absent => machine.read("/usr/lib/os-release"),
        other => other,
    };
    let line = release.text()?.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="))?.trim();
    Some(line.trim_matches(['"', '\'']).to_owned())
}
