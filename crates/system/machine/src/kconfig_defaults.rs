//! Infers the options that a configuration omits: from options that select them or that they depend on and, in a
//! defconfig, from their defaults.

use crate::kconfig_known::{RATES, architecture, choice, selects};
use crate::{KernelConfig, Setting};

/// Options, each with one that it depends on: lib/Kconfig.debug, lib/Kconfig.kasan, kernel/trace/Kconfig (`if FTRACE`),
/// kernel/rcu/Kconfig, init/Kconfig, kernel/time/Kconfig.
const DEPENDS: &[(&str, &str)] = &[
    ("AUDITSYSCALL", "AUDIT"),
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
    ("DETECT_HUNG_TASK", "DEBUG_KERNEL"),
    ("HARDLOCKUP_DETECTOR", "DEBUG_KERNEL"),
    ("LATENCYTOP", "DEBUG_KERNEL"),
    ("LOCKUP_DETECTOR", "DEBUG_KERNEL"),
    ("SOFTLOCKUP_DETECTOR", "DEBUG_KERNEL"),
    ("WQ_WATCHDOG", "DEBUG_KERNEL"),
    ("FUNCTION_TRACER", "FTRACE"),
    ("HWLAT_TRACER", "FTRACE"),
    ("IRQSOFF_TRACER", "FTRACE"),
    ("OSNOISE_TRACER", "FTRACE"),
    ("PREEMPT_TRACER", "FTRACE"),
    ("PREEMPT_TRACER", "PREEMPTION"),
    ("SCHED_TRACER", "FTRACE"),
    ("TIMERLAT_TRACER", "FTRACE"),
    ("CPU_ISOLATION", "SMP"),
    ("RCU_NOCB_CPU_ALL", "RCU_NOCB_CPU"),
    ("RCU_NOCB_CPU_DEFAULT_ALL", "RCU_NOCB_CPU"),
    ("RT_GROUP_SCHED", "CGROUP_SCHED"),
    ("RT_GROUP_SCHED", "CGROUPS"),
    ("NO_HZ_FULL", "SMP"),
];

/// Options that are off by default, unless one of [`SELECTED_BY`] is on: lib/Kconfig.debug, kernel/trace/Kconfig,
/// kernel/rcu/Kconfig, kernel/time/Kconfig, init/Kconfig of Linux 3.10 to 7.1.
const OFF: &[&str] = &[
    "CGROUPS",
    "CGROUP_SCHED",
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
    "HIGH_RES_TIMERS",
    "HWLAT_TRACER",
    "IRQSOFF_TRACER",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "LOCKDEP",
    "LOCKUP_DETECTOR",
    "LOCK_STAT",
    "NO_HZ",
    "NO_HZ_FULL",
    "OSNOISE_TRACER",
    "PREEMPT_RT",
    "PREEMPT_TRACER",
    "PROVE_LOCKING",
    "RCU_EXPERT",
    "RCU_LAZY",
    "RCU_NOCB_CPU",
    "RCU_NOCB_CPU_ALL",
    "RCU_NOCB_CPU_DEFAULT_ALL",
    "RT_GROUP_SCHED",
    "RT_GROUP_SCHED_DEFAULT_DISABLED",
    "SCHED_TRACER",
    "SLUB_DEBUG_ON",
    "SOFTLOCKUP_DETECTOR",
    "TIMERLAT_TRACER",
];

/// Options of [`OFF`] with those that may select them: lib/Kconfig.debug.
const SELECTED_BY: &[(&str, &[&str])] = &[
    ("DEBUG_MUTEXES", LOCKS),
    ("DEBUG_RT_MUTEXES", LOCKS),
    ("DEBUG_RWSEMS", LOCKS),
    ("DEBUG_SPINLOCK", LOCKS),
    ("DEBUG_WW_MUTEX_SLOWPATH", &["PROVE_LOCKING"]),
];

/// Options with others that select them or depend on them, so that one of those determines that the option is on:
/// kernel/trace/Kconfig, lib/Kconfig.debug, init/Kconfig, kernel/Kconfig.preempt, kernel/time/Kconfig.
const IMPLIED_BY: &[(&str, &[&str])] = &[
    ("CGROUPS", &["CGROUP_SCHED", "RT_GROUP_SCHED", "SCHED_AUTOGROUP"]),
    ("CGROUP_SCHED", &["RT_GROUP_SCHED", "SCHED_AUTOGROUP"]),
    ("CPU_ISOLATION", &["NO_HZ_FULL"]),
    ("DEBUG_SPINLOCK", LOCKS),
    ("DEBUG_LOCK_ALLOC", &["DEBUG_WW_MUTEX_SLOWPATH", "LOCK_STAT", "PROVE_LOCKING"]),
    ("FUNCTION_TRACER", &["DYNAMIC_FTRACE", "FUNCTION_GRAPH_TRACER", "FUNCTION_PROFILER", "STACK_TRACER"]),
    ("LOCKDEP", LOCKS),
    ("OSNOISE_TRACER", &["TIMERLAT_TRACER"]),
    ("PREEMPTION", &["PREEMPT", "PREEMPT_BUILD", "PREEMPT_LAZY", "PREEMPT_RT"]),
    ("RCU_NOCB_CPU", &["NO_HZ_FULL"]),
    ("TRACE_IRQFLAGS", &["IRQSOFF_TRACER", "PROVE_LOCKING"]),
    (
        "TRACING",
        &[
            "BLK_DEV_IO_TRACE",
            "FTRACE_SYSCALLS",
            "FUNCTION_TRACER",
            "GENERIC_TRACER",
            "HWLAT_TRACER",
            "IRQSOFF_TRACER",
            "KPROBE_EVENTS",
            "OSNOISE_TRACER",
            "PREEMPT_TRACER",
            "SCHED_TRACER",
            "STACK_TRACER",
            "TIMERLAT_TRACER",
            "UPROBE_EVENTS",
        ],
    ),
];

