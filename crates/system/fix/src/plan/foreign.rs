//! Limits what the rules of a user-supplied profile may change. Its author is unknown, so anything except a latency
//! setting (allowed.txt) is changed only if the user acknowledges it by name.

use super::actions::sysctl_path;
use crate::glob;
use punctual_audit::{Action, Fix};

const ALLOWED: &str = include_str!("allowed.txt");

/// Returns why the fix of a rule is refused: what it changes was not acknowledged by name (`--i-know=NAME`). `None` if
/// it is permitted.
pub(super) fn refusal(fix: &Fix, known: &[String]) -> Option<String> {
    let names = fix.now.iter().chain(&fix.persist).flat_map(targets).filter(|name| !is_allowed(name));
    let mut missing: Vec<String> = names.filter(|name| !known.iter().any(|known| is_same(known, name))).collect();
    missing.sort_unstable();
    missing.dedup();
    let options: Vec<String> = missing.iter().map(|name| format!("--i-know='{name}'")).collect();
    let what = "the profile changes something that is not a known latency setting";
    (!missing.is_empty()).then(|| format!("{what}: review it, then {}", options.join(" ")))
}

/// Returns what an action changes: kernel parameters by name, files and sysctls by path, commands verbatim.
fn targets(action: &Action) -> Vec<String> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    match action {
        Action::Write { file, .. } => vec![file.clone()],
        Action::Sysctl { key, .. } => vec![sysctl_path(key)],
        Action::Boot { add, remove } => add.split_whitespace().chain(remove.split_whitespace()).map(name).collect(),
        Action::File { path, .. } => vec![path.clone()],
        Action::Run(line) => vec![line.clone()],
        Action::Manual(_) => Vec::new(),
    }
}

fn is_allowed(target: &str) -> bool {
    let is_inside = |part: &str| !part.is_empty() && part != "." && part != "..";
    let parts = || target.trim_start_matches('/').split('/');
    let fits = |line: &str| {
        let pattern: Vec<&str> = line.trim_start_matches('/').split('/').collect();
        pattern.len() == parts().count() && pattern.iter().zip(parts()).all(|(pattern, part)| glob::fits(pattern, part))
    };
    let lines = || ALLOWED.lines().filter(|line| !line.starts_with('#'));
    match target.starts_with('/') {
        true => !target.starts_with("//") && parts().all(is_inside) && lines().filter(|l| l.starts_with('/')).any(fits),
        false => lines().any(|line| is_same(line, target)),
    }
}

/// Returns true if an acknowledged name is what an action changes. `-` and `_` are equal in parameter names
/// (kernel/params.c, parameq), and a sysctl can be given by name or path.
fn is_same(said: &str, target: &str) -> bool {
    match target.starts_with('/') {
        true => said == target || sysctl_path(said) == target,
        false => said.replace('-', "_") == target.replace('-', "_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boot(add: &str) -> Fix {
        let add = Action::Boot { add: add.to_owned(), remove: String::new() };
        Fix { none: None, now: Vec::new(), persist: vec![add], undo: None, risk: None, disruptive: false }
    }

    #[test]
    fn only_settings_of_latency_are_allowed() {
        for fine in [
            "isolcpus",
            "nohz-full",
            "/proc/sys/kernel/sched_rt_runtime_us",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
            "/sys/devices/system/cpu/cpu3/cpuidle/state2/disable",
        ] {
            assert!(is_allowed(fine), "{fine}");
        }
        for wrong in [
            "init",
            "rdinit",
            "mitigations",
            "module_blacklist",
            "nvme.poll_queues",
            "lsm",
            "isolcpus2",
            "",
            "#",
            "*",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/kernel/*",
            "/proc/sys/kernel/sched_/../core_pattern",
            "/proc/irq/../sys/kernel",
            "//proc/irq/1/smp_affinity",
            "/proc/irq//smp_affinity",
            "/sys/kernel/uevent_helper",
            "/sys/devices/system/cpu/*/online",
            "systemctl mask ssh",
        ] {
            assert!(!is_allowed(wrong), "{wrong}");
        }
    }

    #[test]
    fn each_name_is_acknowledged_alone() {
        let fix = boot("init=/bin/sh isolcpus=1 mitigations=off");
        let why = refusal(&fix, &[]).unwrap();
        assert!(why.contains("--i-know='init' --i-know='mitigations'"), "{why}");
        assert!(refusal(&fix, &["init".to_owned()]).unwrap().contains("mitigations"));
        assert_eq!(refusal(&fix, &["init".to_owned(), "mitigations".to_owned()]), None);
        let sysctl = Action::Sysctl { key: "kernel.core_pattern".to_owned(), value: "|/x".to_owned() };
        let fix = Fix { now: vec![sysctl], persist: Vec::new(), ..fix };
        assert!(refusal(&fix, &[]).is_some());
        assert_eq!(refusal(&fix, &["kernel.core_pattern".to_owned()]), None);
    }

    proptest! {
        /// Whatever a profile contains around a parameter, the kernel must never be given a parameter that is not
        /// allowed.
        #[test]
        fn no_parameter_gets_by(before in "[a-z=\" \t.,-]{0,12}", name in "(init|rdinit|mitigations|root|[a-z]{1,8}\\.[a-z]{1,8})") {
            let line = format!("{before} {name}=x");
            prop_assume!(!is_allowed(&name));
            prop_assert!(refusal(&boot(&line), &[]).is_some());
        }
    }
}
