use super::text;
use crate::{KernelConfig, Machine, bracketed, parameter};

/// Returns true if `uname -v` names a PREEMPT_RT kernel. The build derives the word from its configuration
/// (init/Makefile, preempt-flag; `PREEMPT RT` in the real-time patches up to 5.x), so it is reliable, unlike a release
/// name ending in `-rt`.
pub fn is_preempt_rt(version: &str) -> bool {
    let words: Vec<&str> = version.split_whitespace().collect();
    words.contains(&"PREEMPT_RT") || words.windows(2).any(|w| w == ["PREEMPT", "RT"])
}

/// `/sys/kernel/realtime` is 1 on kernels with the real-time patches; mainline has no such file, so its absence means
/// nothing.
pub(super) fn preempt_rt(machine: &dyn Machine, version: Option<&str>) -> Option<bool> {
    if text(machine, "/sys/kernel/realtime").as_deref() == Some("1") {
        return Some(true);
    }
    version.map(is_preempt_rt)
}

/// The kernel's preemption mode: `rt`, `full`, `lazy`, `voluntary` or `none`; `None` when it cannot be determined.
pub fn preemption_mode(machine: &dyn Machine, config: Option<&KernelConfig>) -> Option<String> {
    mode(machine, text(machine, "/proc/sys/kernel/version").as_deref(), config)
}

pub(super) fn mode(machine: &dyn Machine, version: Option<&str>, config: Option<&KernelConfig>) -> Option<String> {
    if preempt_rt(machine, version)? {
        return Some("rt".to_owned());
    }
    if let Some(active) = text(machine, "/sys/kernel/debug/sched/preempt").as_deref().and_then(bracketed) {
        return known_mode(active);
    }
    // Up to 5.17 `uname -v` has only PREEMPT (commit 51d72596c870).
    let is_said = version?.split_whitespace().any(|w| w == "PREEMPT_DYNAMIC");
    let dynamic = is_said || config.is_some_and(|config| config.is_on("PREEMPT_DYNAMIC"));
    let asked = text(machine, "/proc/cmdline")?;
    match parameter(&asked, "preempt").as_deref().and_then(known_mode) {
        // sched_dynamic_mode() of kernel/sched/core.c refuses `lazy` on other architectures; the option was added in
        // Linux 6.13.
        Some(mode) if mode == "lazy" && lacks_lazy(config) => built_in(version?, config),
        Some(mode) if dynamic => Some(mode),
        _ => built_in(version?, config),
    }
}

fn known_mode(word: &str) -> Option<String> {
    ["none", "voluntary", "full", "lazy"].contains(&word).then(|| word.to_owned())
}

fn lacks_lazy(config: Option<&KernelConfig>) -> bool {
    config.is_some_and(|config| config.get("ARCH_HAS_PREEMPT_LAZY") == crate::Setting::Off)
}

/// Returns the kernel's default mode. Without a configuration `uname -v` is not enough: `none` and `voluntary` look
/// alike, and since 6.13 so do `full` and `lazy`.
fn built_in(version: &str, config: Option<&KernelConfig>) -> Option<String> {
    let config = config?;
    let modes =
        [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    // The option names of a dynamic kernel in 5.16 (commit c597bfddc9e9), which has PREEMPT=y as well.
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
}
