//! Parameters whose handlers depend on options of the kernel's configuration.

use super::list::Release;
use super::names::key;

/// Name, the options any one of which builds the handler, and the release that made it depend on an option. Sources:
/// Documentation/admin-guide/kernel-parameters.txt and the file of each handler: kernel/sched/isolation.c,
/// kernel/rcu/tree_nocb.h, kernel/time/tick-sched.c, kernel/time/hrtimer.c, kernel/irq/manage.c, kernel/irq/irqdesc.c,
/// kernel/sched/core.c, kernel/cpu.c, kernel/watchdog.c, mm/hugetlb.c, drivers/cpufreq/cpufreq.c,
/// drivers/idle/intel_idle.c, drivers/pci/pcie/aspm.c.
const OPTIONS: &[(&str, &[&str], Release)] = &[
    ("audit", &["AUDIT"], (2, 6)),
    ("cpufreq.default_governor", &["CPU_FREQ"], (5, 9)),
    ("efi", &["EFI"], (3, 12)),
    ("highres", &["HIGH_RES_TIMERS"], (2, 6)),
    ("hugepages", &["HUGETLB_PAGE"], (2, 6)),
    ("hugepagesz", &["HUGETLB_PAGE"], (2, 6)),
    ("intel_idle.max_cstate", &["INTEL_IDLE"], (2, 6)),
    ("intel_pstate", &["X86_INTEL_PSTATE"], (3, 9)),
    ("iommu.strict", &["IOMMU_DMA"], (5, 14)),
    ("irqaffinity", &["SMP"], (2, 6)),
    ("isolcpus", &["CPU_ISOLATION"], (4, 15)),
    ("isolcpus", &["SMP"], (2, 6)),
    ("kfence.sample_interval", &["KFENCE"], (5, 12)),
    ("kmemleak", &["DEBUG_KMEMLEAK"], (2, 6)),
    ("nmi_watchdog", &["HARDLOCKUP_DETECTOR"], (2, 6)),
    ("nohz", &["NO_HZ_COMMON", "NO_HZ"], (2, 6)),
    ("nohz_full", &["NO_HZ_FULL"], (3, 10)),
    ("nosmt", &["HOTPLUG_SMT"], (4, 19)),
    ("nosoftlockup", &["SOFTLOCKUP_DETECTOR"], (4, 13)),
    ("nowatchdog", &["LOCKUP_DETECTOR"], (2, 6)),
    ("pcie_aspm", &["PCIEASPM"], (2, 6)),
    ("pcie_aspm.policy", &["PCIEASPM"], (2, 6)),
    ("preempt", &["PREEMPT_DYNAMIC"], (5, 12)),
    ("rcu_nocb_poll", &["RCU_NOCB_CPU"], (3, 8)),
    ("rcu_nocbs", &["RCU_NOCB_CPU"], (3, 8)),
    ("rcutree.enable_rcu_lazy", &["RCU_LAZY"], (6, 8)),
    ("rt_group_sched", &["RT_GROUP_SCHED"], (6, 16)),
    ("skew_tick", &["NO_HZ_COMMON", "NO_HZ", "HIGH_RES_TIMERS"], (2, 6)),
    // A kernel with PREEMPT_RT lacks the parameter: all its interrupts are threaded.
    ("threadirqs", &["IRQ_FORCED_THREADING", "PREEMPT_RT"], (2, 6)),
    ("transparent_hugepage", &["TRANSPARENT_HUGEPAGE"], (2, 6)),
    ("zswap.enabled", &["ZSWAP"], (3, 11)),
];