/// Options without a prompt, with all that select them.
const ONLY_BY: &[(&str, &[&str])] = &[("LOCKDEP", &["DEBUG_LOCK_ALLOC", "LOCK_STAT", "PROVE_LOCKING"])];

const LOCKS: &[&str] = &["DEBUG_LOCK_ALLOC", "DEBUG_WW_MUTEX_SLOWPATH", "LOCK_STAT", "PROVE_LOCKING"];

/// Returns the value of an option without a prompt. Options that select it, or its default, determine this value,
/// whatever the option's line says.
pub(crate) fn selected(option: &str, config: &KernelConfig) -> Option<(&'static str, &'static str)> {
    // kernel/rcu/Kconfig: default y if PREEMPTION, which PREEMPT_RT selects. Before Linux 4.1 it was part of a choice.
    let is_new = config.release().is_none_or(|release| release >= (4, 1));
    let is_rt = config.is_on("PREEMPT_RT") || config.is_on("PREEMPT_RT_FULL");
    match option {
        "PREEMPT_RCU" if is_rt && is_new => Some(("y", "by PREEMPT_RT")),
        _ => None,
    }
}

/// Returns true if nothing selects PREEMPTION (kernel/Kconfig.preempt).
fn is_not_preemptible(config: &KernelConfig) -> bool {
    let off = |name: &str| config.get(name) == Setting::Off;
    let is_one = config.is_on("PREEMPT_NONE") || config.is_on("PREEMPT_VOLUNTARY");
    is_one && off("PREEMPT_DYNAMIC") && off("PREEMPT_RT")
}

