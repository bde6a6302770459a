//! Mechanisms that take the CPU from SCHED_FIFO and SCHED_RR threads that do not sleep: RT throttling and the fair
//! server.

use crate::start::Outcome;
use crate::start::probe::Machine;
use punctual_units::{CpuId, CpuList, Nanos};

const SCHED: &str = "/sys/kernel/debug/sched";
const SERVER: &str = "/sys/kernel/debug/sched/fair_server";

/// Checks for RT throttling, which limits real-time threads to kernel.sched_rt_runtime_us, and for the fair server.
/// Linux 6.12 replaced the former by the latter (commit 5f6bd380c7bd), except in kernels with CONFIG_RT_GROUP_SCHED,
/// which have both.
pub(super) fn throttling(machine: &Machine) -> Result<Outcome, String> {
    let runtime: i64 = machine.number("/proc/sys/kernel/sched_rt_runtime_us")?;
    let period: i64 = machine.number("/proc/sys/kernel/sched_rt_period_us")?;
    let limited = runtime >= 0 && runtime < period;
    let rest = |us: i64| Nanos::from_micros(u64::try_from(us).unwrap_or(0));
    let server = Server::of(machine);
    let throttled = match (&server, limited) {
        (_, false) => Ok(false),
        (Server::Absent, true) => Ok(true),
        (_, true) => group_scheduling(machine),
    };
    let (mut found, mut fixes, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    match throttled {
        Ok(true) => {
            found.push(format!(
                "RT throttling takes a CPU from real-time threads for {} of each {}",
                rest(period - runtime),
                rest(period)
            ));
            fixes.push("sysctl kernel.sched_rt_runtime_us=-1".to_owned());
        }
        Ok(false) => {}
        Err(why) => unknown.push(format!("whether RT throttling applies ({why})")),
    }
    match server {
        Server::Absent => {}
        Server::Unknown(why) => unknown.push(format!("the fair server's runtime ({why})")),
        Server::Present(cpus) if cpus.is_empty() => {}
        Server::Present(cpus) => {
            let longest = cpus.iter().map(|(_, runtime, _)| *runtime).max().unwrap_or_default();
            let period = cpus.iter().map(|(.., period)| *period).min().unwrap_or_default();
            let list: CpuList = cpus.iter().map(|(cpu, ..)| *cpu).collect();
            found.push(format!(
                "the fair server gives waiting ordinary threads up to {longest} of each {period} on CPU {list}"
            ));
            fixes.push(format!("for cpu in {SERVER}/cpu*; do echo 0 > $cpu/runtime; done"));
        }
    }
    if !found.is_empty() {
        let fix = format!(
            "no change is needed if all real-time threads together leave that much of each CPU unused; otherwise, if none of them can loop without sleeping, run: {}",
            fixes.join("; ")
        );
        return Ok(Outcome::Fail { found: found.join("; "), fix });
    }
    if !unknown.is_empty() {
        return Err(format!("unknown: {}", unknown.join("; ")));
    }
    Ok(Outcome::Pass("off".into()))
}

enum Server {
    /// This kernel has no fair server.
    Absent,
    /// CPUs on which the fair server has a runtime above zero, with its runtime and period.
    Present(Vec<(CpuId, Nanos, Nanos)>),
    Unknown(String),
}

impl Server {
    /// Reads the fair server's state from debugfs, which only root can access. Without access, the kernel's release
    /// number can only show that the kernel has no fair server.
    fn of(machine: &Machine) -> Server {
        let Ok(names) = machine.names(SERVER) else {
            if machine.read(&format!("{SCHED}/features")).is_ok() || release(machine).is_some_and(|of| of < (6, 12)) {
                return Server::Absent;
            }
            return Server::Unknown(format!("{SERVER}: not readable: run as root, and mount debugfs"));
        };
        let mut on = Vec::new();
        for cpu in names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok().map(CpuId)) {
            let read = |what: &str| machine.number::<u64>(&format!("{SERVER}/cpu{cpu}/{what}"));
            match (read("runtime"), read("period")) {
                (Ok(0), _) => {}
                (Ok(runtime), Ok(period)) => on.push((cpu, Nanos(runtime), Nanos(period))),
                (Err(why), _) | (_, Err(why)) => return Server::Unknown(why),
            }
        }
        on.sort_unstable();
        Server::Present(on)
    }
}

