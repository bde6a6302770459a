//! Names of kernel parameters, and detection of misspelt ones.

use super::list::Release;
use super::{foreign, releases, values};

/// Parameters of user space (dracut, plymouth, cloud images), of patched kernels, and of earlier kernels.
const OTHERS: &str = include_str!("others.txt");

/// Parameters that tune latency. The kernel never reports module parameters, which have a dot, as unknown.
pub(crate) const TUNING: &[&str] = &[
    "isolcpus",
    "nohz_full",
    "nohz",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "kthread_cpus",
    "threadirqs",
    "skew_tick",
    "preempt",
    "idle",
    "tsc",
    "clocksource",
    "mce",
    "nosmt",
    "mitigations",
    "nosoftlockup",
    "nowatchdog",
    "nmi_watchdog",
    "watchdog",
    "audit",
    "efi",
    "highres",
    "intel_pstate",
    "amd_pstate",
    "transparent_hugepage",
    "hugepages",
    "rt_group_sched",
    "cpufreq.default_governor",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "cpuidle.off",
    "pcie_aspm.policy",
    "pcie_aspm",
    "workqueue.unbound_cpus",
    "rcutree.kthread_prio",
    "dwc_otg.fiq_enable",
    "dwc_otg.fiq_fsm_enable",
    "systemd.cpu_affinity",
    "kfence.sample_interval",
];

/// Parameters of modules that users confuse with another module of the same driver (drivers/nvme/host/pci.c, core.c).
const OF_MODULES: &[&str] = &[
    "nvme.poll_queues",
    "nvme.use_threaded_interrupts",
    "nvme.write_queues",
    "nvme_core.default_ps_max_latency_us",
    "nvme_core.multipath",
];

/// Normalises the name of a parameter: `-` and `_` are equal (kernel/params.c, parameq).
pub(crate) fn key(word: &str) -> String {
    word.split_once('=').map_or(word, |(key, _)| key).replace('-', "_")
}

pub(crate) fn is_tuning(word: &str) -> bool {
    TUNING.contains(&key(word).as_str())
}

/// Handlers of __setup() without `=` accept every word that begins with their name (obsolete_checksetup, init/main.c):
/// kernel/watchdog.c, kernel/irq/spurious.c, arch/x86/kernel/tsc.c.
const PREFIXES: &[&str] = &["nosoftlockup", "nowatchdog", "noirqdebug", "irqpoll", "irqfixup", "notsc"];

/// Returns the parameter of this release (of any listed release if `None`) that an unknown name was probably meant to
/// be.
pub(crate) fn meant(word: &str, release: Option<Release>) -> Option<&'static str> {
    let key = key(word);
    if PREFIXES.iter().any(|name| key.starts_with(name)) {
        return None;
    }
    let is_known = releases::is_listed(&key) || OF_MODULES.contains(&key.as_str());
    if is_known || OTHERS.lines().any(|name| name == key) || TUNING.contains(&key.as_str()) {
        return None;
    }
    let has =
        |name: &&str| foreign::unknown(name).is_none() && release.is_none_or(|r| releases::lacks(name, r).is_none());
    let tuning = || TUNING.iter().copied().filter(has);
    let reach = match key.len() {
        0..=2 => return None,
        3..=4 => return tuning().find(|name| is_near_short(word, &key, name)),
        5..=7 => 1,
        _ => 2,
    };
    // Catches `intel_idle_max_cstate`.
    if let Some(dotted) = tuning().find(|name| name.contains('.') && name.replace('.', "_") == key) {
        return Some(dotted);
    }
    let alike = tuning().filter(|name| name.contains('.') == key.contains('.'));
    let near = alike.map(|name| (distance(&key, name), name)).filter(|(far, _)| *far <= reach).min();
    let same_end = || tuning().chain(OF_MODULES.iter().copied()).find(|name| differs_in_module(&key, name));
    let any = || releases::of(release).find(|name| name.len() >= 6 && distance(&key, name) <= 1);
    near.map(|(_, name)| name).or_else(|| if key.contains('.') { same_end() } else { None }).or_else(any)
}

/// Returns true if a short name has the same letters as the parameter's, or differs in one and has a value that only this
/// parameter accepts. Many short names of other programs differ in one letter.
fn is_near_short(word: &str, key: &str, name: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters = text.to_ascii_lowercase().into_bytes();
        letters.sort_unstable();
        letters
    };
    let value = word.split_once('=').map_or("", |(_, value)| value);
    distance(key, name) == 1 && (sorted(key) == sorted(name) || values::is_own(name, value))
}