/// Returns true if the word requests only what a kernel without the option does anyway. pcie_aspm=off is not one of
/// these: it keeps the firmware's setting.
pub(crate) fn asks_nothing(word: &str) -> bool {
    let (_, value) = word.split_once('=').unwrap_or((word, ""));
    matches!(value, "0" | "off" | "n" | "no" | "never" | "disable" | "noruntime")
        || matches!(key(word).as_str(), "nowatchdog" | "nosoftlockup")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Built {
    In,
    /// All options that build the handler are off.
    Out,
    /// The configuration does not determine whether the handler is built.
    Open,
}

/// Returns the result with the options, as `CONFIG_A or CONFIG_B`; `None` if no option is known to decide. `is_on`
/// returns `None` for an unknown option. `release` is `None` if unknown.
pub(crate) fn built(
    word: &str,
    release: Option<Release>,
    is_on: impl Fn(&str) -> Option<bool>,
) -> Option<(Built, String)> {
    let key = key(word);
    // Of several entries, the first one that is not of a later release counts. If the release is unknown, so is the
    // entry.
    let mut of_key = OPTIONS.iter().filter(|(name, ..)| *name == key);
    let is_off = |(_, options, _): &(&str, &[&str], Release)| options.iter().all(|name| is_on(name) == Some(false));
    let is_open = release.is_none() && of_key.clone().count() > 1 && !of_key.clone().all(is_off);
    let first = of_key.clone().next()?;
    let fits = |(_, _, since): &&(&str, &[&str], Release)| release.is_none_or(|release| release >= *since);
    let (_, options, since) = of_key.find(fits).unwrap_or(first);
    let known: Vec<Option<bool>> = options.iter().map(|option| is_on(option)).collect();
    let found = if known.contains(&Some(true)) {
        Built::In
    } else if known.contains(&None) || is_open || release.is_some_and(|release| release < *since) {
        Built::Open
    } else {
        Built::Out
    };
    let named: Vec<String> = options.iter().map(|option| format!("CONFIG_{option}")).collect();
    Some((found, named.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_decide_what_is_known() {
        let on = |name: &str| match name {
            "NO_HZ_COMMON" | "RCU_NOCB_CPU" => Some(true),
            "SMP" => None,
            _ => Some(false),
        };
        for (word, release, expected) in [
            ("rcu_nocbs=2", (5, 10), Some(Built::In)),
            ("rcu-nocb-poll", (5, 10), Some(Built::In)),
            ("nohz_full=2", (5, 10), Some(Built::Out)),
            ("isolcpus=2", (4, 14), Some(Built::Open)),
            ("nohz_full=2", (3, 2), Some(Built::Open)),
            ("isolcpus=2", (4, 19), Some(Built::Out)),
            ("skew_tick=1", (4, 19), Some(Built::In)),
            ("irqaffinity=0", (4, 19), Some(Built::Open)),
            ("quiet", (4, 19), None),
        ] {
            assert_eq!(built(word, Some(release), on).map(|(found, _)| found), expected, "{word}");
        }
        assert_eq!(built("isolcpus=2", Some((4, 14)), |_| Some(true)).unwrap().0, Built::In);
        assert_eq!(built("isolcpus=2", Some((4, 14)), |name| Some(name == "SMP")).unwrap().0, Built::In);
        assert_eq!(built("isolcpus=2", Some((4, 14)), |_| Some(false)).unwrap().0, Built::Out);
        assert_eq!(built("isolcpus=2", None, |name| Some(name == "SMP")).unwrap().0, Built::Open);
        assert_eq!(built("isolcpus=2", None, |_| Some(false)).unwrap().0, Built::Out);
        let (_, options) = built("nohz=on", None, on).unwrap();
        assert_eq!(options, "CONFIG_NO_HZ_COMMON or CONFIG_NO_HZ");
    }

    #[test]
    fn what_is_off_anyway_is_not_requested() {
        for (word, expected) in [("audit=0", true), ("nowatchdog", true), ("pcie_aspm=off", true), ("nosmt", false)] {
            assert_eq!(asks_nothing(word), expected, "{word}");
        }
    }

    #[test]
    fn every_name_is_a_parameter() {
        assert!(OPTIONS.is_sorted());
        for (name, ..) in OPTIONS {
            assert!(super::super::releases::is_listed(name), "{name}");
        }
    }
}
