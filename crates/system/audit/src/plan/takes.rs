//! What a kernel needs so that a parameter does something: its option, and the release it came with.

use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::{Machine, Setting};

/// Parameter, option (without `CONFIG_`; empty: none), release. Sources: Documentation/admin-guide/kernel-parameters.txt
/// and the file that handles each: kernel/sched/isolation.c, kernel/rcu/tree_nocb.h, kernel/sched/core.c
/// (preempt_dynamic, 826bfeb37bb4), drivers/cpufreq/cpufreq.c (8412b4563e59), kernel/workqueue.c (ace3c5499e61),
/// kernel/rcu/tree.c (68d124b09999), kernel/watchdog.c.
const NEEDS: &[(&str, &str, (u32, u32))] = &[
    ("audit", "AUDIT", (2, 6)),
    ("cpufreq.default_governor", "CPU_FREQ", (5, 9)),
    ("efi", "EFI", (3, 12)),
    ("intel_pstate", "X86_INTEL_PSTATE", (3, 9)),
    // Before 4.15 CPU_ISOLATION was not optional.
    // On every architecture; before, arm64 had it alone.
    ("iommu.strict", "IOMMU_DMA", (5, 14)),
    ("isolcpus", "", (2, 6)),
    ("kfence.sample_interval", "KFENCE", (5, 12)),
    ("kmemleak", "DEBUG_KMEMLEAK", (2, 6)),
    ("nmi_watchdog", "HARDLOCKUP_DETECTOR", (2, 6)),
    ("nohz_full", "NO_HZ_FULL", (3, 10)),
    ("nosmt", "", (4, 19)),
    ("nosoftlockup", "SOFTLOCKUP_DETECTOR", (2, 6)),
    ("nowatchdog", "LOCKUP_DETECTOR", (2, 6)),
    ("preempt", "PREEMPT_DYNAMIC", (5, 12)),
    ("rcu_nocb_poll", "RCU_NOCB_CPU", (3, 8)),
    ("rcu_nocbs", "RCU_NOCB_CPU", (3, 8)),
    ("rcutree.enable_rcu_lazy", "RCU_LAZY", (6, 2)),
    ("rcutree.nohz_full_patience_delay", "", (6, 11)),
    ("rcutree.use_softirq", "", (5, 3)),
    ("rt_group_sched", "RT_GROUP_SCHED", (6, 16)),
    ("threadirqs", "IRQ_FORCED_THREADING", (2, 6)),
    ("transparent_hugepage", "TRANSPARENT_HUGEPAGE", (2, 6)),
    ("workqueue.unbound_cpus", "", (6, 6)),
    ("zswap.enabled", "ZSWAP", (3, 11)),
];

/// An unknown flag makes kernels before 5.6 ignore all of isolcpus= (commit 11ea68f553e2).
const MANAGED: (u32, u32) = (5, 6);

/// Why a parameter does nothing on a kernel, or may do nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    pub is_certain: bool,
    pub why: String,
}

impl Rules {
    /// Why the running kernel does not take a parameter, as written on its command line; `None` if it does.
    pub fn misfit(&self, machine: &dyn Machine, context: &Context, word: &str) -> Option<Misfit> {
        misfit(&self.sight(machine, context, Offers::default()), word)
    }
}

pub(super) fn misfit(sight: &Sight, word: &str) -> Option<Misfit> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let found = NEEDS.iter().find(|(known, ..)| *known == name.replace('-', "_"));
    let &(_, option, release) = found.unwrap_or(&("", "", (0, 0)));
    let is_managed = name == "isolcpus" && value.contains("managed_irq");
    let (option, release) = match name {
        "isolcpus" => ("CPU_ISOLATION", if is_managed { MANAGED } else { release }),
        _ => (option, release),
    };
    too_old(sight, name, release).or_else(|| without(sight, name, option))
}

fn too_old(sight: &Sight, name: &str, (major, minor): (u32, u32)) -> Option<Misfit> {
    let is_too_old = running(sight).is_some_and(|release| release < (major, minor));
    let why = || format!("no effect: {name} with this value came with Linux {major}.{minor}");
    is_too_old.then(|| Misfit { is_certain: true, why: why() })
}

fn without(sight: &Sight, name: &str, option: &str) -> Option<Misfit> {
    let is_always_on = option.is_empty() || (name == "isolcpus" && running(sight).is_some_and(|r| r < (4, 15)));
    if is_always_on {
        return None;
    }
    let unknown = |why: String| {
        let why = format!("not known to have an effect (needs CONFIG_{option}): {why}");
        Some(Misfit { is_certain: false, why })
    };
    match sight.config().as_ref().map(|config| config.get(option)) {
        Ok(Setting::Is(value)) if value != "n" => None,
        Ok(Setting::Is(_) | Setting::Off) => {
            let why = format!("no effect: this kernel is built without CONFIG_{option}");
            Some(Misfit { is_certain: true, why })
        }
        Ok(Setting::Unknown) => unknown("the configuration may be cut".to_owned()),
        Err(error) => unknown(config_gap(error).describe()),
    }
}

/// The running kernel's release; `None` if it cannot be read.
pub(super) fn running(sight: &Sight) -> Option<(u32, u32)> {
    let release = sight.text("/proc/sys/kernel/osrelease", &mut Notes::default()).ok()?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    Some((numbers.next()??, numbers.next()??))
}
