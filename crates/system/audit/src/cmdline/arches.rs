//! Parameters that only some architectures have.

use super::list::Release;
use super::names::key;
use super::releases::show;
use punctual_machine::{Since, architectures_with};

const X86: &[Since] = &[("x86", EVER, EVER)];
/// arch/powerpc/kernel/security.c.
const POWERPC: &[Since] = &[("powerpc", EVER, EVER)];
const EVER: Release = (0, 0);

/// Parameters whose handlers are below arch/ or in drivers of one architecture, or depend on what an architecture
/// supports: nosmt on HOTPLUG_SMT (commit 05736e4ac13c; arch/*/Kconfig, arch/s390/kernel/smt.c), mitigations= on uses of
/// cpu_mitigations_off(), processor.max_cstate on ACPI_PROCESSOR_CSTATE (drivers/acpi/Kconfig).
const PARAMETERS: &[(&str, &[Since])] = &[
    ("amd_iommu", X86),
    ("amd_pstate", X86),
    ("hpet", X86),
    ("idle", X86),
    ("intel_idle.max_cstate", X86),
    ("intel_iommu", &[("ia64", EVER, EVER), ("x86", EVER, EVER)]),
    ("intel_pstate", X86),
    ("kpti", &[("arm64", EVER, EVER)]),
    ("l1tf", X86),
    ("mce", X86),
    ("mds", X86),
    (
        "mitigations",
        &[
            ("arm64", EVER, EVER),
            ("powerpc", EVER, EVER),
            ("riscv", (6, 13), (6, 14)),
            ("s390", EVER, EVER),
            ("x86", EVER, EVER),
        ],
    ),
    ("mmio_stale_data", X86),
    ("no_entry_flush", POWERPC),
    ("no_rfi_flush", POWERPC),
    ("no_stf_barrier", POWERPC),
    ("no_uaccess_flush", POWERPC),
    ("nohalt", &[("ia64", EVER, EVER)]),
    // GENERIC_IDLE_POLL_SETUP (kernel/sched/idle.c; arch/*/Kconfig of 3.10 to 7.1).
    (
        "nohlt",
        &[
            ("arm", EVER, EVER),
            ("arm64", (3, 14), (4, 4)),
            ("microblaze", EVER, EVER),
            ("mips", (6, 1), (6, 6)),
            ("powerpc", (6, 1), (6, 6)),
            ("riscv", (5, 14), (5, 15)),
            ("sh", EVER, EVER),
        ],
    ),
    ("nohpet", X86),
    ("nopti", &[("powerpc", EVER, EVER), ("x86", EVER, EVER)]),
    (
        "nosmt",
        &[
            ("arm64", (6, 14), (6, 17)),
            ("mips", (6, 14), (6, 17)),
            ("powerpc", (6, 4), (6, 6)),
            ("s390", (3, 18), (4, 1)),
            // Backported to stable releases of 4.9 to 4.18.
            ("x86", (4, 8), (4, 19)),
        ],
    ),
    ("nospec_store_bypass_disable", &[("powerpc", EVER, EVER), ("x86", EVER, EVER)]),
    ("nospectre_bhb", &[("arm64", EVER, EVER)]),
    ("nospectre_v1", &[("powerpc", EVER, EVER), ("x86", EVER, EVER)]),
    ("nospectre_v2", &[("arm64", EVER, EVER), ("powerpc", EVER, EVER), ("s390", EVER, EVER), ("x86", EVER, EVER)]),
    ("notsc", X86),
    ("processor.max_cstate", &[("ia64", EVER, EVER), ("x86", EVER, EVER)]),
    ("pti", X86),
    ("retbleed", X86),
    ("spec_store_bypass_disable", &[("powerpc", EVER, EVER), ("x86", EVER, EVER)]),
    ("spectre_bhi", X86),
    ("spectre_v2", &[("s390", EVER, EVER), ("x86", EVER, EVER)]),
    ("spectre_v2_user", X86),
    ("srbds", X86),
    ("ssbd", &[("arm64", EVER, EVER)]),
    ("tsc", X86),
    ("tsx", X86),
    ("tsx_async_abort", X86),
];

/// Returns the folder of arch/ for a machine (`uname -m`).
pub(crate) fn folder(machine: &str) -> &str {
    match machine {
        "x86_64" | "i386" | "i486" | "i586" | "i686" => "x86",
        "aarch64" | "armv8l" => "arm64",
        _ => ["arm", "loongarch", "mips", "ppc", "riscv", "s390", "sh", "sparc"]
            .into_iter()
            .find(|name| machine.starts_with(name))
            .map_or(machine, |name| if name == "ppc" { "powerpc" } else { name }),
    }
}

