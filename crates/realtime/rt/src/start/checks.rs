//! Checks that a program can request.

use crate::start::probe::Machine;
use crate::start::{Checked, Outcome, Severity};
use crate::{Refused, refusal_advice};
use punctual_units::{CpuId, CpuList, Nanos, Priority, Scheduling};
use rustix::process::Resource;
use std::fmt;

/// A property that a real-time program may require of the machine. `punctual audit` checks far more, once per machine;
/// a program should check these at each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The kernel is PREEMPT_RT: CONFIG_PREEMPT_RT, /sys/kernel/realtime.
    PreemptRt,
    /// This SCHED_FIFO priority is granted; it is tried and restored.
    Priority(u8),
    /// This SCHED_DEADLINE reservation is granted; it is tried and restored.
    Deadline {
        /// CPU time per period.
        runtime: Nanos,
        /// Deadline relative to the release.
        deadline: Nanos,
        /// Period.
        period: Nanos,
    },
    /// This many bytes may be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
    LockedMemory(u64),
    /// Timers have nanosecond resolution: CONFIG_HIGH_RES_TIMERS.
    HighResolutionTimers,
    /// The clock is read without a system call: the clocksource is not `hpet`, `acpi_pm` or `jiffies`.
    FastClock,
    /// Real-time tasks are not throttled after 950 ms of each second: kernel.sched_rt_runtime_us is −1, or this program
    /// leaves that much time unused.
    NoThrottling,
    /// No thread of another program has this priority or a higher one; kernel threads count.
    ForeignRtAbove(u8),
    /// The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME (rtkit sets 200 ms).
    NoRtTimeLimit,
    /// This CPU is isolated from other tasks: isolcpus, or an isolated cpuset partition.
    Isolated(CpuId),
    /// This CPU's frequency is not scaled down: governor `performance`, or none.
    FixedFrequency(CpuId),
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Check::PreemptRt => write!(f, "PREEMPT_RT kernel"),
            Check::Priority(priority) => write!(f, "SCHED_FIFO {priority}"),
            Check::Deadline { runtime, deadline, period } => {
                write!(f, "SCHED_DEADLINE {runtime} by {deadline} every {period}")
            }
            Check::LockedMemory(bytes) => write!(f, "locking {} KiB of memory", bytes.div_ceil(1024)),
            Check::HighResolutionTimers => write!(f, "high-resolution timers"),
            Check::FastClock => write!(f, "a clock read without a system call"),
            Check::NoThrottling => write!(f, "no real-time throttling"),
            Check::ForeignRtAbove(priority) => write!(f, "no other real-time thread at {priority} or above"),
            Check::NoRtTimeLimit => write!(f, "no limit of real-time CPU time"),
            Check::Isolated(cpu) => write!(f, "CPU {cpu} isolated"),
            Check::FixedFrequency(cpu) => write!(f, "CPU {cpu} at a fixed frequency"),
        }
    }
}

impl Check {
    pub(crate) fn make(self, machine: &Machine, severity: Severity) -> Checked {
        let outcome = self.find(machine).unwrap_or_else(Outcome::Unknown);
        Checked { check: self, severity, outcome }
    }

    fn find(self, machine: &Machine) -> Result<Outcome, String> {
        match self {
            Check::PreemptRt => preempt_rt(machine),
            Check::Priority(priority) => {
                let priority = Priority::try_from(priority).map_err(|error| error.to_string())?;
                granted(machine, Scheduling::Fifo { priority })
            }
            Check::Deadline { runtime, deadline, period } => {
                let wanted = Scheduling::Deadline { runtime_ns: runtime, deadline_ns: deadline, period_ns: period };
                granted(machine, wanted)
            }
            Check::LockedMemory(bytes) => locked(machine, bytes),
            Check::HighResolutionTimers => {
                let resolution = machine.resolution()?;
                let fix = "boot without highres=off, or a kernel with CONFIG_HIGH_RES_TIMERS=y";
                Ok(pass(resolution.0 <= 1, format!("resolution {resolution}"), fix))
            }
            Check::FastClock => fast_clock(machine),
            Check::NoThrottling => throttling(machine),
            Check::ForeignRtAbove(priority) => foreign(machine, priority),
            Check::NoRtTimeLimit => {
                let limit = machine.limit(Resource::Rttime)?;
                let found = limit.map_or("no limit".into(), |us| format!("RLIMIT_RTTIME is {us} µs"));
                Ok(pass(limit.is_none(), found, "raise it before the start: prlimit --rttime=unlimited PROGRAM"))
            }
            Check::Isolated(cpu) => isolated(machine, cpu),
            Check::FixedFrequency(cpu) => frequency(machine, cpu),
        }
    }
}

