//! Options that a release of Linux does not have, options that only one architecture has, and choices, of which one
//! option is on.

use crate::KernelConfig;
use crate::release::Release;

/// Options, each with the last release that lacks it: the Kconfig files of kernel/, lib/, mm/, drivers/cpufreq and
/// init/ of Linux 2.6.39 to 7.1.
const ADDED: &[(&str, Release)] = &[
    ("CPU_FREQ_DEFAULT_GOV_SCHEDUTIL", (4, 6)),
    ("CPU_ISOLATION", (4, 14)),
    ("HWLAT_TRACER", (4, 8)),
    ("HZ_PERIODIC", (3, 9)),
    ("KCSAN", (5, 7)),
    ("KFENCE", (5, 11)),
    ("KMSAN", (6, 0)),
    ("NO_HZ_COMMON", (3, 9)),
    ("NO_HZ_FULL", (3, 9)),
    ("OSNOISE_TRACER", (5, 12)),
    ("PAGE_TABLE_CHECK", (5, 15)),
    ("RCU_LAZY", (6, 1)),
    ("RCU_NOCB_CPU", (3, 7)),
    ("RCU_NOCB_CPU_CB_BOOST", (5, 19)),
    ("RT_GROUP_SCHED_DEFAULT_DISABLED", (6, 14)),
    ("SCHED_STACK_END_CHECK", (3, 17)),
    ("TIMERLAT_TRACER", (5, 12)),
];

/// Options, each with the first release that no longer has it.
const REMOVED: &[(&str, Release)] = &[
    ("DEBUG_CREDENTIALS", (6, 7)),
    // Replaced by PREEMPT_RT in the real-time patches for 5.4.
    ("PREEMPT_RT_FULL", (5, 4)),
    ("RCU_NOCB_CPU_ALL", (4, 13)),
    ("TIMER_STATS", (4, 11)),
];

/// A folder of arch/, the last release known to lack an option there, and the first known to have it.
pub type Since = (&'static str, (u32, u32), (u32, u32));

/// Options that depend on what an architecture selects (arch/*/Kconfig of Linux 2.6.39 to 7.1): HAVE_PREEMPT_DYNAMIC
/// (commits 826bfeb37bb4, 1b2d3451ee50, 4e90d0522a68, 80c7889de7a8, 6ad7751537e8), IRQ_FORCED_THREADING.
const SELECTED: &[(&str, &[Since])] = &[
    (
        "IRQ_FORCED_THREADING",
        &[
            ("arm", (3, 11), (3, 12)),
            ("arm64", (4, 1), (4, 2)),
            ("loongarch", (5, 18), (5, 19)),
            ("mips", (3, 0), (3, 1)),
            ("powerpc", (3, 2), (3, 3)),
            ("riscv", (5, 14), (5, 15)),
            ("sh", (2, 6), (3, 0)),
            ("x86", (0, 0), (2, 6)),
        ],
    ),
    (
        "PREEMPT_DYNAMIC",
        &[
            ("arm64", (5, 17), (5, 18)),
            ("loongarch", (6, 6), (6, 7)),
            ("powerpc", (6, 15), (6, 16)),
            ("riscv", (6, 5), (6, 6)),
            ("s390", (6, 9), (6, 13)),
            ("x86", (5, 11), (5, 12)),
        ],
    ),
];

/// Returns the architectures with an option that only some have; `None` for other options.
pub fn architectures_with(option: &str) -> Option<&'static [Since]> {
    SELECTED.iter().find(|(name, _)| *name == option).map(|(_, since)| *since)
}

/// Tick rates: kernel/Kconfig.hz, and the choices of arch/{alpha,arm,mips}/Kconfig.
pub(crate) const RATES: &[&str] = &[
    "HZ_24", "HZ_32", "HZ_48", "HZ_64", "HZ_100", "HZ_128", "HZ_200", "HZ_250", "HZ_256", "HZ_300", "HZ_500",
    "HZ_1000", "HZ_1024", "HZ_1200",
];

