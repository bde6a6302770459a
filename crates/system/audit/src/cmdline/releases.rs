//! Parameters by release of Linux.

use super::list::Release;
use super::names::key;
use std::sync::LazyLock;

/// The releases whose sources `parameters.txt` was made from; the first one is 2.6.39.
const LISTED: [Release; 22] = [
    (2, 6),
    (3, 2),
    (3, 4),
    (3, 10),
    (3, 12),
    (3, 14),
    (3, 16),
    (3, 18),
    (4, 1),
    (4, 4),
    (4, 9),
    (4, 14),
    (4, 16),
    (4, 19),
    (5, 4),
    (5, 10),
    (5, 15),
    (6, 1),
    (6, 6),
    (6, 12),
    (6, 18),
    (7, 2),
];

/// One parameter per line: its name and, unless every listed release has it, the first and the last release that have
/// it; an omitted bound means the corresponding bound of the list. The names are those of __setup(), early_param(),
/// early_param_on_off() and core_param() outside arch/ and below arch/{x86,arm,arm64,riscv,powerpc,s390,loongarch}, of
/// Documentation/admin-guide/kernel-parameters.txt, and of module_param() in code that is always built in (kernel/rcu,
/// kernel/workqueue.c, kernel/printk, kernel/time/clocksource.c, mm/kfence, mm/zswap.c, drivers/cpufreq/cpufreq.c,
/// drivers/cpuidle, drivers/idle, drivers/acpi/processor_*.c, drivers/pci/pcie/aspm.c). No bounds are given for
/// mitigations, which stable releases backport, for parameters that only documents name, and for those that some
/// release or a program parses by other means (dyndbg, hostname).
const PARAMETERS: &str = include_str!("parameters.txt");

/// Parameters whose first release is known exactly: commits 826bfeb37bb4, 8412b4563e59, ace3c5499e61, 7f66f099de4d,
/// 68d124b09999, 0ce20dd84089, a831881be220, 3fbfbf7a3b66, 3705b88db0d7, 5307c9556bc1, 5a9be7c628c3, 3e42ec1aa716,
/// 98af8452945c; kernel-parameters.txt of 6.16; the files of the handlers in the releases before and after.
const SINCE: &[(&str, Release)] = &[
    ("cpufreq.default_governor", (5, 9)),
    ("cpuidle.off", (3, 1)),
    ("intel_pstate", (3, 9)),
    ("kfence.sample_interval", (5, 12)),
    ("mitigations", (5, 2)),
    ("nohz_full", (3, 10)),
    ("numa_balancing", (3, 8)),
    ("preempt", (5, 12)),
    ("rcu_nocb_poll", (3, 8)),
    ("rcu_nocbs", (3, 8)),
    ("rcupdate.rcu_expedited", (3, 8)),
    ("rcupdate.rcu_normal", (4, 5)),
    ("rcupdate.rcu_normal_after_boot", (4, 5)),
    ("rcutree.enable_rcu_lazy", (6, 8)),
    ("rcutree.kthread_prio", (3, 19)),
    ("rcutree.nohz_full_patience_delay", (6, 11)),
    ("rcutree.use_softirq", (5, 3)),
    ("rt_group_sched", (6, 16)),
    ("skew_tick", (3, 5)),
    ("workqueue.unbound_cpus", (6, 6)),
    ("zswap.enabled", (3, 11)),
];

/// Parameters about mitigations of processor vulnerabilities, with the mainline release that added them on x86 (kpti,
/// nospectre_bhb and ssbd: on 64-bit Arm). Many of them were backported to stable releases and to distributions'
/// kernels.
const MITIGATED: &[(&str, Release)] = &[
    ("gather_data_sampling", (6, 5)),
    ("indirect_target_selection", (6, 15)),
    ("kpti", (4, 16)),
    ("l1tf", (4, 19)),
    ("mds", (5, 2)),
    ("mitigations", (5, 2)),
    ("mmio_stale_data", (5, 19)),
    ("nopti", (4, 15)),
    ("nospec_store_bypass_disable", (4, 17)),
    ("nospectre_bhb", (5, 17)),
    ("nospectre_v1", (5, 3)),
    ("nospectre_v2", (4, 15)),
    ("pti", (4, 15)),
    ("reg_file_data_sampling", (6, 9)),
    ("retbleed", (5, 19)),
    ("spec_rstack_overflow", (6, 5)),
    ("spec_store_bypass_disable", (4, 17)),
    ("spectre_bhi", (6, 9)),
    ("spectre_v2", (4, 15)),
    ("spectre_v2_user", (5, 0)),
    ("srbds", (5, 8)),
    ("ssbd", (4, 19)),
    ("tsa", (6, 16)),
    ("tsx", (5, 4)),
    ("tsx_async_abort", (5, 4)),
    ("vmscape", (6, 17)),
];

