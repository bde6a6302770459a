//! Reads the settings that affect latency.

use punctual_machine::Machine;
use std::collections::BTreeMap;

/// Files that contain one setting each. `*` matches any text in one path component.
const FILES: &[&str] = &[
    "/proc/irq/*/smp_affinity_list",
    "/proc/irq/default_smp_affinity",
    "/proc/sys/kernel/*",
    "/proc/sys/net/core/*",
    "/proc/sys/net/ipv4/*",
    "/proc/sys/vm/*",
    "/sys/bus/workqueue/devices/*/cpumask",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/amd_pstate/status",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/devices/system/cpu/cpu*/power/energy_perf_bias",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_setspeed",
    "/sys/devices/system/cpu/cpuidle/current_governor",
    "/sys/devices/system/cpu/intel_pstate/max_perf_pct",
    "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/intel_pstate/status",
    "/sys/devices/system/cpu/isolated",
    "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/fs/cgroup/*/cpuset.cpus",
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/kernel/debug/sched/base_slice_ns",
    "/sys/kernel/debug/sched/fair_server/*/period",
    "/sys/kernel/debug/sched/fair_server/*/runtime",
    "/sys/kernel/debug/sched/features",
    "/sys/kernel/debug/sched/migration_cost_ns",
    "/sys/kernel/debug/sched/nr_migrate",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/kernel/rcu_expedited",
    "/sys/kernel/rcu_normal",
    "/sys/module/haltpoll/parameters/*",
    "/sys/module/kvm/parameters/*",
    "/sys/module/rcupdate/parameters/*",
    "/sys/module/workqueue/parameters/*",
];

/// Files below /proc/sys that are not settings: counters of the kernel, and files whose reading disturbs every CPU
/// (vm.stat_refresh).
const NOT: &[&str] = &[
    "/proc/sys/kernel/hung_task_detect_count",
    "/proc/sys/kernel/hung_task_warnings",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/perf_event_max_sample_rate",
    "/proc/sys/kernel/tainted",
    "/proc/sys/vm/stat_refresh",
];

/// Files of this process's cgroup and its ancestors.
const OF_GROUP: &[&str] = &["cpu.max", "cpuset.cpus", "cpuset.cpus.effective", "cpuset.cpus.partition"];

pub(super) struct Settings {
    /// Values of the settings by path, and policy and priority of kernel threads by name.
    values: BTreeMap<String, String>,
    /// True if irqbalance runs.
    has_irqbalance: bool,
    /// True if the kernel reduces frequencies because of a high temperature.
    is_cooling: bool,
}

impl Settings {
    pub fn read(machine: &dyn Machine) -> Settings {
        let paths = FILES.iter().flat_map(|pattern| expand(machine, pattern)).chain(of_group(machine));
        let value = |path: String| Some((path.clone(), machine.read(&path).text()?.to_owned()));
        let mut values: BTreeMap<String, String> =
            paths.filter(|path| !NOT.contains(&path.as_str())).filter_map(value).collect();
        let mut has_irqbalance = false;
        for pid in expand(machine, "/proc/*/stat") {
            let read = machine.read(&pid);
            let Some(stat) = read.text().and_then(Stat::parse) else { continue };
            has_irqbalance |= stat.name == "irqbalance";
            if stat.is_of_kernel {
                values.insert(format!("kernel thread {} (PID {})", stat.name, stat.pid), stat.policy);
            }
        }
        let is_on = |path: &String| machine.read(path).text().is_some_and(|state| state != "0");
        let is_of_cpu = |path: &String| {
            let kind = path.replace("/cur_state", "/type");
            machine.read(&kind).text().is_some_and(|kind| kind == "Processor" || kind.starts_with("cpufreq"))
        };
        let coolers = expand(machine, "/sys/class/thermal/cooling_device*/cur_state");
        let is_cooling = coolers.iter().any(|path| is_of_cpu(path) && is_on(path));
        Settings { values, has_irqbalance, is_cooling }
    }

    /// Returns the settings that differ in `later`, as `path: from → to`. The second list contains the settings that
    /// the machine changes automatically.
    pub fn since(&self, later: &Settings) -> (Vec<String>, Vec<String>) {
        let kernels_own = |path: &str| {
            let is_balanced = self.has_irqbalance && later.has_irqbalance && path.starts_with("/proc/irq/");
            is_balanced || (self.is_cooling || later.is_cooling) && path.ends_with("/scaling_max_freq")
        };
        let (mut changed, mut moved) = (Vec::new(), Vec::new());
        for (path, from) in &self.values {
            // A file is missing if its device, thread or CPU has disappeared. `online` shows a missing CPU.
            let Some(to) = later.values.get(path).filter(|to| *to != from) else { continue };
            let shown = |value: &str| if value.is_empty() { "(empty)".to_owned() } else { value.replace('\t', " ") };
            let text = format!("{path}: {} → {}", shown(from), shown(to));
            if kernels_own(path) { moved.push(text) } else { changed.push(text) }
        }
        (changed, moved)
    }
}

