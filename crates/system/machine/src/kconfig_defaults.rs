//! Infers the options that a configuration omits: from an option they depend on, in a defconfig from their defaults.

/// Options, each with one that it depends on: lib/Kconfig.debug, lib/Kconfig.kasan, kernel/trace/Kconfig (`if FTRACE`),
/// kernel/rcu/Kconfig.
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
    "HWLAT_TRACER",
    "IRQSOFF_TRACER",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "LOCKDEP",
    "LOCK_STAT",
    "OSNOISE_TRACER",
    "PREEMPT_RT",
    "PREEMPT_TRACER",
    "PROVE_LOCKING",
    "SCHED_TRACER",
    "SLUB_DEBUG_ON",
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

/// Returns the value of an option that is not mentioned, and the reason. `on` and `off` look up other options.
pub(crate) fn of(
    option: &str,
    is_defconfig: bool,
    on: &dyn Fn(&str) -> bool,
    off: &dyn Fn(&str) -> bool,
) -> Option<(String, &'static str)> {
    if DEPENDS.iter().any(|(name, needs)| *name == option && off(needs)) {
        return Some(("n".to_owned(), "not set: its dependency is off"));
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
    if !is_defconfig {
        return None;
    }
    let default = match option {
        // Selected by EXPERT (init/Kconfig); until Linux 6.3 on by default with PREEMPT.
        "DEBUG_PREEMPT" => (!on("DEBUG_KERNEL") && !on("EXPERT")).then_some("n"),
        // kernel/rcu/Kconfig.
        "PREEMPT_RCU" | "RCU_BOOST" => on("PREEMPT_RT").then_some("y"),
        "RCU_NOCB_CPU_CB_BOOST" if on("PREEMPT_RT") => {
            Some(if on("RCU_NOCB_CPU") || on("NO_HZ_FULL") { "y" } else { "n" })
        }
        _ => (OFF.contains(&option) && !SELECTING.iter().any(|name| on(name))).then_some("n"),
    };
    default.map(|value| (value.to_owned(), "the default, as this is a defconfig"))
}