/// Returns the value of an option that is not mentioned, and the reason.
pub(crate) fn of(option: &str, config: &KernelConfig) -> Option<(String, &'static str)> {
    let on = |name: &str| config.is_on(name);
    let is_rt = on("PREEMPT_RT") || on("PREEMPT_RT_FULL");
    // On a real-time kernel the option has a prompt, so `make` writes a line for it (kernel/rcu/Kconfig; in the
    // real-time patches before 5.12).
    // Before 5.12 also RCU_EXPERT must be on (commit 2341bc4a0311 made PREEMPT_RT suffice).
    if option == "RCU_BOOST"
        && config.release().is_some_and(|release| release < (5, 12))
        && config.get("RCU_EXPERT") == Setting::Off
    {
        return Some(("n".to_owned(), "not set: its dependency is off"));
    }
    if option == "RCU_BOOST" && is_rt && (config.is_whole() || config.is_defconfig()) {
        return Some(("y".to_owned(), "the default with PREEMPT_RT, because the file has no line for it"));
    }
    if option == "IRQ_FORCED_THREADING"
        && let Some(forced) =
            architecture(config).zip(config.release()).and_then(|(arch, release)| selects(option, arch, release))
    {
        return Some((
            if forced { "y" } else { "n" }.to_owned(),
            "selected by some architectures, since a certain release",
        ));
    }
    if config.is_whole() {
        return None;
    }
    // arch/*/Kconfig: arm64 and s390 are always SMP, NR_CPUS is 1 without SMP, and these options depend on it.
    if option == "SMP"
        && (matches!(architecture(config), Some("arm64" | "s390"))
            || config.line("NR_CPUS").is_some_and(|(_, count)| count != "1")
            || ["CPU_ISOLATION", "NO_HZ_FULL", "NUMA", "SCHED_MC", "SCHED_SMT"].iter().any(|name| on(name)))
    {
        return Some(("y".to_owned(), "another option depends on it"));
    }
    // "sched: Add support for lazy preemption" and its parts below arch/, in the real-time patches from 3.6 on.
    if option == "PREEMPT_LAZY"
        && on("PREEMPT_RT_FULL")
        && matches!(architecture(config), Some("x86" | "arm" | "arm64" | "powerpc"))
        && config.release().is_none_or(|release| release >= (3, 6))
    {
        return Some(("y".to_owned(), "PREEMPT_RT_FULL selects it on this architecture"));
    }
    // "sched: Disable CONFIG_RT_GROUP_SCHED on RT", in the real-time patches since 3.0.
    if option == "RT_GROUP_SCHED" && on("PREEMPT_RT_FULL") {
        return Some(("n".to_owned(), "not set: PREEMPT_RT_FULL excludes it"));
    }
    if DEPENDS.iter().any(|(name, needs)| *name == option && config.get(needs) == Setting::Off) {
        return Some(("n".to_owned(), "not set: its dependency is off"));
    }
    let listed = |table: &'static [(&str, &'static [&'static str])]| {
        table.iter().find(|(name, _)| *name == option).map_or(&[][..], |(_, others)| *others)
    };
    if listed(IMPLIED_BY).iter().any(|name| on(name)) {
        return Some(("y".to_owned(), "by an option that needs it"));
    }
    let selecting = listed(ONLY_BY);
    if !selecting.is_empty() && selecting.iter().all(|name| config.get(name) == Setting::Off) {
        return Some(("n".to_owned(), "not set: no option that selects it is on"));
    }
    // lib/Kconfig.debug of 4.4, 4.15, 5.2 and 6.6; that of 5.2 selects DEBUG_RWSEMS only with RWSEM_SPIN_ON_OWNER.
    let is_since = |least| config.release().is_some_and(|release| release >= least);
    let is_proved = on("PROVE_LOCKING")
        && match option {
            "DEBUG_MUTEXES" => !is_rt,
            "DEBUG_RT_MUTEXES" => is_since((4, 15)) && on("RT_MUTEXES"),
            "DEBUG_RWSEMS" => is_since((5, 10)) && !is_rt,
            "DEBUG_WW_MUTEX_SLOWPATH" => is_since((5, 2)),
            _ => false,
        };
    if is_proved {
        return Some(("y".to_owned(), "PROVE_LOCKING selects it"));
    }
    if option == "PREEMPTION" && is_not_preemptible(config) {
        return Some(("n".to_owned(), "not set: no option that selects it is on"));
    }
    if choice(option).iter().any(|name| on(name)) {
        return Some(("n".to_owned(), "not set: another option of the choice is on"));
    }
    // drivers/cpufreq/Kconfig.
    if option == "CPU_FREQ" && choice("CPU_FREQ_DEFAULT_GOV_PERFORMANCE").iter().any(|name| on(name)) {
        return Some(("y".to_owned(), "a default governor depends on it"));
    }
    // Choice of the tick mode, kernel/time/Kconfig.
    if option == "NO_HZ_FULL" && (on("NO_HZ_IDLE") || on("HZ_PERIODIC")) {
        return Some(("n".to_owned(), "not set: another tick mode is set"));
    }
    let rate = || RATES.iter().find(|rate| on(rate)).and_then(|rate| rate.strip_prefix("HZ_"));
    if option == "HZ"
        && let Some(hz) = rate()
    {
        return Some((hz.to_owned(), "determined by the choice of HZ_…"));
    }
    if !config.is_defconfig() {
        return None;
    }
    let default = match option {
        // EXPERT selects DEBUG_KERNEL (init/Kconfig). Until Linux 6.3 the option was on by default with PREEMPT.
        "DEBUG_PREEMPT" => (!on("DEBUG_KERNEL") && !on("EXPERT")).then_some("n"),
        "RCU_NOCB_CPU_CB_BOOST" if is_rt => Some(if on("RCU_NOCB_CPU") || on("NO_HZ_FULL") { "y" } else { "n" }),
        // Since Linux 4.13 the option has no prompt, and the other two select it. Before, it had a prompt and no
        // default.
        "LOCKUP_DETECTOR" if on("SOFTLOCKUP_DETECTOR") || on("HARDLOCKUP_DETECTOR") => Some("y"),
        "HARDLOCKUP_DETECTOR" if on("LOCKUP_DETECTOR") => None,
        // arch/*/Kconfig: no default. On powerpc and mips, other options select it.
        "SMP" => matches!(architecture(config), Some("x86" | "arm" | "riscv")).then_some("n"),
        "CPU_ISOLATION" => matches!(config.get("SMP"), Setting::Is(_)).then_some("y"),
        "NO_HZ_COMMON" => Some(if on("NO_HZ") || on("NO_HZ_IDLE") || on("NO_HZ_FULL") { "y" } else { "n" }),
        // On by default with HAVE_PREEMPT_DYNAMIC_CALL, which x86 selects (kernel/Kconfig.preempt).
        "PREEMPT_DYNAMIC" => architecture(config).is_some_and(|arch| arch != "x86").then_some("n"),
        // From the choice in kernel/Kconfig.hz; other architectures have their own.
        "HZ" => {
            let is_common = matches!(architecture(config), Some("x86" | "arm64" | "riscv" | "powerpc" | "loongarch"));
            (is_common && !config.has_on("HZ_")).then_some("250")
        }
        "DETECT_HUNG_TASK" => Some(if on("SOFTLOCKUP_DETECTOR") || on("LOCKUP_DETECTOR") { "y" } else { "n" }),
        _ => {
            let by = SELECTED_BY.iter().find(|(name, _)| *name == option).map(|(_, by)| *by).unwrap_or_default();
            (OFF.contains(&option) && !by.iter().any(|name| on(name))).then_some("n")
        }
    };
    default.map(|value| (value.to_owned(), "the default, because this is a defconfig"))
}