fn pass(passed: bool, found: impl Into<String>, fix: impl Into<String>) -> Outcome {
    if passed { Outcome::Pass(found.into()) } else { Outcome::Fail { found: found.into(), fix: fix.into() } }
}

fn preempt_rt(machine: &Machine) -> Result<Outcome, String> {
    let release = machine.read("/proc/sys/kernel/osrelease")?;
    // /sys/kernel/realtime exists only with PREEMPT_RT; the build line of /proc/version names it too (init/version.c).
    let version = machine.read("/proc/version")?;
    let rt = machine.read("/sys/kernel/realtime").is_ok_and(|text| text == "1") || version.contains("PREEMPT_RT");
    let fix = "install a PREEMPT_RT kernel (Debian, Ubuntu: linux-image-rt-ARCH) and reboot";
    Ok(pass(rt, format!("kernel {release}"), fix))
}

fn granted(machine: &Machine, wanted: Scheduling) -> Result<Outcome, String> {
    Ok(match machine.grants(wanted)? {
        Ok(()) => Outcome::Pass("granted".into()),
        Err(refused) => {
            let advice = match &refused {
                Refused::Scheduling { source, .. } => refusal_advice(wanted, source.errno()),
                _ => None,
            };
            let fix = advice.unwrap_or("run as root, or with CAP_SYS_NICE").into();
            Outcome::Fail { found: refused.to_string(), fix }
        }
    })
}

fn locked(machine: &Machine, bytes: u64) -> Result<Outcome, String> {
    // CAP_IPC_LOCK is bit 14 of the effective set: capabilities(7), proc_pid_status(5).
    let status = machine.read("/proc/self/status")?;
    let capable = status.lines().find_map(|line| line.strip_prefix("CapEff:")).and_then(|set| {
        let bits = u64::from_str_radix(set.trim(), 16).ok()?;
        Some(bits >> 14 & 1 == 1)
    });
    if capable == Some(true) {
        return Ok(Outcome::Pass("CAP_IPC_LOCK".into()));
    }
    let limit = machine.limit(Resource::Memlock)?;
    let found = limit.map_or("no limit".into(), |limit| format!("RLIMIT_MEMLOCK is {} KiB", limit / 1024));
    let fix = "raise memlock in /etc/security/limits.d and log in again, or grant CAP_IPC_LOCK";
    Ok(pass(limit.is_none_or(|limit| limit >= bytes), found, fix))
}

fn fast_clock(machine: &Machine) -> Result<Outcome, String> {
    let clock = machine.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    let slow = ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&clock.as_str());
    Ok(pass(
        !slow,
        clock,
        "read why in `dmesg | grep -i clocksource`; boot with tsc=reliable only where the TSC is sound",
    ))
}

fn throttling(machine: &Machine) -> Result<Outcome, String> {
    let runtime: i64 = machine.number("/proc/sys/kernel/sched_rt_runtime_us")?;
    let period: i64 = machine.number("/proc/sys/kernel/sched_rt_period_us")?;
    let found = if runtime < 0 { "off".into() } else { format!("{runtime} of {period} µs for real-time tasks") };
    let fix = "sysctl kernel.sched_rt_runtime_us=-1, if none of your tasks can run away";
    Ok(pass(runtime < 0 || runtime >= period, found, fix))
}

fn foreign(machine: &Machine, priority: u8) -> Result<Outcome, String> {
    /// Maximum number of threads to name.
    const NAMED: usize = 5;
    let found = machine.real_time_from(priority)?;
    let name = |task: &super::probe::Foreign| format!("{} ({}, pid {})", task.name, task.priority, task.pid);
    let mut names: Vec<String> = found.iter().take(NAMED).map(name).collect();
    if found.len() > NAMED {
        names.push(format!("{} more", found.len() - NAMED));
    }
    let fix = "lower them (chrt -f -p PRIORITY PID), move them to other CPUs, or take a higher priority";
    Ok(pass(found.is_empty(), if found.is_empty() { "none".into() } else { names.join(", ") }, fix))
}