/// A parameter, the folder of arch/ if the entry is for one architecture only, and the first patch level of each stable
/// series that has the parameter.
type Stable = (&'static str, Option<&'static str>, &'static [(u32, u32, u32)]);

/// Stable releases to which a parameter was backported: commits 98af8452945c (5.2) and a2059825986a (5.3, on x86;
/// powerpc had nospectre_v1 before).
const STABLE: &[Stable] = &[
    ("mitigations", None, &[(3, 16, 68), (4, 4, 180), (4, 9, 176), (4, 14, 119), (4, 19, 43), (5, 0, 16), (5, 1, 2)]),
    ("nospectre_v1", Some("x86"), &[(4, 14, 137), (4, 19, 65), (5, 2, 7)]),
];

/// Like [`lacks`], but also considers the patch level. `arch` is a folder of arch/. Distributions number their kernels
/// `4.19.0`, which does not show what was backported to them.
pub(crate) fn lacks_at(word: &str, (major, minor, patch): (u32, u32, u32), arch: Option<&str>) -> Option<String> {
    let key = key(word);
    let (.., since) = STABLE.iter().find(|(name, of, _)| *name == key && (of.is_none() || *of == arch))?;
    let (.., since) = since.iter().find(|known| (known.0, known.1) == (major, minor))?;
    let lacks = (1..*since).contains(&patch);
    lacks
        .then(|| format!("{key} is supported since Linux {major}.{minor}.{since}, and this is {major}.{minor}.{patch}"))
}

/// Returns true for a parameter about a mitigation that mainline added after this release: only the patch level or the
/// distributor of the kernel shows whether it has the parameter.
pub(crate) fn may_be_backported(word: &str, release: Release) -> bool {
    let key = key(word);
    MITIGATED.iter().any(|(name, since)| *name == key && release < *since)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameter {
    name: &'static str,
    /// First release that has the parameter; `None` for the first listed release or an earlier one.
    first: Option<Release>,
    /// Last release that has the parameter; `None` for the last listed release or a later one.
    last: Option<Release>,
}

/// Returns all listed parameters, sorted by name.
fn parameters() -> &'static [Parameter] {
    static LIST: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
        let parameters = PARAMETERS.lines().map(|line| {
            let (name, range) = line.split_once(' ').unwrap_or((line, "-"));
            let (first, last) = range.split_once('-').unwrap_or_default();
            Parameter { name, first: number(first), last: number(last) }
        });
        parameters.collect()
    });
    &LIST
}

fn find(key: &str) -> Option<&'static Parameter> {
    let at = parameters().binary_search_by(|parameter| parameter.name.cmp(key)).ok()?;
    parameters().get(at)
}

fn number(text: &str) -> Option<Release> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns true for a parameter of any listed release.
pub(crate) fn is_listed(key: &str) -> bool {
    find(key).is_some()
}

/// Returns true if the list of a release, or the lists of both its neighbours, contain the parameter.
pub(crate) fn has(word: &str, release: Release) -> bool {
    let key = key(word);
    // Only the last of the 2.6 releases is listed.
    let is_covered = LISTED[1] <= release && release <= LISTED[LISTED.len() - 1];
    let has = |Parameter { first, last, .. }: &Parameter| {
        first.is_none_or(|first| first <= release) && last.is_none_or(|last| release <= last)
    };
    is_covered && !may_be_backported(&key, release) && find(&key).is_some_and(has)
}

/// Returns the parameters that a release may have, or the parameters of all listed releases if the release is unknown.
pub(super) fn of(release: Option<Release>) -> impl Iterator<Item = &'static str> {
    let has = move |parameter: &&Parameter| release.is_none_or(|release| parameter.lacks(release).is_none());
    parameters().iter().filter(has).map(|parameter| parameter.name)
}

/// Explains why a mainline kernel of this release does not support a parameter that other releases do, as a sentence.
pub(crate) fn lacks(word: &str, release: Release) -> Option<String> {
    let key = key(word);
    let stable = STABLE.iter().find(|(name, ..)| *name == key).map(|(.., stable)| *stable).unwrap_or_default();
    let is_backported = stable.iter().any(|known| (known.0, known.1) == release);
    let why = match SINCE.iter().find(|(name, _)| *name == key) {
        _ if is_backported => None,
        Some((_, since)) if release < *since => Some(format!("since Linux {}", show(*since))),
        Some(_) => None,
        None => find(&key)?.lacks(release),
    }?;
    Some(format!("{key} is supported {why}, but this is {}", show(release)))
}

