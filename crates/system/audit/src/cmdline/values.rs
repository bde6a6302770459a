//! Values that the handlers of parameters reject or misinterpret.

use super::list::Release;
use super::names::{distance, key};
use punctual_machine::scrub;

/// Values of parameters that accept a few words and reject or ignore others: sched_dynamic_mode() of
/// kernel/sched/core.c, idle_setup() of arch/x86/kernel/process.c, tsc_setup() of arch/x86/kernel/tsc.c,
/// pcie_aspm_disable() of drivers/pci/pcie/aspm.c, setup_transparent_hugepage() of mm/huge_memory.c,
/// intel_pstate_setup() of drivers/cpufreq/intel_pstate.c, amd_pstate_param() of drivers/cpufreq/amd-pstate.c,
/// audit_enable() of kernel/audit.c (which treats any other value as `on`).
const WORDS: &[(&str, &[&str])] = &[
    ("preempt", &["none", "voluntary", "full", "lazy"]),
    ("idle", &["poll", "halt", "nomwait"]),
    ("tsc", &["reliable", "noirqtime", "unstable", "nowatchdog", "recalibrate", "watchdog"]),
    ("pcie_aspm", &["off", "force"]),
    ("transparent_hugepage", &["always", "madvise", "never"]),
    (
        "intel_pstate",
        &["disable", "active", "passive", "force", "no_hwp", "hwp_only", "support_acpi_ppc", "per_cpu_perf_limits"],
    ),
    ("amd_pstate", &["disable", "passive", "active", "guided"]),
    ("audit", &["0", "off", "1", "on"]),
    ("cpufreq.default_governor", &["performance", "powersave", "ondemand", "conservative", "schedutil", "userspace"]),
];

/// Returns true if the parameter accepts only a few words, and this is one of them.
pub(crate) fn takes(name: &str, value: &str) -> bool {
    WORDS.iter().any(|(known, words)| *known == name && words.contains(&value))
}

/// Values with the first release that supports them; earlier releases reject or ignore them. kernel/sched/core.c,
/// arch/x86/kernel/tsc.c, drivers/cpufreq/intel_pstate.c, drivers/cpufreq/amd-pstate.c.
const ADDED: &[(&str, &str, Release)] = &[
    ("amd_pstate", "active", (6, 3)),
    ("amd_pstate", "guided", (6, 4)),
    ("intel_pstate", "active", (5, 8)),
    ("preempt", "lazy", (6, 13)),
    ("tsc", "nowatchdog", (5, 2)),
    ("tsc", "recalibrate", (6, 3)),
    ("tsc", "watchdog", (6, 3)),
];

/// Parameters with a list of words, each of which begins with one of these (strncmp()); others are logged and ignored:
/// intel_iommu_setup() of drivers/iommu/intel/iommu.c, parse_amd_iommu_options() of drivers/iommu/amd/init.c (for which
/// `on`, which many guides name, requests the default behaviour). The lists are those of all releases since 3.10.
const LISTS: &[(&str, &[&str])] = &[
    (
        "intel_iommu",
        &[
            "on",
            "off",
            "igfx_off",
            "forcedac",
            "strict",
            "sp_off",
            "ecs_off",
            "sm_on",
            "sm_off",
            "tboot_noforce",
            "nobounce",
        ],
    ),
    (
        "amd_iommu",
        &[
            "on",
            "off",
            "fullflush",
            "force_enable",
            "force_isolation",
            "pgtbl_v1",
            "pgtbl_v2",
            "irtcachedis",
            "nohugepages",
            "v2_pgsizes_only",
        ],
    ),
];

/// Names of the clocksources of x86, Arm and guests; small boards have others.
const CLOCKS: &[&str] = &["tsc", "hpet", "acpi_pm", "jiffies", "pit", "kvm-clock", "arch_sys_counter"];