/// Groups of options; of each group, Kconfig keeps only the last option that a file sets (conf_read_simple of
/// scripts/kconfig/confdata.c).
const CHOICES: &[&[&str]] = &[
    &["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT", "PREEMPT_LAZY"],
    &[
        "CPU_FREQ_DEFAULT_GOV_CONSERVATIVE",
        "CPU_FREQ_DEFAULT_GOV_ONDEMAND",
        "CPU_FREQ_DEFAULT_GOV_PERFORMANCE",
        "CPU_FREQ_DEFAULT_GOV_POWERSAVE",
        "CPU_FREQ_DEFAULT_GOV_SCHEDUTIL",
        "CPU_FREQ_DEFAULT_GOV_USERSPACE",
    ],
    &["HZ_PERIODIC", "NO_HZ_IDLE", "NO_HZ_FULL"],
    RATES,
    &["CMDLINE_FROM_BOOTLOADER", "CMDLINE_EXTEND", "CMDLINE_FORCE"],
];

/// Folders of arch/, each with a group of options of which its configurations set one.
const ARCHITECTURES: &[(&str, &[&str])] = &[
    ("x86", &["X86", "X86_64", "X86_32", "X86_GENERIC", "M486", "M586", "M586TSC", "M586MMX", "M686"]),
    ("arm64", &["ARM64"]),
    ("arm", &["ARM"]),
    ("riscv", &["RISCV"]),
    ("powerpc", &["PPC", "PPC32", "PPC64"]),
    ("s390", &["S390"]),
    ("mips", &["MIPS"]),
    ("loongarch", &["LOONGARCH"]),
    ("sh", &["SUPERH"]),
    ("sparc", &["SPARC", "SPARC64"]),
];

/// Beginnings of the names of options that only one architecture has, with its folder of arch/.
const PREFIXES: &[(&str, &str)] = &[
    ("ARM64_", "arm64"),
    ("LOONGARCH_", "loongarch"),
    ("MIPS32_", "mips"),
    ("MIPS_", "mips"),
    ("PPC_", "powerpc"),
    ("RISCV_", "riscv"),
    ("S390_", "s390"),
    ("X86_", "x86"),
];

/// Options of arch/arm/Kconfig and arch/arm/mm/Kconfig that no other architecture has.
const ARM: &[&str] =
    &["AEABI", "ARM_APPENDED_DTB", "ARM_ATAG_DTB_COMPAT", "ARM_LPAE", "ARM_THUMB", "ARM_THUMBEE", "ARM_UNWIND"];

/// Options of arch/arm64/Kconfig and arch/arm64/crypto/Kconfig, of arch/loongarch/Kconfig, of Kconfig.errata and
/// Kconfig.socs below arch/riscv, and of drivers/s390 that no other architecture has.
const OTHERS: &[(&str, &str)] = &[
    ("ARCH_ANDES", "riscv"),
    ("ARCH_CANAAN", "riscv"),
    ("ARCH_MICROCHIP_POLARFIRE", "riscv"),
    ("ARCH_SIFIVE", "riscv"),
    ("ARCH_SPACEMIT", "riscv"),
    ("ARCH_STARFIVE", "riscv"),
    ("ARCH_THEAD", "riscv"),
    ("ARMV8_DEPRECATED", "arm64"),
    ("CPU_HAS_LASX", "loongarch"),
    ("CPU_HAS_LSX", "loongarch"),
    ("CRYPTO_AES_ARM64_BS", "arm64"),
    ("CRYPTO_AES_ARM64_CE_BLK", "arm64"),
    ("CRYPTO_AES_ARM64_CE_CCM", "arm64"),
    ("CRYPTO_GHASH_ARM64_CE", "arm64"),
    ("CRYPTO_SHA1_ARM64_CE", "arm64"),
    ("CRYPTO_SHA2_ARM64_CE", "arm64"),
    ("CRYPTO_SHA512_ARM64_CE", "arm64"),
    ("ERRATA_ANDES", "riscv"),
    ("ERRATA_SIFIVE", "riscv"),
    ("ERRATA_THEAD", "riscv"),
    ("SOC_MICROCHIP_POLARFIRE", "riscv"),
    ("SOC_SIFIVE", "riscv"),
    ("SOC_STARFIVE", "riscv"),
    ("SOC_VIRT", "riscv"),
    ("ZCRYPT", "s390"),
];

/// Returns the only architecture that the names of the options fit; `None` if there are several.
fn by_names(config: &KernelConfig) -> Option<&'static str> {
    let of_prefix = PREFIXES.iter().filter(|(prefix, _)| config.has_on(prefix)).map(|(_, name)| *name);
    let of_arm = ARM.iter().any(|option| config.is_on(option)).then_some("arm");
    let of_others = OTHERS.iter().filter(|(option, _)| config.is_on(option)).map(|(_, name)| *name);
    let mut fitting = of_prefix.chain(of_arm).chain(of_others);
    let first = fitting.next()?;
    fitting.all(|other| other == first).then_some(first)
}

