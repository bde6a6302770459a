use super::text;
use crate::release::{backports, series};
use crate::{KernelConfig, Machine, Setting, bracketed, parameter};

/// Returns true if `uname -v` names a PREEMPT_RT kernel. The build derives the word from its configuration
/// (init/Makefile, preempt-flag; `PREEMPT RT` in the real-time patches up to 5.x), so it is reliable, unlike a release
/// name ending in `-rt`.
pub fn is_preempt_rt(version: &str) -> bool {
    let words: Vec<&str> = version.split_whitespace().collect();
    words.contains(&"PREEMPT_RT") || words.windows(2).any(|w| w == ["PREEMPT", "RT"])
}

/// Returns true for a PREEMPT_RT kernel. `/sys/kernel/realtime` is 1 on kernels with the real-time patches; mainline
/// has no such file, so its absence means nothing.
pub(super) fn preempt_rt(machine: &dyn Machine, version: Option<&str>) -> Option<bool> {
    if text(machine, "/sys/kernel/realtime").as_deref() == Some("1") {
        return Some(true);
    }
    version.map(is_preempt_rt)
}

/// Returns the kernel's preemption mode: `rt`, `full`, `lazy`, `voluntary` or `none`; `None` when it cannot be
/// determined.
pub fn preemption_mode(machine: &dyn Machine, config: Option<&KernelConfig>) -> Option<String> {
    mode(machine, text(machine, "/proc/sys/kernel/version").as_deref(), config)
}

/// Returns the mode that the configuration sets. A kernel with PREEMPT_DYNAMIC uses it unless its command line has
/// preempt=. `None` for a real-time kernel, or if it cannot be determined.
pub fn default_preemption(machine: &dyn Machine, config: &KernelConfig) -> Option<String> {
    let version = text(machine, "/proc/sys/kernel/version")?;
    if is_preempt_rt(&version) { None } else { built_in(&version, Some(config)) }
}

pub(super) fn mode(machine: &dyn Machine, version: Option<&str>, config: Option<&KernelConfig>) -> Option<String> {
    if preempt_rt(machine, version)? {
        return Some("rt".to_owned());
    }
    if let Some(active) = text(machine, "/sys/kernel/debug/sched/preempt").as_deref().and_then(bracketed) {
        return known_mode(active);
    }
    // Up to 5.17 `uname -v` contains only PREEMPT (commit 51d72596c870).
    let is_said = version?.split_whitespace().any(|w| w == "PREEMPT_DYNAMIC");
    let is_built = config.map(|config| config.get("PREEMPT_DYNAMIC"));
    if !is_said && is_built == Some(Setting::Off) {
        return built_in(version?, config);
    }
    let asked = text(machine, "/proc/cmdline")?;
    let mode = parameter(&asked, "preempt").as_deref().and_then(known_mode);
    let is_dynamic = is_said || matches!(is_built, Some(Setting::Is(_)));
    match mode.filter(|mode| is_dynamic && !is_refused(mode, machine, config)) {
        Some(mode) => Some(mode),
        None => built_in(version?, config),
    }
}

/// Returns true if the kernel does not accept this mode (sched_dynamic_mode() of kernel/sched/core.c). `lazy` is
/// accepted since Linux 6.13 on architectures that support it; on these, Linux 7.1 (but not yet 6.19) accepts only
/// `lazy` and `full`.
fn is_refused(mode: &str, machine: &dyn Machine, config: Option<&KernelConfig>) -> bool {
    let release = config.and_then(KernelConfig::release).or_else(|| {
        let release = text(machine, "/proc/sys/kernel/osrelease")?;
        series(&release).filter(|_| !backports(&release))
    });
    let is_before = |since| release.is_some_and(|release| release < since);
    let has_lazy = config.map(|config| config.get("ARCH_HAS_PREEMPT_LAZY"));
    match mode {
        "lazy" => is_before((6, 13)) || has_lazy == Some(Setting::Off),
        "none" | "voluntary" => {
            release.is_some_and(|release| release >= (7, 1)) && matches!(has_lazy, Some(Setting::Is(_)))
        }
        _ => false,
    }
}

fn known_mode(word: &str) -> Option<String> {
    ["none", "voluntary", "full", "lazy"].contains(&word).then(|| word.to_owned())
}

/// Returns the kernel's default mode. Without a configuration `uname -v` is not enough: `none` and `voluntary` look
/// alike, and since 6.13 so do `full` and `lazy`.
fn built_in(version: &str, config: Option<&KernelConfig>) -> Option<String> {
    let config = config?;
    let modes =
        [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    // In 5.16 a dynamic kernel uses these option names (commit c597bfddc9e9), and also has PREEMPT=y.
    let behaviour = [("PREEMPT_NONE_BEHAVIOUR", "none"), ("PREEMPT_VOLUNTARY_BEHAVIOUR", "voluntary")];
    let (_, mode) = behaviour.iter().chain(&modes).find(|(option, _)| config.is_on(option))?;
    let preemptible = version.split_whitespace().any(|w| w.starts_with("PREEMPT"));
    (preemptible || matches!(*mode, "none" | "voluntary")).then(|| (*mode).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_decides_and_not_the_name() {
        assert!(is_preempt_rt("#1 SMP PREEMPT_RT Debian 6.12.9-1 (2025-01-10)"));
        assert!(is_preempt_rt("#1 SMP PREEMPT RT Debian 4.19.67-2"));
        assert!(!is_preempt_rt("#1 SMP PREEMPT Sat Jan 2 -rt45"));
        assert!(!is_preempt_rt("#1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1"));
    }

    #[test]
    fn the_release_decides_what_preempt_does() {
        let mode = |head: &str, more: &str, line: &str| {
            let mut given = crate::Given::new();
            let text = format!(
                "# Linux/{head} Kernel Configuration\nCONFIG_PREEMPT_DYNAMIC=y\n{more}\n# CONFIG_PREEMPT_RT is not set\n"
            );
            given.add("config", text.as_bytes(), None).unwrap();
            given.add("cmdline", format!("ro {line}\n").as_bytes(), None).unwrap();
            preemption_mode(&given, KernelConfig::read(&given).ok().as_ref())
        };
        for (head, more, line, expected) in [
            ("x86 6.1.129", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=lazy", "voluntary"),
            ("x86 6.1.129", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=full", "full"),
            ("x86 6.13.1", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=lazy", "lazy"),
            ("x86 4.14.336", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=full", "voluntary"),
            ("x86 5.13.19", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=full", "voluntary"),
            ("mips 5.10.200", "CONFIG_PREEMPT_VOLUNTARY=y", "preempt=full", "voluntary"),
            ("x86 7.1.1", "CONFIG_PREEMPT_LAZY=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y", "preempt=none", "lazy"),
            ("x86 6.19.1", "CONFIG_PREEMPT_LAZY=y\nCONFIG_ARCH_HAS_PREEMPT_LAZY=y", "preempt=none", "none"),
        ] {
            assert_eq!(mode(head, more, line).as_deref(), Some(expected), "{head} {more} {line}");
        }
    }
}
