//! What a kernel needs so that a parameter does something: its option, and the releases that know it.

use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::releases;
use crate::probes::kernel::{backports, release};
use crate::sight::{Notes, Sight, config_gap};
use crate::{Context, Offers, Rules};
use punctual_machine::{Machine, Setting};

/// Parameter, and its option (without `CONFIG_`). Sources: Documentation/admin-guide/kernel-parameters.txt and the file that
/// handles each: kernel/sched/isolation.c, kernel/rcu/tree_nocb.h, kernel/sched/core.c, drivers/cpufreq/cpufreq.c,
/// kernel/watchdog.c.
const NEEDS: &[(&str, &str)] = &[
    ("audit", "AUDIT"),
    ("cpufreq.default_governor", "CPU_FREQ"),
    ("efi", "EFI"),
    ("intel_pstate", "X86_INTEL_PSTATE"),
    ("iommu.strict", "IOMMU_DMA"),
    ("isolcpus", "CPU_ISOLATION"),
    ("kfence.sample_interval", "KFENCE"),
    ("kmemleak", "DEBUG_KMEMLEAK"),
    ("nmi_watchdog", "HARDLOCKUP_DETECTOR"),
    ("nohz_full", "NO_HZ_FULL"),
    ("nosoftlockup", "SOFTLOCKUP_DETECTOR"),
    ("nowatchdog", "LOCKUP_DETECTOR"),
    ("preempt", "PREEMPT_DYNAMIC"),
    ("rcu_nocb_poll", "RCU_NOCB_CPU"),
    ("rcu_nocbs", "RCU_NOCB_CPU"),
    ("rcutree.enable_rcu_lazy", "RCU_LAZY"),
    ("rt_group_sched", "RT_GROUP_SCHED"),
    ("threadirqs", "IRQ_FORCED_THREADING"),
    ("transparent_hugepage", "TRANSPARENT_HUGEPAGE"),
    ("zswap.enabled", "ZSWAP"),
];

/// With an effect only since this release, though earlier ones know the name: iommu.strict= is that of arm64 alone before;
/// efi=noruntime, nohz_full, rcu_nocbs, intel_pstate and nosmt are older than what [`releases`] lists.
const SINCE: &[(&str, Release)] = &[
    ("efi", (3, 12)),
    ("intel_pstate", (3, 9)),
    ("iommu.strict", (5, 14)),
    ("nohz_full", (3, 10)),
    ("nosmt", (4, 19)),
    ("rcu_nocb_poll", (3, 8)),
    ("rcu_nocbs", (3, 8)),
    ("rcutree.use_softirq", (5, 3)),
    ("zswap.enabled", (3, 11)),
];

/// An unknown flag makes kernels before 5.6 ignore all of isolcpus= (commit 11ea68f553e2).
const MANAGED: Release = (5, 6);

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
    lacks(sight, word).or_else(|| without(sight, &key(word)))
}

fn lacks(sight: &Sight, word: &str) -> Option<Misfit> {
    let release = running(sight)?;
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let since = match name {
        "isolcpus" if value.contains("managed_irq") => Some(MANAGED),
        _ => SINCE.iter().find(|(known, _)| *known == key(word)).map(|(_, since)| *since),
    };
    let too_old = since.filter(|since| release < *since);
    let too_old = too_old.map(|(major, minor)| format!("{name} with this value came with Linux {major}.{minor}"));
    let why = too_old.or_else(|| releases::lacks(word, release))?;
    Some(match backports(sight) {
        true => {
            Misfit { is_certain: false, why: format!("not known to have an effect: {why}, unless it was backported") }
        }
        false => Misfit { is_certain: true, why: format!("no effect: {why}") },
    })
}

fn without(sight: &Sight, name: &str) -> Option<Misfit> {
    let (_, option) = NEEDS.iter().find(|(known, _)| *known == name)?;
    // Before 4.15 CPU_ISOLATION was not optional.
    if name == "isolcpus" && running(sight).is_some_and(|release| release < (4, 15)) {
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
pub(super) fn running(sight: &Sight) -> Option<Release> {
    release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor))
}