/// Returns true if the queries, separated by `;`, consist of pairs and flags (ddebug_tokenize() and ddebug_parse_query()
/// of lib/dynamic_debug.c; Documentation/admin-guide/dynamic-debug-howto.rst).
fn is_query(value: &str) -> bool {
    const WORDS: &[&str] = &["class", "file", "format", "func", "line", "module"];
    let is_fine = |query: &str| {
        let mut quote = None;
        let is_end = |c: char| {
            match quote {
                Some(open) if c == open => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                _ => {}
            }
            quote.is_none() && c.is_ascii_whitespace()
        };
        let words: Vec<&str> = query.split(is_end).filter(|word| !word.is_empty()).collect();
        let Some((flags, pairs)) = words.split_last() else { return true };
        let is_flags = flags.starts_with(['+', '-', '=']);
        is_flags && pairs.chunks(2).all(|pair| matches!(pair, [word, _] if WORDS.contains(word)))
    };
    value.split([';', '\n']).all(is_fine)
}

/// Describes the effect of a value that the parameter does not support, as a sentence. `release` is `None` if unknown.
pub(crate) fn refused(word: &str, release: Option<Release>) -> Option<String> {
    let (_, value) = word.split_once('=')?;
    let name = key(word);
    let shown = scrub(word);
    if let Some((.., since)) = ADDED.iter().find(|(known, added, _)| *known == name && *added == value)
        && release.is_some_and(|release| release < *since)
    {
        return Some(format!("`{shown}` is rejected: {value} is supported since Linux {}.{}", since.0, since.1));
    }
    if let Some((_, values)) = WORDS.iter().find(|(known, _)| *known == name) {
        let values = (!values.contains(&value)).then(|| values.join(", "))?;
        return Some(format!("`{shown}` is not among the values that Linux supports: {values}"));
    }
    if let Some((_, known)) = LISTS.iter().find(|(list, _)| *list == name) {
        let is_one = |part: &&str| part.is_empty() || known.iter().any(|word| part.starts_with(word));
        let other = scrub(value.split(',').find(|part| !is_one(part))?);
        let hint = if other == "pt" { ": iommu=pt selects pass-through" } else { "" };
        return Some(format!("Linux ignores `{other}` of `{shown}`, which is not a value of {name}{hint}"));
    }
    match name.as_str() {
        // ddebug_parse_query() of lib/dynamic_debug.c.
        "dyndbg" if !is_query(value) => Some(format!(
            "`{shown}` is rejected, as a query has pairs such as `module NAME`, and then flags such as `+p`: nothing is printed"
        )),
        // get_option() of lib/cmdline.c requires a number.
        "loglevel" if number(value).is_none() => Some(format!(
            "`{shown}` is rejected, because it is not a number: the level remains that of the kernel's configuration"
        )),
        // skew_tick() of kernel/time/tick-sched.c.
        "skew_tick" if number(value).is_none() => {
            Some(format!("`{shown}` has no number, so the kernel uses 0: ticks are not skewed"))
        }
        // setup_tick_nohz() of kernel/time/tick-sched.c, setup_hrtimer_hres() of kernel/time/hrtimer.c.
        "nohz" | "highres" if boolean(value).is_none() => {
            Some(format!("`{shown}` is neither on nor off, so it is ignored: {name} stays on"))
        }
        // kstrtoint() of the whole value (kernel/params.c).
        "intel_idle.max_cstate" | "processor.max_cstate" if !is_integer(value) => {
            Some(format!("`{shown}` is rejected, because it is not a number: no limit is set"))
        }
        // mitigations_parse_cmdline() of kernel/cpu.c.
        "mitigations" if !is_mitigations(value) && release.is_none_or(|release| release < VECTORS) => Some(format!(
            "`{shown}` is not supported before Linux 6.17 (off, auto, auto,nosmt are): the default remains in effect"
        )),
        // The kernel then chooses the best-rated one (clocksource_select, kernel/time/clocksource.c).
        "clocksource" if !CLOCKS.contains(&value) => {
            let near = CLOCKS.iter().find(|name| value.len() >= 3 && distance(value, name) == 1)?;
            Some(format!(
                "`{shown}` is not a clocksource ({near} is one): the kernel falls back to the highest-rated one"
            ))
        }
        _ => None,
    }
}

