//! Values that the kernel changes when another value is written, and that undoing must restore as well.

use crate::system::System;
use std::path::{Path, PathBuf};

/// End of a path, and its companions: names in the same directory, or absolute patterns.
///
/// kernel/watchdog.c: the detectors share their state. Before 6.5, reading `soft_watchdog` while all are off forgets
/// that it was enabled, so each detector is restored together with the others. mm/page-writeback.c: writing a ratio
/// sets the corresponding limit in bytes to 0. drivers/cpufreq/intel_pstate.c: the performance governor sets the energy
/// preference, and a change of the mode resets all settings.
const COMPANIONS: &[(&str, &[&str])] = &[
    ("/proc/sys/kernel/watchdog", &["soft_watchdog", "nmi_watchdog"]),
    ("/proc/sys/kernel/soft_watchdog", &["watchdog", "nmi_watchdog"]),
    ("/proc/sys/kernel/nmi_watchdog", &["watchdog", "soft_watchdog"]),
    ("/proc/sys/vm/dirty_ratio", &["dirty_bytes"]),
    ("/proc/sys/vm/dirty_bytes", &["dirty_ratio"]),
    ("/proc/sys/vm/dirty_background_ratio", &["dirty_background_bytes"]),
    ("/proc/sys/vm/dirty_background_bytes", &["dirty_background_ratio"]),
    ("/scaling_governor", &["energy_performance_preference", "scaling_min_freq", "scaling_max_freq"]),
    ("/cpufreq/boost", &[CPUFREQ_MAX]),
    ("/intel_pstate/no_turbo", &[CPUFREQ_MAX]),
    ("/intel_pstate/status", &[CPUFREQ_GOVERNOR, CPUFREQ_MAX, CPUFREQ_MIN, CPUFREQ_PREFERENCE]),
];

const CPUFREQ_GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
const CPUFREQ_MAX: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq";
const CPUFREQ_MIN: &str = "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq";
const CPUFREQ_PREFERENCE: &str = "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference";

/// Returns the companions of a value with their contents. Companions that do not exist or cannot be read are omitted.
pub(crate) fn of(sys: &dyn System, path: &Path) -> Vec<(PathBuf, String)> {
    let name = path.to_string_lossy();
    let found = COMPANIONS.iter().find(|(end, _)| name.ends_with(end));
    let names = found.map(|(_, companions)| *companions).unwrap_or_default();
    let paths = names.iter().flat_map(|name| match name.strip_prefix('/') {
        Some(_) => crate::glob::expand(sys, name),
        None => vec![path.with_file_name(name)],
    });
    let read = |path: PathBuf| Some((path.clone(), crate::act::text(sys, &path).ok()?));
    paths.filter_map(read).collect()
}