fn since(key: &str) -> Option<&'static [Since]> {
    match key {
        "preempt" => architectures_with("PREEMPT_DYNAMIC"),
        "threadirqs" => architectures_with("IRQ_FORCED_THREADING"),
        name => PARAMETERS.iter().find(|(known, _)| *known == name).map(|(_, since)| *since),
    }
}

/// Returns true for a parameter that only kernels for x86 have, or one of a module that only PCs use.
pub(crate) fn is_x86_only(word: &str) -> bool {
    let of_module = ["i915.", "intel_idle.", "kvm_amd.", "kvm_intel."].iter().any(|begin| key(word).starts_with(begin));
    // intel_iommu= also exists on ia64, which Linux no longer supports.
    of_module || key(word) == "intel_iommu" || since(&key(word)) == Some(X86)
}

fn names(since: &[Since]) -> String {
    since.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

/// Returns the architectures with a parameter, as `NAME on …`; `None` if all have it.
pub(crate) fn only(word: &str) -> Option<String> {
    let key = key(word);
    since(&key).map(|since| format!("{key} on {}", names(since)))
}

/// Explains why a kernel for this machine (`uname -m`) does not support a parameter that others do, as a sentence;
/// `None` if it does, or if that is unknown.
pub(crate) fn lacks_on(word: &str, release: Option<Release>, machine: &str) -> Option<String> {
    let key = key(word);
    let since = since(&key)?;
    let folder = folder(machine);
    match since.iter().find(|(name, ..)| *name == folder) {
        Some((_, without, with)) if release.is_some_and(|release| release <= *without) => {
            let release = release.map(show).unwrap_or_default();
            Some(format!("{key} is supported since Linux {} on {machine}, but this is {release}", show(*with)))
        }
        Some(_) => None,
        None => Some(format!("{key} is supported on {} only, not on {machine}", names(since))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_decides() {
        for (word, release, machine, expected) in [
            ("preempt=full", Some((5, 15)), "aarch64", Some("since Linux 5.18 on aarch64, but this is 5.15")),
            ("preempt=full", Some((5, 18)), "aarch64", None),
            ("preempt=full", Some((5, 15)), "x86_64", None),
            ("preempt=full", Some((5, 10)), "mips", Some("not on mips")),
            ("preempt=full", Some((6, 18)), "armv7l", Some("not on armv7l")),
            ("preempt=full", Some((6, 15)), "ppc64le", Some("since Linux 6.16 on ppc64le, but this is 6.15")),
            ("preempt=full", Some((6, 16)), "ppc64le", None),
            ("no_stf_barrier", None, "x86_64", Some("on powerpc only, not on x86_64")),
            ("threadirqs", Some((3, 2)), "arm", Some("since Linux 3.12 on arm")),
            ("threadirqs", Some((3, 14)), "armv7l", None),
            ("threadirqs", None, "s390x", Some("not on s390x")),
            ("threadirqs", None, "aarch64", None),
            ("nosmt", Some((5, 10)), "riscv64", Some("not on riscv64")),
            ("nosmt", Some((3, 2)), "x86_64", Some("since Linux 4.19")),
            ("mitigations=off", Some((6, 12)), "mips64", Some("not on mips64")),
            ("mitigations=off", None, "aarch64", None),
            ("idle=poll", None, "aarch64", Some("supported on x86 only, not on aarch64")),
            ("idle=poll", None, "i686", None),
            ("processor.max_cstate=1", None, "riscv64", Some("not on riscv64")),
            ("spectre_v2=off", None, "arm", Some("not on arm")),
            ("nopti", None, "ppc64le", None),
            ("nohalt", None, "x86_64", Some("ia64 only")),
            ("isolcpus=2", Some((5, 15)), "aarch64", None),
        ] {
            let said = lacks_on(word, release, machine);
            let is_said = said.as_ref().zip(expected).map(|(said, part)| said.contains(part));
            assert!(said.is_some() == expected.is_some() && is_said != Some(false), "{word} {machine}: {said:?}");
        }
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(PARAMETERS.is_sorted() && PARAMETERS.iter().all(|(_, since)| since.is_sorted()));
    }
}