fn isolated(machine: &Machine, cpu: CpuId) -> Result<Outcome, String> {
    let text = machine.read("/sys/devices/system/cpu/isolated")?;
    let isolated: CpuList = if text.is_empty() {
        CpuList::default()
    } else {
        text.parse().map_err(|error| format!("/sys/devices/system/cpu/isolated: {error}"))?
    };
    // An isolated cpuset partition appears there only since Linux 6.7.
    let mut found = format!("isolated: {}", if text.is_empty() { "none" } else { &text });
    let there = isolated.iter().any(|one| one == cpu);
    if !there {
        found.push_str(" (a cpuset partition shows there from Linux 6.7 on)");
    }
    Ok(pass(there, found, "punctual audit --plan-cpus says which CPUs to isolate and how"))
}

fn frequency(machine: &Machine, cpu: CpuId) -> Result<Outcome, String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    match machine.read(&path) {
        Ok(governor) => {
            let fix = format!("echo performance > {path}");
            Ok(pass(governor == "performance", format!("governor {governor}"), fix))
        }
        Err(_) if machine.read("/proc/sys/kernel/osrelease").is_ok() => {
            Ok(Outcome::Pass("not scaled by this kernel".into()))
        }
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::at(root.path());
        (root, machine)
    }

    fn outcome(check: Check, files: &[(&str, &str)]) -> Outcome {
        let (_root, machine) = machine(files);
        check.make(&machine, Severity::Wanted).outcome
    }

    const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "6.12.48-rt\n");

    #[test]
    fn a_preempt_rt_kernel_is_known_by_either_sign() {
        let plain = ("proc/version", "Linux version 6.12 #1 SMP PREEMPT_DYNAMIC\n");
        let rt = ("proc/version", "Linux version 6.12 #1 SMP PREEMPT_RT\n");
        assert!(matches!(outcome(Check::PreemptRt, &[RELEASE, rt]), Outcome::Pass(_)));
        assert!(matches!(
            outcome(Check::PreemptRt, &[RELEASE, plain, ("sys/kernel/realtime", "1\n")]),
            Outcome::Pass(_)
        ));
        assert!(matches!(outcome(Check::PreemptRt, &[RELEASE, plain]), Outcome::Fail { .. }));
        assert!(matches!(outcome(Check::PreemptRt, &[]), Outcome::Unknown(_)));
    }

    #[test]
    fn throttling_is_off_or_it_fails() {
        let period = ("proc/sys/kernel/sched_rt_period_us", "1000000\n");
        let with = |runtime| outcome(Check::NoThrottling, &[period, ("proc/sys/kernel/sched_rt_runtime_us", runtime)]);
        assert!(matches!(with("-1\n"), Outcome::Pass(_)));
        assert!(matches!(with("1000000\n"), Outcome::Pass(_)));
        assert!(matches!(with("950000\n"), Outcome::Fail { .. }));
        assert!(matches!(with("rubbish\n"), Outcome::Unknown(_)));
    }

    #[test]
    fn foreign_threads_are_named() {
        let stat = format!("19 (migration/0) S 2 {} 99 1 0", ["0"; 35].join(" "));
        let files = [("proc/19/task/19/stat", stat.as_str())];
        let Outcome::Fail { found, .. } = outcome(Check::ForeignRtAbove(90), &files) else { panic!("it is there") };
        assert_eq!(found, "migration/0 (99, pid 19)");
        let none = outcome(Check::ForeignRtAbove(90), &[RELEASE]);
        assert_eq!(none, Outcome::Pass("none".into()));
    }

    #[test]
    fn cpus() {
        let isolated = ("sys/devices/system/cpu/isolated", "2-3\n");
        assert!(matches!(outcome(Check::Isolated(CpuId(3)), &[isolated]), Outcome::Pass(_)));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[isolated]), Outcome::Fail { .. }));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[]), Outcome::Unknown(_)));
        let governor = ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "ondemand\n");
        assert!(matches!(outcome(Check::FixedFrequency(CpuId(1)), &[RELEASE, governor]), Outcome::Fail { .. }));
        assert!(matches!(outcome(Check::FixedFrequency(CpuId(0)), &[RELEASE, governor]), Outcome::Pass(_)));
        assert!(matches!(outcome(Check::FixedFrequency(CpuId(0)), &[]), Outcome::Unknown(_)));
    }

    #[test]
    fn unknown_is_not_a_pass() {
        for check in [Check::Priority(80), Check::Priority(0), Check::NoRtTimeLimit, Check::HighResolutionTimers] {
            assert!(matches!(outcome(check, &[RELEASE]), Outcome::Unknown(_)), "{check}");
        }
    }
}