/// Parses like simple_strtoull() with base 0, up to the first other character.
pub(crate) fn number(value: &str) -> Option<i64> {
    let (digits, sign) = value.strip_prefix('-').map_or((value, 1), |rest| (rest, -1));
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = match hex {
        Some(hex) => (hex, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let text = digits.get(..end).filter(|text| !text.is_empty())?;
    i64::from_str_radix(text, radix).ok().map(|number| sign * number)
}

fn is_integer(value: &str) -> bool {
    let digits = value.trim_start_matches(['-', '+']);
    let hex = digits.strip_prefix("0x").filter(|hex| !hex.is_empty());
    hex.map_or_else(
        || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()),
        |hex| hex.bytes().all(|b| b.is_ascii_hexdigit()),
    )
}

/// Parses like kstrtobool() of lib/kstrtox.c, which checks the first letter, and for `on` and `off` the second.
pub(crate) fn boolean(value: &str) -> Option<bool> {
    let mut letters = value.chars().map(|c| c.to_ascii_lowercase());
    match letters.next()? {
        'y' | 't' | '1' | 'e' => Some(true),
        'n' | 'f' | '0' | 'd' => Some(false),
        'o' => match letters.next()? {
            'n' => Some(true),
            'f' => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// From this release on, mitigations= begins with one of its words, and attack vectors may follow.
pub(crate) const VECTORS: Release = (6, 17);

fn is_mitigations(value: &str) -> bool {
    let mut words = value.split([',', ';']);
    let first = words.next();
    let rest: Vec<&str> = words.collect();
    // Attack vectors: Documentation/admin-guide/hw-vuln/attack_vector_controls.rst.
    first == Some("auto") && rest.iter().all(|word| *word == "nosmt" || word.starts_with("no_")) || value == "off"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_those_of_the_handlers() {
        for (word, said) in [
            ("preempt=rt", "not among the values"),
            ("idle=pool", "not among the values"),
            ("tsc=reliabel", "not among the values"),
            ("transparent_hugepage=off", "not among the values"),
            ("intel_pstate=off", "not among the values"),
            ("amd_pstate=disabled", "disable, passive, active, guided"),
            ("audit=no", "not among the values"),
            ("cpufreq.default_governor=preformance", "not among the values"),
            ("clocksource=tcs", "tsc is one"),
            ("loglevel=high", "the level remains"),
            ("skew_tick=on", "uses 0"),
            ("highres=maybe", "neither on nor off"),
            ("intel_idle.max_cstate=none", "no limit"),
            ("mitigations=off,nosmt", "not supported"),
            ("intel_iommu=pt", "iommu=pt selects"),
            ("intel_iommu=on,igfx", "ignores `igfx`"),
            ("amd_iommu=pt", "iommu=pt selects"),
        ] {
            let text = refused(word, None).unwrap_or_default();
            assert!(text.contains(said), "{word}: {text}");
        }
        for (word, release, is_refused) in [
            ("preempt=lazy", (6, 6), true),
            ("preempt=lazy", (6, 13), false),
            ("tsc=nowatchdog", (5, 0), true),
            ("tsc=nowatchdog", (5, 4), false),
            ("tsc=watchdog", (6, 1), true),
            ("amd_pstate=guided", (6, 3), true),
            ("amd_pstate=guided", (6, 6), false),
        ] {
            assert_eq!(refused(word, Some(release)).is_some(), is_refused, "{word} {release:?}");
        }
        for word in [
            "preempt=full",
            "preempt=lazy",
            "idle=poll",
            "tsc=nowatchdog",
            "pcie_aspm=off",
            "quiet",
            "loglevel=3",
            "intel_pstate=disable",
            "audit=0",
            "clocksource=hpet",
            "clocksource=mxc_timer1",
            "skew_tick=1",
            "nohz=on",
            "mitigations=auto,nosmt",
            "mitigations=auto,no_guest_host,no_guest_guest",
            "intel_idle.max_cstate=0x1",
            "intel_iommu=on,sm_on",
            "amd_iommu=on",
            "amd_iommu=fullflush",
        ] {
            assert_eq!(refused(word, None), None, "{word}");
        }
    }

    #[test]
    fn numbers_end_where_they_end() {
        for (text, value) in [
            ("7", Some(7)),
            ("0x7,x", Some(7)),
            ("-1", Some(-1)),
            ("4abc", Some(4)),
            ("0", Some(0)),
            ("on", None),
            ("", None),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_word_is_answered(word in "[a-z_.]{1,20}=.{0,20}", value in ".{0,20}") {
            let _ = (refused(&word, None), number(&value), boolean(&value));
        }
    }
}