/// Detects a misspelt module name, such as `intel.max_cstate` for `intel_idle.max_cstate`.
fn differs_in_module(key: &str, name: &str) -> bool {
    let (Some((module, end)), Some((other, wanted))) = (key.split_once('.'), name.split_once('.')) else {
        return false;
    };
    end == wanted && module.len() >= 4 && (other.starts_with(module) || module.starts_with(other))
}

/// Returns the number of characters inserted, omitted, replaced or exchanged with their neighbour (optimal string
/// alignment), ignoring case; a result above 2 may be returned as 3.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let (a, b) = (one.to_ascii_lowercase().into_bytes(), other.as_bytes());
    if a.len().abs_diff(b.len()) > 2 {
        return 3;
    }
    let mut rows: [Vec<usize>; 2] = [Vec::new(), (0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(3);
            let [before, above] = &rows;
            let mut least = (at(above, j) + usize::from(x != y)).min(at(above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(before, j - 1) + 1);
            }
            row.push(least);
        }
        rows.swap(0, 1);
        rows[1] = row;
    }
    let [_, last] = rows;
    // A name that differs only in case is a different name, too.
    last.last().copied().unwrap_or(3).max(usize::from(one != other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn near_misses_are_found() {
        for (word, name) in [
            ("isocpus=2,3", "isolcpus"),
            ("isolcpu=3", "isolcpus"),
            ("ISOLCPUS=3", "isolcpus"),
            ("rcu_nocb=2,3", "rcu_nocbs"),
            ("rcu_nocs=3", "rcu_nocbs"),
            ("irq_affinity=0,1", "irqaffinity"),
            ("nohzfull=3", "nohz_full"),
            ("thredirqs", "threadirqs"),
            ("skewtick=1", "skew_tick"),
            ("pcie_asmp=off", "pcie_aspm"),
            ("intel_idle.max_cstates=0", "intel_idle.max_cstate"),
            ("processor.max_cstates=1", "processor.max_cstate"),
            ("intel.max_cstate=0", "intel_idle.max_cstate"),
            ("processor_idle.max_cstate=0", "processor.max_cstate"),
            ("dis_ucode_dlr", "dis_ucode_ldr"),
            ("idel=poll", "idle"),
            ("ilde=poll", "idle"),
            ("idl=poll", "idle"),
            ("tcs=reliable", "tsc"),
            ("nozh=off", "nohz"),
            ("nvme_core.poll_queues=4", "nvme.poll_queues"),
            ("mec=off", "mce"),
            ("nvme.default_ps_max_latency_us=0", "nvme_core.default_ps_max_latency_us"),
        ] {
            assert_eq!(meant(word, None), Some(name), "{word}");
        }
    }

    #[test]
    fn names_of_their_own_are_none() {
        for word in [
            "nohz-full=2",
            "splash",
            "rhgb",
            "rtc_cmos",
            "noht",
            "nohalt",
            "overlay=yes",
            "i915.enable_guc=7",
            "quiet",
            "igb.blacklist=no",
            "rcupdate.rcu_expedited=1",
            "no-steal-acc",
            "vt.handoff=1",
            "lpj=1",
            "idea=1",
            "ide=nodma",
            "ts=x",
            "edi",
            "BOOT_IMAGE=/x",
            "xenomai.smi=detect",
            "kernel.sched_pelt_multiplier=4",
            "usbcore.autosuspend=-1",
            "nohlt",
            "idl=1",
            "tpm=off",
            "usc=reliabl",
            "nosoftlockups",
            "hpet=disable",
            "kthread_cpu=0",
            "nvme.poll_queues=4",
        ] {
            assert_eq!(meant(word, None), None, "{word}");
        }
    }

    #[test]
    fn what_others_take_too_is_of_every_release() {
        for name in OTHERS.lines() {
            assert!(releases::lacks(name, (5, 10)).is_none() && releases::lacks(name, (7, 2)).is_none(), "{name}");
        }
    }

    #[test]
    fn a_release_is_near_its_own_parameters() {
        assert_eq!(meant("sched_verbos", Some((6, 1))), Some("sched_verbose"));
        assert_eq!(meant("sched_verbos", Some((5, 10))), None);
        assert_eq!(
            meant("rcutree.nohz_full_patience_dealy=9", Some((6, 12))),
            Some("rcutree.nohz_full_patience_delay")
        );
        assert_eq!(meant("rcutree.nohz_full_patience_dealy=9", Some((6, 1))), None);
        assert_eq!(meant("preemt=full", Some((5, 10))), None);
    }

    proptest! {
        #[test]
        fn any_word_is_answered(word in ".{0,30}") {
            let _ = (meant(&word, None), meant(&word, Some((5, 10))), releases::lacks(&word, (5, 10)));
        }
    }

    #[test]
    fn a_dot_for_an_underscore() {
        assert_eq!(meant("intel_idle_max_cstate=0", None), Some("intel_idle.max_cstate"));
    }
}