/// Explains why a kernel that accepts the parameter does nothing with it: elevator_setup() of block/elevator.c only
/// prints a message since Linux 5.4, and the schedulers it chose were removed in 5.0.
pub(crate) fn ignores(word: &str, release: Release) -> Option<String> {
    (key(word) == "elevator" && release >= (5, 0)).then(|| {
        "elevator= has no effect since Linux 5.0: /sys/block/*/queue/scheduler chooses the scheduler".to_owned()
    })
}

/// Returns since which release Linux has a parameter, as `NAME since …`; `None` if every listed release has it.
pub(crate) fn since(word: &str) -> Option<String> {
    let key = key(word);
    let since = match SINCE.iter().find(|(name, _)| *name == key) {
        Some((_, since)) => format!("since Linux {}", show(*since)),
        None => find(&key)?.lacks((0, 0))?,
    };
    Some(format!("{key} {since}"))
}

impl Parameter {
    /// Returns `since …` or `until …`; `None` if the release has the parameter, or is between a release that has it and
    /// a release that does not.
    fn lacks(&self, release: Release) -> Option<String> {
        let before = self.first.and_then(|first| LISTED.iter().rev().find(|listed| **listed < first));
        let after = self.last.and_then(|last| LISTED.iter().find(|listed| **listed > last));
        match (before, after) {
            (Some(before), _) if release <= *before => {
                Some(format!("since Linux {} (not yet in {})", show(self.first?), show(*before)))
            }
            (_, Some(after)) if release >= *after => {
                Some(format!("until Linux {} (no longer in {})", show(self.last?), show(*after)))
            }
            _ => None,
        }
    }
}

/// Names the lists in which a parameter was looked up: the lists of the release or of its neighbours, or all lists if
/// the release is outside their range.
pub(crate) fn searched(release: Option<Release>) -> String {
    let (first, last) = (LISTED[0], LISTED[LISTED.len() - 1]);
    let all = format!("{} to {}", show(first), show(last));
    let Some(release) = release else {
        return all;
    };
    let below = LISTED.iter().rev().find(|listed| **listed <= release);
    let above = LISTED.iter().find(|listed| **listed >= release);
    match (below, above) {
        (Some(below), Some(above)) if below == above => show(release),
        (Some(below), Some(above)) => format!("{} and {}", show(*below), show(*above)),
        _ => format!("{all} (no list exists for {})", show(release)),
    }
}

