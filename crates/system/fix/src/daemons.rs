//! Programs that are known to write the same values as fixes.

use crate::system::System;
use std::path::Path;

/// Name of a program in /proc/PID/comm (15 characters), and parts of the paths to which it writes.
///
/// The programs are tuned (its plugins cpu, sysctl, sysfs, scheduler, vm), irqbalance(1), power-profiles-daemon (its
/// drivers), TLP, auto-cpufreq, cpufreqd, laptop-mode-tools, thermald, ksmtuned and stalld.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "tuned",
        &[
            "/proc/sys/",
            "/cpufreq/",
            "/intel_pstate/",
            "/irq/",
            "/transparent_hugepage/",
            "/workqueue/",
            "/cpuidle/",
            "thread",
        ],
    ),
    ("irqbalance", &["/proc/irq/"]),
    ("power-profiles-", &["/cpufreq/", "/intel_pstate/", "platform_profile", "energy_perf"]),
    ("tlp", &["/cpufreq/", "/intel_pstate/", "pcie_aspm", "link_power_management", "/power/", "platform_profile"]),
    ("auto-cpufreq", &["/cpufreq/", "/intel_pstate/"]),
    ("cpufreqd", &["/cpufreq/"]),
    ("thermald", &["/cpufreq/", "/intel_pstate/", "intel-rapl"]),
    ("gamemoded", &["/cpufreq/", "split_lock"]),
    ("ksmtuned", &["/mm/ksm/"]),
    ("tlp-pd", &["/cpufreq/"]),
    ("rtkit-daemon", &["thread"]),
    ("rtirq", &["thread"]),
];

/// Returns running programs that are known to write to this path, for example `tuned (pid 412)`.
pub fn writers(sys: &dyn System, subject: &str) -> Vec<String> {
    let known = |name: &str| {
        KNOWN.iter().any(|(known, paths)| *known == name && paths.iter().any(|part| subject.contains(part)))
    };
    let processes = sys.list(Path::new("/proc")).unwrap_or_default();
    let pids = processes.iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let found = pids.filter_map(|pid| {
        let comm = sys.read(Path::new(&format!("/proc/{pid}/comm"))).ok()?;
        let comm = String::from_utf8_lossy(&comm).trim().to_owned();
        known(&comm).then(|| format!("{comm} (pid {pid})"))
    });
    found.collect()
}
