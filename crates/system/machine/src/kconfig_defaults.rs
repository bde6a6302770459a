//! Infers the options that a configuration omits: from options that select them or that they depend on, in a defconfig
//! from their defaults.

use crate::KernelConfig;
use crate::kconfig_known::{architecture, choice, selects};

/// Options, each with one that it depends on: lib/Kconfig.debug, lib/Kconfig.kasan, kernel/trace/Kconfig (`if FTRACE`),
/// kernel/rcu/Kconfig, init/Kconfig, kernel/time/Kconfig.
const DEPENDS: &[(&str, &str)] = &[
    ("DEBUG_HARD_LOCKS", "DEBUG_KERNEL"),
    ("DEBUG_KMEMLEAK", "DEBUG_KERNEL"),
    ("DEBUG_LOCKDEP", "DEBUG_KERNEL"),
    ("DEBUG_LOCK_ALLOC", "DEBUG_KERNEL"),
    ("DEBUG_MUTEXES", "DEBUG_KERNEL"),
    ("DEBUG_OBJECTS", "DEBUG_KERNEL"),
    ("DEBUG_PER_CPU_MAPS", "DEBUG_KERNEL"),
    ("DEBUG_PREEMPT", "DEBUG_KERNEL"),
    ("DEBUG_RT_MUTEXES", "DEBUG_KERNEL"),
    ("DEBUG_RWSEMS", "DEBUG_KERNEL"),
    ("DEBUG_SPINLOCK", "DEBUG_KERNEL"),
    ("DEBUG_VM", "DEBUG_KERNEL"),
    ("DEBUG_WW_MUTEX_SLOWPATH", "DEBUG_KERNEL"),
    ("FAULT_INJECTION", "DEBUG_KERNEL"),
    ("KCSAN", "DEBUG_KERNEL"),
    ("LOCKDEP", "DEBUG_KERNEL"),
    ("LOCK_STAT", "DEBUG_KERNEL"),
    ("PROVE_LOCKING", "DEBUG_KERNEL"),
    ("FUNCTION_TRACER", "FTRACE"),
    ("HWLAT_TRACER", "FTRACE"),
    ("IRQSOFF_TRACER", "FTRACE"),
    ("OSNOISE_TRACER", "FTRACE"),
    ("PREEMPT_TRACER", "FTRACE"),
    ("SCHED_TRACER", "FTRACE"),
    ("TIMERLAT_TRACER", "FTRACE"),
    ("CPU_ISOLATION", "SMP"),
    ("RT_GROUP_SCHED", "CGROUP_SCHED"),
    ("RT_GROUP_SCHED", "CGROUPS"),
    ("NO_HZ_FULL", "SMP"),
];

/// Options that are off by default, unless one of [`SELECTING`] is on.
const OFF: &[&str] = &[
    "DEBUG_ENTRY",
    "DEBUG_HARD_LOCKS",
    "DEBUG_KMEMLEAK",
    "DEBUG_LOCKDEP",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_PER_CPU_MAPS",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_SPINLOCK",
    "DEBUG_VM",
    "DEBUG_WW_MUTEX_SLOWPATH",
    "FAULT_INJECTION",
    "FUNCTION_TRACER",
    "HARDLOCKUP_DETECTOR",
    "HWLAT_TRACER",
    "IRQSOFF_TRACER",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "LOCKDEP",
    "LOCKUP_DETECTOR",
    "LOCK_STAT",
    "OSNOISE_TRACER",
    "PREEMPT_RT",
    "PREEMPT_TRACER",
    "PROVE_LOCKING",
    "SCHED_TRACER",
    "SLUB_DEBUG_ON",
    "SOFTLOCKUP_DETECTOR",
    "TIMERLAT_TRACER",
];

/// Options that select others of [`OFF`].
const SELECTING: &[&str] = &[
    "PROVE_LOCKING",
    "LOCK_STAT",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_WW_MUTEX_SLOWPATH",
    "KCSAN",
    "KASAN",
    "KMSAN",
    "TIMERLAT_TRACER",
    "OSNOISE_TRACER",
    "STACK_TRACER",
];

/// Returns the value of an option without a prompt, which others select or give its default, whatever its line says.
pub(crate) fn selected(option: &str, config: &KernelConfig) -> Option<(&'static str, &'static str)> {
    // kernel/rcu/Kconfig: default y if PREEMPTION, which PREEMPT_RT selects; before Linux 4.1 a choice had it.
    let is_new = config.release().is_none_or(|release| release >= (4, 1));
    let is_rt = config.is_on("PREEMPT_RT") || config.is_on("PREEMPT_RT_FULL");
    match option {
        "PREEMPT_RCU" if is_rt && is_new => Some(("y", "by PREEMPT_RT")),
        _ => None,
    }
}

