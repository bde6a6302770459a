use super::{CPU_SET_READS, Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use punctual_machine::{parameters, scrub};
use punctual_units::{CpuId, CpuList};
use std::collections::BTreeMap;

const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
const CMDLINE: &[&str] = &["/proc/cmdline"];

pub(super) const PROBES: &[Probe] = &[
    // Parameters from real-time guides that this kernel does not know.
    Probe { name: "unknown-parameters", with: &[], reads: &[&["/dev/kmsg"]], run: unknown },
    // Sentences about CPU lists that contradict each other or the machine.
    Probe { name: "cpu-list-conflicts", with: &[], reads: &[CMDLINE, &[POSSIBLE], CPU_SET_READS], run: conflicts },
    // Bytes.
    Probe { name: "command-line-length", with: &[], reads: &[CMDLINE], run: length },
    // Parameters with several different values.
    Probe { name: "repeated-parameters", with: &[], reads: &[CMDLINE], run: repeated },
];

/// Parameters of the core kernel that tune latency. The kernel never reports module parameters, which have a dot, as
/// unknown.
pub(super) const TUNING: &[&str] = &[
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

pub(super) fn key(word: &str) -> &str {
    word.split_once('=').map_or(word, |(key, _)| key)
}

pub(super) fn is_tuning(word: &str) -> bool {
    TUNING.contains(&key(word))
}

/// `Unknown kernel command line parameters "a b", will be passed to user space.` (init/main.c,
/// print_unknown_bootoptions)
fn unknown(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    const LINE: &str = "Unknown kernel command line parameters \"";
    let log = sight.log();
    let mut many = Many { items: Vec::new(), missing: log.missing.clone() };
    let line = log.lines.iter().find_map(|line| line.split_once(LINE)).map(|(_, rest)| rest);
    let listed = line.and_then(|rest| rest.rsplit_once('"')).map_or("", |(listed, _)| listed);
    for word in parameters(listed).iter().filter(|word| is_tuning(word)) {
        many.push("", Ok(Value::Text(scrub(word))));
    }
    notes.add("/dev/kmsg: unknown parameters", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

fn length(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.cmdline() {
        Ok(line) => {
            let length = line.trim_end().len();
            notes.add("/proc/cmdline", format!("{length} bytes"));
            Reading::One(Ok(Value::Number(i64::try_from(length).unwrap_or(i64::MAX))))
        }
        Err(gap) => refused(gap, notes),
    }
}

fn refused(gap: Gap, notes: &mut Notes) -> Reading {
    notes.add(&gap.source, gap.cause.describe());
    Reading::gap(gap)
}

const SEVERAL: &[&str] =
    &["console", "earlycon", "root", "module_blacklist", "initcall_blacklist", "earlyprintk", "video"];

fn repeated(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let words = match sight.cmdline() {
        Ok(line) => parameters(&line),
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let mut many = Many::default();
    let mut of_key: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut order = Vec::new();
    for word in words.iter().filter(|word| !SEVERAL.contains(&key(word)) && !key(word).contains("rd.")) {
        let same = of_key.entry(key(word)).or_default();
        if same.is_empty() {
            order.push(key(word));
        }
        same.push(word);
    }
    for key in order {
        let all = &of_key[key];
        if all.iter().any(|word| *word != all[0]) {
            let all: Vec<String> = all.iter().map(|word| scrub(word)).collect();
            many.push("", Ok(Value::Text(all.join(" "))));
        }
    }
    notes.add("/proc/cmdline", format!("given with several values: {}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

/// A CPU list of the command line: flags before it, `N` for the last CPU, `all`.
fn cpus(value: &str, possible: &CpuList) -> Option<CpuList> {
    let is_flag = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase()) && part != "all";
    let list: Vec<&str> = value.split(',').skip_while(|part| is_flag(part)).collect();
    let last = possible.iter().last().map_or(0, |CpuId(n)| n).to_string();
    let list = list.join(",").replace('N', &last);
    if list == "all" { Some(possible.clone()) } else { list.parse().ok() }
}

fn conflicts(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match find_conflicts(sight, notes) {
        Ok(found) => {
            let mut many = Many::default();
            found.into_iter().for_each(|text| many.push("", Ok(Value::Text(text))));
            notes.add("CPU lists", Reading::Many(many.clone()).show());
            Reading::Many(many)
        }
        Err(gap) => {
            notes.add(&gap.source, gap.cause.describe());
            Reading::Many(Many::unknown(gap))
        }
    }
}

fn find_conflicts(sight: &Sight, notes: &mut Notes) -> Result<Vec<String>, Gap> {
    let line = sight.cmdline()?;
    let possible = sight.cpu_list(POSSIBLE, notes).map_err(Gap::expected)?;
    if possible.is_empty() {
        return Err(Gap::new(POSSIBLE, Cause::Garbled("CPU")));
    }
    let mut found = Vec::new();
    let mut list = |name: &str| -> Option<CpuList> {
        let value = punctual_machine::parameter(&line, name).filter(|value| !value.is_empty())?;
        match cpus(&value, &possible) {
            Some(cpus) if cpus.minus(&possible).is_empty() => Some(cpus),
            Some(cpus) => {
                found.push(format!("{name} names CPU {}, and the machine has only {possible}", cpus.minus(&possible)));
                None
            }
            None => {
                found.push(format!("{name}={} is no CPU list", scrub(&value)));
                None
            }
        }
    };
    let lists =
        ["isolcpus", "nohz_full", "irqaffinity", "kthread_cpus", "systemd.cpu_affinity", "workqueue.unbound_cpus"]
            .map(|name| (name, list(name)));
    // Read only for its mistakes.
    drop(list("rcu_nocbs"));
    let isolated = sight.set(Set::Isolated, notes)?;
    found.extend(contradictions(&lists, &isolated, &possible));
    Ok(found)
}

fn contradictions(lists: &[(&str, Option<CpuList>)], isolated: &CpuList, possible: &CpuList) -> Vec<String> {
    let of = |name: &str| lists.iter().find(|(n, _)| *n == name).and_then(|(_, list)| list.as_ref());
    let mut found = Vec::new();
    let asked = of("isolcpus").cloned().unwrap_or_default();
    let isolated: CpuList = asked.iter().chain(isolated.iter()).collect();
    if !isolated.is_empty() && possible.minus(&isolated).is_empty() {
        found.push("every CPU is isolated: none is left for the rest of the system".to_owned());
    }
    if isolated.contains(CpuId(0)) {
        found.push("CPU 0 is isolated, which keeps time and boots the others".to_owned());
    }
    if let Some(tickless) = of("nohz_full").filter(|list| !list.minus(&isolated).is_empty()) {
        found.push(format!("nohz_full has CPU {}, which isolcpus leaves out", tickless.minus(&isolated)));
    }
    for name in ["irqaffinity", "kthread_cpus", "systemd.cpu_affinity", "workqueue.unbound_cpus"] {
        if let Some(list) = of(name).filter(|list| !list.and(&isolated).is_empty()) {
            found.push(format!("{name} has CPU {}, which is isolated", list.and(&isolated)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_and_the_last_cpu_are_understood() {
        let possible: CpuList = "0-7".parse().unwrap();
        let read = |text| cpus(text, &possible).map(|list| list.to_string());
        assert_eq!(read("domain,managed_irq,2-3,5").as_deref(), Some("2-3,5"));
        assert_eq!(read("4-N").as_deref(), Some("4-7"));
        assert_eq!(read("all").as_deref(), Some("0-7"));
        assert_eq!(read("0..3"), None);
    }

    proptest! {
        #[test]
        fn any_list_is_answered(text in "[a-zN0-9,:/. -]{0,40}") {
            let _ = cpus(&text, &"0-3".parse().unwrap());
        }
    }
}