/// Returns the architecture of a configuration as a folder of arch/, determined from its options or, failing that, from
/// its heading.
pub(crate) fn architecture(config: &KernelConfig) -> Option<&'static str> {
    let is_on = |option: &&str| config.line(option).is_some_and(|(_, value)| value == "y");
    let by_option = ARCHITECTURES.iter().find(|(_, options)| options.iter().any(&is_on));
    let by_heading = || {
        let word = config.head().find_map(|line| line.strip_prefix("# Linux/"))?.split_whitespace().next()?;
        ARCHITECTURES
            .iter()
            .find(|(name, options)| *name == word || options.iter().any(|o| o.eq_ignore_ascii_case(word)))
    };
    by_option.or_else(by_heading).map(|(name, _)| *name).or_else(|| by_names(config))
}

/// Returns the other options of the choice that `option` belongs to.
pub(crate) fn rivals(option: &str) -> impl Iterator<Item = &'static str> {
    choice(option).iter().copied().filter(move |other| *other != option)
}

/// Returns the options of the choice that `option` belongs to.
pub(crate) fn choice(option: &str) -> &'static [&'static str] {
    CHOICES.iter().find(|choice| choice.contains(&option)).copied().unwrap_or_default()
}

/// Returns whether an architecture (a folder of arch/) has an option of [`architectures_with`] in this release; `None`
/// if unknown.
pub(crate) fn selects(option: &str, arch: &str, release: Release) -> Option<bool> {
    let since = architectures_with(option)?;
    let Some((_, without, with)) = since.iter().find(|(name, ..)| *name == arch) else { return Some(false) };
    if release <= *without { Some(false) } else { (release >= *with).then_some(true) }
}