/// Returns the value of an option that is not mentioned, and the reason.
pub(crate) fn of(option: &str, config: &KernelConfig) -> Option<(String, &'static str)> {
    let (on, off) = (|name: &str| config.is_on(name), |name: &str| config.is_off(name));
    let is_rt = on("PREEMPT_RT") || on("PREEMPT_RT_FULL");
    // The option has a prompt on a real-time kernel, so `make` writes a line for it (kernel/rcu/Kconfig; in the real-time
    // patches before 5.12).
    if option == "RCU_BOOST" && is_rt && (config.is_whole() || config.is_defconfig()) {
        return Some(("y".to_owned(), "the default with PREEMPT_RT, as the file has no line for it"));
    }
    if option == "IRQ_FORCED_THREADING"
        && let Some(forced) =
            architecture(config).zip(config.release()).and_then(|(arch, release)| selects(option, arch, release))
    {
        return Some((if forced { "y" } else { "n" }.to_owned(), "selected by some architectures, from a release on"));
    }
    if config.is_whole() {
        return None;
    }
    // arch/*/Kconfig: of these there is no other kernel, NR_CPUS is 1 without SMP, and the tick's mode depends on it.
    if option == "SMP"
        && (matches!(architecture(config), Some("arm64" | "s390"))
            || config.line("NR_CPUS").is_some_and(|(_, count)| count != "1")
            || ["CPU_ISOLATION", "NO_HZ_FULL", "NUMA", "SCHED_MC", "SCHED_SMT"].iter().any(|name| on(name)))
    {
        return Some(("y".to_owned(), "another option depends on it"));
    }
    // "sched: Disable CONFIG_RT_GROUP_SCHED on RT", in the real-time patches since 3.0.
    if option == "RT_GROUP_SCHED" && on("PREEMPT_RT_FULL") {
        return Some(("n".to_owned(), "not set: PREEMPT_RT_FULL excludes it"));
    }
    if DEPENDS.iter().any(|(name, needs)| *name == option && off(needs)) {
        return Some(("n".to_owned(), "not set: its dependency is off"));
    }
    // drivers/cpufreq/Kconfig.
    if option == "CPU_FREQ" && choice("CPU_FREQ_DEFAULT_GOV_PERFORMANCE").iter().any(|name| on(name)) {
        return Some(("y".to_owned(), "a default governor depends on it"));
    }
    // Choice of the tick mode, kernel/time/Kconfig.
    if option == "NO_HZ_FULL" && (on("NO_HZ_IDLE") || on("HZ_PERIODIC")) {
        return Some(("n".to_owned(), "not set: another tick mode is set"));
    }
    // kernel/Kconfig.hz.
    let rate = || ["100", "250", "300", "1000"].into_iter().find(|hz| on(&format!("HZ_{hz}")));
    if option == "HZ"
        && let Some(hz) = rate()
    {
        return Some((hz.to_owned(), "by the choice of HZ_…"));
    }
    if !config.is_defconfig() {
        return None;
    }
    let default = match option {
        // Selected by EXPERT (init/Kconfig); until Linux 6.3 on by default with PREEMPT.
        "DEBUG_PREEMPT" => (!on("DEBUG_KERNEL") && !on("EXPERT")).then_some("n"),
        "RCU_NOCB_CPU_CB_BOOST" if is_rt => Some(if on("RCU_NOCB_CPU") || on("NO_HZ_FULL") { "y" } else { "n" }),
        // Without a prompt since Linux 4.13, and selected by the other two; before, it has a prompt and no default.
        "LOCKUP_DETECTOR" if on("SOFTLOCKUP_DETECTOR") || on("HARDLOCKUP_DETECTOR") => Some("y"),
        "HARDLOCKUP_DETECTOR" if on("LOCKUP_DETECTOR") => None,
        "DETECT_HUNG_TASK" => Some(if on("SOFTLOCKUP_DETECTOR") || on("LOCKUP_DETECTOR") { "y" } else { "n" }),
        _ => (OFF.contains(&option) && !SELECTING.iter().any(|name| on(name))).then_some("n"),
    };
    default.map(|value| (value.to_owned(), "the default, as this is a defconfig"))
}
