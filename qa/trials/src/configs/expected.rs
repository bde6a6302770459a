//! The expected state of each rule that depends on a kernel configuration, derived manually from the lines of the
//! configuration alone.

use super::grep::Grep;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    Nothing,
    /// Kernel parameters that affect none of the compared rules.
    Plain,
    /// Kernel parameters with nohz_full= and rcu_nocbs=.
    Tickless,
}

pub const RULES: &[&str] = &[
    "kernel-preempt-rt",
    "kernel-preempt-dynamic",
    "kernel-rt-installed-not-running",
    "kernel-config-readable",
    "kconfig-lockdep",
    "kconfig-debug-heavy",
    "kconfig-irqsoff-tracer",
    "kconfig-tracers-present",
    "kconfig-rt-group-sched",
    "kconfig-detect-hung-task",
    "kconfig-hz",
    "kconfig-rcu",
    "kconfig-cpufreq-default",
    "kconfig-nohz-inert",
    "kconfig-high-res-timers",
    "kconfig-lockup-detector",
    "cmdline-audit",
    "cmdline-threadirqs",
    "debug-kmemleak",
    "fw-hwlat",
    "fw-microcode-late",
];

const LOCKDEP: &[&str] = &[
    "PROVE_LOCKING",
    "LOCKDEP",
    "DEBUG_LOCK_ALLOC",
    "LOCK_STAT",
    "DEBUG_LOCKDEP",
    "DEBUG_SPINLOCK",
    "DEBUG_MUTEXES",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_WW_MUTEX_SLOWPATH",
];

const HEAVY: &[&str] = &[
    "DEBUG_PREEMPT",
    "DEBUG_OBJECTS",
    "DEBUG_VM",
    "DEBUG_ENTRY",
    "DEBUG_PER_CPU_MAPS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "DEBUG_KMEMLEAK",
    "FAULT_INJECTION",
    "SLUB_DEBUG_ON",
    "DEBUG_HARD_LOCKS",
];

/// Returns the expected state; `None` for rules that a configuration does not decide.
pub fn expected(id: &str, with: With, c: &Grep) -> Option<&'static str> {
    let rt = c.is("PREEMPT_RT");
    let fail_if = |wrong: bool| if wrong { "FAIL" } else { "PASS" };
    let if_line = |state: &'static str| if with == With::Nothing { "SKIP" } else { state };
    let state = match id {
        "kernel-preempt-rt" => fail_if(!rt),
        "kernel-preempt-dynamic" if rt => "SKIP",
        "kernel-preempt-dynamic" => if_line(preemption(c)),
        // This rule needs /boot.
        "kernel-rt-installed-not-running" => "SKIP",
        "kernel-config-readable" => "PASS",
        "kconfig-lockdep" => fail_if(c.any(LOCKDEP)),
        "kconfig-debug-heavy" => fail_if(c.any(HEAVY)),
        "kconfig-irqsoff-tracer" => fail_if(c.any(&["IRQSOFF_TRACER", "PREEMPT_TRACER"])),
        "kconfig-tracers-present" if c.is("TRACING") && c.is("TIMERLAT_TRACER") => "PASS",
        "kconfig-tracers-present" | "fw-hwlat" => "INFO",
        "kconfig-rt-group-sched" if !c.is("RT_GROUP_SCHED") => "PASS",
        "kconfig-rt-group-sched" if c.is("RT_GROUP_SCHED_DEFAULT_DISABLED") => if_line("PASS"),
        "kconfig-rt-group-sched" => "WARN",
        _ => return more(id, with, c),
    };
    Some(state)
}

fn more(id: &str, with: With, c: &Grep) -> Option<&'static str> {
    let rt = c.is("PREEMPT_RT");
    let fail_if = |wrong: bool| if wrong { "FAIL" } else { "PASS" };
    let if_line = |state: &'static str| if with == With::Nothing { "SKIP" } else { state };
    let state = match id {
        "kconfig-detect-hung-task" => {
            if c.is("DETECT_HUNG_TASK") {
                "INFO"
            } else {
                "PASS"
            }
        }
        "kconfig-hz" => "INFO",
        "kconfig-rcu" if rt => rcu(c),
        "kconfig-rcu" => "SKIP",
        // Linux before 5.9 has no parameter for it.
        "kconfig-cpufreq-default" if c.version().is_some_and(|version| version < (5, 9)) && governor(c) == "WARN" => {
            "WARN"
        }
        "kconfig-cpufreq-default" => if_line(governor(c)),
        "kconfig-nohz-inert" if with != With::Tickless => "SKIP",
        "kconfig-nohz-inert" => fail_if(!c.is("NO_HZ_FULL") || !c.is("RCU_NOCB_CPU")),
        "kconfig-high-res-timers" if !c.is("HIGH_RES_TIMERS") => "FAIL",
        "kconfig-high-res-timers" => if_line("PASS"),
        "kconfig-lockup-detector" if c.any(&["LOCKUP_DETECTOR", "SOFTLOCKUP_DETECTOR", "HARDLOCKUP_DETECTOR"]) => {
            "WARN"
        }
        "kconfig-lockup-detector" => "PASS",
        "cmdline-audit" if !c.is("AUDITSYSCALL") => "PASS",
        "cmdline-audit" => if_line("INFO"),
        "cmdline-threadirqs" if rt => "SKIP",
        "cmdline-threadirqs" => if_line("FAIL"),
        "debug-kmemleak" if !c.is("DEBUG_KMEMLEAK") => "PASS",
        "debug-kmemleak" if c.is("DEBUG_KMEMLEAK_DEFAULT_OFF") => if_line("PASS"),
        "debug-kmemleak" => if_line("WARN"),
        // Before 5.19 only a file in sysfs shows it.
        "fw-microcode-late" => {
            if c.is("MICROCODE_LATE_LOADING") {
                "INFO"
            } else {
                "SKIP"
            }
        }
        _ => return None,
    };
    Some(state)
}

fn preemption(c: &Grep) -> &'static str {
    if c.is("PREEMPT_NONE") || c.is("PREEMPT_VOLUNTARY") {
        "FAIL"
    } else if c.is("PREEMPT_LAZY") {
        "INFO"
    } else {
        "PASS"
    }
}

fn rcu(c: &Grep) -> &'static str {
    match (c.is("PREEMPT_RCU"), c.is("RCU_BOOST"), c.is("RCU_NOCB_CPU_CB_BOOST")) {
        (false, ..) => "FAIL",
        (_, false, _) => "WARN",
        (.., true) => "INFO",
        (.., false) => "PASS",
    }
}

fn governor(c: &Grep) -> &'static str {
    if c.is("CPU_FREQ_DEFAULT_GOV_PERFORMANCE") {
        "PASS"
    } else if c.is("CPU_FREQ") {
        "WARN"
    } else {
        "SKIP"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_rule_is_decided() {
        let grep = Grep::new("CONFIG_PREEMPT_RT=y\n");
        for rule in RULES {
            assert!(expected(rule, With::Plain, &grep).is_some(), "{rule}");
        }
        assert_eq!(expected("mem-swap", With::Plain, &grep), None);
    }
}