/// Returns the major and minor version of the running kernel.
pub(crate) fn release(machine: &Machine) -> Option<(u32, u32)> {
    let release = machine.read("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Returns true if the kernel groups real-time threads: CONFIG_RT_GROUP_SCHED, which rt_group_sched=0 disables at boot
/// since Linux 6.16 (commit d6809c2f606c).
///
/// Only such a kernel lists the budgets of run queues in the scheduler's debug file (print_rt_rq() in
/// kernel/sched/debug.c since 6.12), or in a version 1 control group of the controller `cpu`. The kernel's
/// configuration is conclusive only if the option is off.
fn group_scheduling(machine: &Machine) -> Result<bool, String> {
    for mount in ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
        if machine.read(&format!("{mount}/cpu.shares")).is_ok() {
            return Ok(machine.read(&format!("{mount}/cpu.rt_runtime_us")).is_ok());
        }
    }
    if let Ok(debug) = machine.read(&format!("{SCHED}/debug"))
        && debug.contains("rt_rq[")
    {
        return Ok(debug.lines().any(|line| line.trim_start().starts_with(".rt_runtime")));
    }
    let release = machine.read("/proc/sys/kernel/osrelease")?;
    let path = format!("/boot/config-{release}");
    let config = machine.read(&path)?;
    if !config.lines().any(|line| line == "CONFIG_RT_GROUP_SCHED=y") {
        return Ok(false);
    }
    Err(format!("{path} has CONFIG_RT_GROUP_SCHED; {SCHED}/debug, which cannot be read, shows whether it is on"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::probe::tests::machine;

    const LIMIT: [(&str, &str); 2] =
        [("proc/sys/kernel/sched_rt_runtime_us", "950000\n"), ("proc/sys/kernel/sched_rt_period_us", "1000000\n")];
    const OFF: [(&str, &str); 2] = [("proc/sys/kernel/sched_rt_runtime_us", "-1\n"), LIMIT[1]];
    const OLD: (&str, &str) = ("proc/sys/kernel/osrelease", "6.1.0-44-rt-amd64\n");
    const NEW: (&str, &str) = ("proc/sys/kernel/osrelease", "6.12.48-rt\n");
    const SERVED: [(&str, &str); 2] = [
        ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "50000000\n"),
        ("sys/kernel/debug/sched/fair_server/cpu1/period", "1000000000\n"),
    ];
    const UNSERVED: (&str, &str) = ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "0\n");
    const UNGROUPED: (&str, &str) = ("sys/kernel/debug/sched/debug", "rt_rq[0]:\n  .rt_nr_running : 0\n");
    const GROUPED: (&str, &str) = ("sys/kernel/debug/sched/debug", "rt_rq[0]:/\n  .rt_runtime : 950.000000\n");

    fn found(parts: &[&[(&str, &str)]]) -> String {
        let (_root, machine) = machine(&parts.concat());
        match throttling(&machine) {
            Ok(Outcome::Pass(_)) => "pass".into(),
            Ok(Outcome::Fail { found, .. }) => found,
            Ok(Outcome::Unknown(why)) | Err(why) => why,
        }
    }

    #[test]
    fn minus_one_is_enough_before_6_12_only() {
        assert_eq!(found(&[&OFF, &[OLD]]), "pass");
        assert!(found(&[&LIMIT, &[OLD]]).contains("RT throttling takes a CPU from real-time threads for 50.0 ms"));
        let with = found(&[&OFF, &SERVED, &[NEW]]);
        assert!(with.starts_with("the fair server gives waiting ordinary threads up to 50.0 ms"), "{with}");
        assert!(with.ends_with("on CPU 1"), "{with}");
    }

    #[test]
    fn the_fair_server_replaces_throttling_except_with_groups() {
        assert_eq!(found(&[&LIMIT, &[NEW, UNSERVED, UNGROUPED]]), "pass");
        assert!(found(&[&LIMIT, &[NEW, UNSERVED, GROUPED]]).starts_with("RT throttling"));
        let both = found(&[&LIMIT, &SERVED, &[NEW, GROUPED]]);
        assert!(both.contains("RT throttling") && both.contains("fair server"), "{both}");
        let v1 = [("sys/fs/cgroup/cpu/cpu.shares", "1024"), ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000")];
        assert!(found(&[&LIMIT, &[NEW, UNSERVED], &v1]).starts_with("RT throttling"));
        assert_eq!(found(&[&LIMIT, &[NEW, UNSERVED], &v1[..1]]), "pass");
    }

    #[test]
    fn what_cannot_be_read_is_no_pass() {
        assert!(found(&[&OFF, &[NEW]]).contains("unknown: the fair server's runtime"));
        assert!(found(&[&LIMIT, &[NEW, UNSERVED]]).contains("whether RT throttling applies"));
        assert!(found(&[&OFF]).contains("unknown"));
        assert!(found(&[&[OLD]]).contains("sched_rt_runtime_us"));
        let config = ("boot/config-6.12.48-rt", "CONFIG_RT_GROUP_SCHED=y\n");
        assert!(found(&[&LIMIT, &[NEW, UNSERVED, config]]).contains("whether RT throttling applies"));
        let config = ("boot/config-6.12.48-rt", "# CONFIG_RT_GROUP_SCHED is not set\n");
        assert_eq!(found(&[&LIMIT, &[NEW, UNSERVED, config]]), "pass");
    }

    #[test]
    fn a_kernel_without_the_server_shows_that_in_debugfs() {
        let features = ("sys/kernel/debug/sched/features", "GENTLE_FAIR_SLEEPERS\n");
        assert!(found(&[&LIMIT, &[features]]).starts_with("RT throttling"));
        assert_eq!(found(&[&OFF, &[features]]), "pass");
    }
}