/// Explains why a kernel of this release and architecture does not have the option, whatever its file says; `None` if
/// the kernel has it, or if that is unknown.
pub(crate) fn lacks(option: &str, config: &KernelConfig) -> Option<&'static str> {
    const RELEASE: &str = "not set: this release of Linux has no such option";
    let release = config.release()?;
    if ADDED.iter().any(|(name, without)| *name == option && release <= *without) {
        return Some(RELEASE);
    }
    if REMOVED.iter().any(|(name, without)| *name == option && release >= *without) {
        return Some(RELEASE);
    }
    match option {
        // The real-time patches for 3.0 to 5.2 have PREEMPT_RT_FULL instead; mainline has the option since 5.3.
        "PREEMPT_RT" if ((3, 0)..(5, 3)).contains(&release) => Some(RELEASE),
        // Only kernels with the feature, perhaps backported, have this option, which has no prompt.
        "PREEMPT_DYNAMIC" if config.is_on("HAVE_PREEMPT_DYNAMIC") && release < (5, 12) => None,
        "PREEMPT_DYNAMIC" => match architecture(config).and_then(|arch| selects(option, arch, release)) {
            Some(false) => Some("not set: Linux of this release and architecture has no such option"),
            // From 5.12 to 5.15 the option has no prompt, and PREEMPT selects it (kernel/Kconfig.preempt).
            _ if ((5, 12)..(5, 16)).contains(&release) && !config.is_on("PREEMPT") => {
                Some("not set: only PREEMPT selects it before Linux 5.16")
            }
            None if release < (5, 12) => Some(RELEASE),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_on(head: &str, option: &str) -> bool {
        let text = format!("# Linux/{head} Kernel Configuration\nCONFIG_PREEMPT=y\nCONFIG_{option}=y\n");
        KernelConfig::from_bytes("/x", text.as_bytes()).unwrap().is_on(option)
    }

    #[test]
    fn options_of_other_releases_and_architectures_are_off() {
        for (head, option, expected) in [
            ("x86 4.14.336", "PREEMPT_DYNAMIC", false),
            ("x86 5.12.1", "PREEMPT_DYNAMIC", true),
            ("mips 5.10.200", "PREEMPT_DYNAMIC", false),
            ("mips 6.18.1", "PREEMPT_DYNAMIC", false),
            ("arm64 5.17.0", "PREEMPT_DYNAMIC", false),
            ("arm64 5.18.0", "PREEMPT_DYNAMIC", true),
            ("powerpc 6.15.0", "PREEMPT_DYNAMIC", false),
            ("powerpc 6.16.0", "PREEMPT_DYNAMIC", true),
            ("x86 4.14.1", "CPU_ISOLATION", false),
            ("x86 5.12.1", "OSNOISE_TRACER", false),
            ("x86 4.19.1", "PREEMPT_RT", false),
            ("x86 2.6.33", "PREEMPT_RT", true),
            ("x86 6.6.1", "PREEMPT_RT_FULL", false),
            ("x86 6.6.1", "DEBUG_CREDENTIALS", true),
            ("x86 6.7.1", "DEBUG_CREDENTIALS", false),
            ("x86 4.19.1", "PREEMPT_RT_FULL", true),
            // A vendor's kernel may have it as a backport.
            ("x86_64 5.10.134-13.an8.x86_64", "PREEMPT_DYNAMIC", true),
            ("x86_64 5.10.134-rc1", "PREEMPT_DYNAMIC", false),
        ] {
            assert_eq!(is_on(head, option), expected, "{head} {option}");
        }
    }

    #[test]
    fn names_of_options_show_the_architecture() {
        for (text, expected) in [
            ("CONFIG_ARM64_CRYPTO=y\nCONFIG_ARM_CPUIDLE=y\n", Some("arm64")),
            ("CONFIG_ARM_THUMBEE=y\nCONFIG_AEABI=y\n", Some("arm")),
            ("CONFIG_PPC_MAPLE=y\n", Some("powerpc")),
            ("CONFIG_X86_MSR=y\nCONFIG_ARM64_CRYPTO=y\n", None),
            ("CONFIG_X86_MSR=m\n# CONFIG_ARM64_CRYPTO is not set\n", None),
            ("CONFIG_HZ=250\n", None),
            ("CONFIG_CPU_HAS_LSX=y\nCONFIG_CPU_HAS_LASX=y\n", Some("loongarch")),
            ("CONFIG_ERRATA_THEAD=y\n", Some("riscv")),
            ("CONFIG_SYSVIPC=y\nCONFIG_CRYPTO_SHA1_ARM64_CE=y\n", Some("arm64")),
        ] {
            assert_eq!(architecture(&KernelConfig::from_bytes("/x", text.as_bytes()).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn parts_of_a_configuration_decide_about_what_depends_on_them() {
        use crate::Setting;
        for (text, option, expected) in [
            ("CONFIG_PREEMPT_RT_FULL=y\n", "RT_GROUP_SCHED", Setting::Off),
            ("# CONFIG_AUDIT is not set\n", "AUDITSYSCALL", Setting::Off),
            (
                "# Linux/x86 4.6.7 Kernel Configuration\nCONFIG_PREEMPT_RT_FULL=y\n# CONFIG_RCU_EXPERT is not set\n",
                "RCU_BOOST",
                Setting::Off,
            ),
            ("# CONFIG_CGROUP_SCHED is not set\n", "RT_GROUP_SCHED", Setting::Off),
            ("CONFIG_CGROUPS=y\n", "RT_GROUP_SCHED", Setting::Unknown),
            ("# CONFIG_SMP is not set\n", "NO_HZ_FULL", Setting::Off),
            ("CONFIG_NR_CPUS=4\n", "SMP", Setting::Is("y".to_owned())),
            ("CONFIG_HZ=250\n", "SMP", Setting::Unknown),
        ] {
            let config = KernelConfig::from_bytes("/x", text.as_bytes()).unwrap();
            assert_eq!(config.get(option), expected, "{text}");
        }
    }

    #[test]
    fn before_5_16_only_preempt_selects_dynamic_preemption() {
        let text = "# Linux/x86 5.13.19 Kernel Configuration\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n";
        assert!(!KernelConfig::from_bytes("/x", text.as_bytes()).unwrap().is_on("PREEMPT_DYNAMIC"));
        let later = text.replace("5.13.19", "5.16.1");
        assert!(KernelConfig::from_bytes("/x", later.as_bytes()).unwrap().is_on("PREEMPT_DYNAMIC"));
    }

    #[test]
    fn a_backport_shows_by_what_the_architecture_selects() {
        let text = "# Linux/x86 5.11.2 Kernel Configuration\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n\
            CONFIG_HAVE_PREEMPT_DYNAMIC=y\n";
        assert!(KernelConfig::from_bytes("/x", text.as_bytes()).unwrap().is_on("PREEMPT_DYNAMIC"));
    }

    #[test]
    fn tables_are_sorted() {
        assert!(ADDED.is_sorted() && REMOVED.is_sorted() && SELECTED.is_sorted());
        assert!(SELECTED.iter().all(|(_, since)| since.is_sorted()));
    }
}