pub(super) fn show((major, minor): Release) -> String {
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_its_ranges_are_listed_releases() {
        let all = parameters();
        assert!(all.len() > 900);
        assert!(all.windows(2).all(|two| two[0].name < two[1].name));
        for &Parameter { name, first, last } in all {
            assert!(first.is_none_or(|first| LISTED[1..].contains(&first)), "{name}");
            assert!(last.is_none_or(|last| LISTED[..LISTED.len() - 1].contains(&last)), "{name}");
            assert!(first.zip(last).is_none_or(|(first, last)| first <= last), "{name}");
            assert!(
                PARAMETERS.lines().any(|line| line.split(' ').next() == Some(name) && line.matches(' ').count() < 2)
            );
        }
    }

    #[test]
    fn exact_releases_agree_with_the_list() {
        for (name, since) in SINCE {
            let found = find(name).unwrap_or_else(|| panic!("{name}"));
            let before = found.first.and_then(|first| LISTED.iter().rev().find(|listed| **listed < first));
            assert!(before.is_none_or(|before| before < since), "{name}");
            assert!(found.first.is_none_or(|first| first >= *since), "{name}");
        }
    }

    #[test]
    fn each_release_has_its_own_parameters() {
        for (word, release, expected) in [
            ("preempt=full", (5, 10), Some("since Linux 5.12")),
            ("preempt=full", (5, 11), Some("since Linux 5.12")),
            ("preempt=full", (5, 15), None),
            ("sched_debug", (5, 10), None),
            ("sched_debug", (5, 12), None),
            ("sched_debug", (5, 15), Some("until Linux 5.10 (no longer in 5.15)")),
            ("sched_debug", (6, 18), Some("no longer in 5.15")),
            ("sched_verbose", (5, 10), Some("since Linux 5.15 (not yet in 5.10)")),
            ("sched_verbose", (4, 19), Some("since Linux 5.15")),
            ("rcutree.enable_rcu_lazy=1", (6, 6), Some("since Linux 6.8")),
            ("rcutree.enable_rcu_lazy=1", (6, 8), None),
            ("workqueue.default_affinity_scope=cpu", (6, 1), Some("since Linux 6.6 (not yet in 6.1)")),
            ("workqueue.disable_numa", (6, 6), Some("until Linux 6.1")),
            ("workqueue.disable_numa", (6, 1), None),
            ("cpu0_hotplug", (6, 12), Some("until Linux 6.1")),
            ("rt-group-sched=0", (6, 12), Some("rt_group_sched is supported since Linux 6.16")),
            ("cpufreq.default_governor=performance", (5, 10), None),
            ("cpufreq.default_governor=performance", (4, 19), Some("since Linux 5.9")),
            ("rcutree.rcu_delay_page_cache_fill_msec=1", (5, 10), Some("since Linux 5.15")),
            ("rcutree.rcu_delay_page_cache_fill_msec=1", (6, 1), None),
            ("rcutree.rcu_delay_page_cache_fill_msec=1", (6, 18), Some("until Linux 6.12")),
            ("rcutree.rcu_delay_page_cache_fill_msec=1", (6, 14), None),
            ("isolcpus=2", (2, 6), None),
            ("skew_tick=1", (2, 6), Some("skew_tick is supported since Linux 3.5")),
            ("rcu_nocbs=2", (3, 4), Some("since Linux 3.8")),
            ("nohz_full=2", (3, 10), None),
            ("mitigations=off", (4, 19), None),
            ("spectre_bhi=on", (5, 15), None),
            // ddebug_dyndbg_boot_param_cb() of lib/dynamic_debug.c.
            ("dyndbg=+p", (5, 10), None),
            ("no_such_parameter", (6, 12), None),
        ] {
            let said = lacks(word, release);
            match expected {
                Some(text) => assert!(said.as_deref().is_some_and(|said| said.contains(text)), "{word}: {said:?}"),
                None => assert_eq!(said, None, "{word}"),
            }
        }
    }

    #[test]
    fn what_a_release_ignores_is_said() {
        assert!(ignores("elevator=noop", (5, 4)).is_some());
        assert!(ignores("elevator=noop", (4, 19)).is_none() && ignores("quiet", (6, 12)).is_none());
    }

    #[test]
    fn the_first_release_is_told() {
        assert_eq!(since("preempt=full").as_deref(), Some("preempt since Linux 5.12"));
        assert_eq!((since("isolcpus=2"), since("no_such_parameter")), (None, None));
    }

    #[test]
    fn a_patch_level_decides_what_stable_releases_took_over() {
        let at = |word, release, arch| lacks_at(word, release, Some(arch));
        assert!(at("mitigations=off", (4, 19, 13), "arm64").is_some_and(|said| said.contains("4.19.43")));
        assert!(at("nospectre_v1", (4, 19, 13), "x86").is_some_and(|said| said.contains("4.19.65")));
        for (word, release, arch) in [
            ("mitigations=off", (4, 19, 43), "x86"),
            ("mitigations=off", (4, 19, 0), "x86"),
            ("nopti", (4, 19, 13), "x86"),
            ("nospectre_v1", (4, 19, 65), "x86"),
            ("nospectre_v1", (4, 19, 13), "powerpc"),
        ] {
            assert_eq!(at(word, release, arch), None, "{word} {release:?}");
        }
        assert!(may_be_backported("srbds=off", (5, 4)) && !may_be_backported("srbds=off", (5, 10)));
        assert!(MITIGATED.is_sorted() && STABLE.is_sorted());
    }

    #[test]
    fn a_listed_release_has_its_parameters() {
        assert!(has("isolcpus=2", (5, 10)) && has("sched_debug", (5, 10)) && !has("sched_debug", (5, 12)));
        assert!(has("isolcpus=2", (4, 19)) && !has("isolcpus=2", (2, 6)) && !has("no_such_parameter", (5, 10)));
    }

    #[test]
    fn what_was_searched_is_said() {
        assert_eq!(searched(Some((6, 1))), "6.1");
        assert_eq!(searched(Some((6, 8))), "6.6 and 6.12");
        assert_eq!(searched(Some((4, 20))), "4.19 and 5.4");
        assert_eq!(searched(Some((7, 3))), "2.6 to 7.2 (no list exists for 7.3)");
        assert_eq!(searched(None), "2.6 to 7.2");
    }
}