fn expand(machine: &dyn Machine, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.split('/').skip(1) {
        let Some((before, after)) = part.split_once('*') else {
            found.iter_mut().for_each(|path| path.extend(["/", part]));
            continue;
        };
        let fits = |name: &&String| {
            name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).is_some_and(|rest| {
                // Numeric directories in /proc are processes.
                pattern != "/proc/*/stat" || rest.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let below = |path: &String| {
            let names = machine.list(path).names().unwrap_or_default().to_vec();
            names.iter().filter(fits).map(|name| format!("{path}/{name}")).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).collect();
    }
    found
}

/// Returns the files of the process's cgroups (cgroups(7), version 2).
fn of_group(machine: &dyn Machine) -> Vec<String> {
    let read = machine.read("/proc/self/cgroup");
    let own = read.text().and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::"))).unwrap_or("/");
    let groups = own.match_indices('/').map(|(at, _)| own.get(..at).unwrap_or_default()).chain([own]);
    let files = |group: &str| {
        let group = group.trim_end_matches('/').to_owned();
        OF_GROUP.iter().map(move |file| format!("/sys/fs/cgroup{group}/{file}"))
    };
    groups.flat_map(files).collect()
}

/// Fields of /proc/PID/stat (proc_pid_stat(5)).
struct Stat {
    pid: String,
    name: String,
    /// True for children of kthreadd.
    is_of_kernel: bool,
    policy: String,
}

impl Stat {
    fn parse(text: &str) -> Option<Stat> {
        let (head, tail) = text.rsplit_once(')')?;
        let (pid, name) = head.split_once(" (")?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        // `fields` starts with the third field of the manual page, so that an index is the manual page's number minus
        // 3.
        let field = |n: usize| fields.get(n - 3).copied();
        let policy = match field(41)? {
            "0" => "SCHED_OTHER".to_owned(),
            "1" => format!("SCHED_FIFO {}", field(40)?),
            "2" => format!("SCHED_RR {}", field(40)?),
            other => format!("policy {other}"),
        };
        Some(Stat { pid: pid.to_owned(), name: name.to_owned(), is_of_kernel: field(4)? == "2", policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_machine::{Live, Read, Recorded};

    fn machine(files: &[(&str, &str)]) -> Recorded {
        let mut machine = Recorded::default();
        files.iter().for_each(|(path, text)| machine.set(path, Read::Known(text.as_bytes().to_vec())));
        machine
    }

    const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    const MOST: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";
    const IRQ: &str = "/proc/irq/24/smp_affinity_list";

    fn since(before: &[(&str, &str)], after: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        Settings::read(&machine(before)).since(&Settings::read(&machine(after)))
    }

    fn stat(pid: u32, name: &str, parent: u32, priority: u32, policy: u32) -> (String, String) {
        let fields = format!("S {parent} {} {priority} {policy}", vec!["0"; 35].join(" "));
        (format!("/proc/{pid}/stat"), format!("{pid} ({name}) {fields}"))
    }

    #[test]
    fn changes_are_named_from_and_to() {
        let before = [
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            (GOVERNOR, "performance\n"),
            (IRQ, "0\n"),
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/cpuset.cpus", "\n"),
            ("/proc/sys/kernel/ns_last_pid", "1\n"),
        ];
        assert_eq!(since(&before, &before), (vec![], vec![]));
        let mut after = before;
        after[0].1 = "-1\n";
        after[1].1 = "powersave\n";
        after[2].1 = "0-1\n";
        after[4].1 = "1\n";
        after[5].1 = "2\n";
        let (changed, moved) = since(&before, &after);
        let expected = [
            "/proc/irq/24/smp_affinity_list: 0 → 0-1".to_owned(),
            "/proc/sys/kernel/sched_rt_runtime_us: 950000 → -1".to_owned(),
            format!("{GOVERNOR}: performance → powersave"),
            "/sys/fs/cgroup/a/cpuset.cpus: (empty) → 1".to_owned(),
        ];
        assert_eq!((changed, moved), (expected.to_vec(), vec![]));
    }

    #[test]
    fn what_the_kernel_changes_is_no_change() {
        let (path, text) = stat(7, "irqbalance", 1, 0, 0);
        let before = [(IRQ, "0"), (path.as_str(), text.as_str()), (MOST, "2")];
        let after = [(IRQ, "1"), before[1], (MOST, "2")];
        assert_eq!(since(&before, &after).0, Vec::<String>::new());
        assert_eq!(since(&before, &[(IRQ, "1")]).0.len(), 1, "it was ended");
        let cooling = [
            (MOST, "1"),
            ("/sys/class/thermal/cooling_device0/cur_state", "3"),
            ("/sys/class/thermal/cooling_device0/type", "cpufreq-cpu0"),
        ];
        assert_eq!((since(&before, &cooling).0.len(), since(&before, &[(MOST, "1")]).0.len()), (0, 1));
    }

    #[test]
    fn kernel_threads_have_their_priorities() {
        let (path, fifo) = stat(15, "irq/24-eth (0)", 2, 50, 1);
        let (_, other) = stat(15, "irq/24-eth (0)", 2, 99, 1);
        let changed = since(&[(&path, &fifo)], &[(&path, &other)]).0;
        assert_eq!(changed, ["kernel thread irq/24-eth (0) (PID 15): SCHED_FIFO 50 → SCHED_FIFO 99"]);
        let (path, own) = stat(16, "x", 1, 50, 1);
        assert!(since(&[(&path, &own)], &[(&path, &other)]).0.is_empty());
    }

    #[test]
    fn this_machine_is_read() {
        let settings = Settings::read(&Live::new());
        assert!(settings.values.keys().any(|path| path.starts_with("/proc/sys/vm/")));
        assert!(NOT.iter().all(|path| !settings.values.contains_key(*path)));
    }
}
