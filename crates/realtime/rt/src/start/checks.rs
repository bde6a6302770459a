//! Checks that a program can request.

use crate::start::probe::Machine;
use crate::start::{Checked, Outcome, Severity, isolated, throttling};
use punctual_units::{CpuId, Nanos, Priority, Scheduling};
use rustix::process::Resource;
use std::fmt;

/// A property that a real-time program may require of the machine. `punctual audit` checks far more, once per machine;
/// a program should check these at each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The kernel is PREEMPT_RT: CONFIG_PREEMPT_RT, /sys/kernel/realtime.
    PreemptRt,
    /// This SCHED_FIFO priority is granted; it is set for the check, and the previous scheduling is restored.
    Priority(u8),
    /// This SCHED_DEADLINE reservation is granted; it is set for the check, and the previous scheduling is restored.
    /// Each reservation is tried alone: several tasks may fit individually but not together.
    Deadline {
        /// CPU time per period.
        runtime: Nanos,
        /// Deadline relative to the release.
        deadline: Nanos,
        /// Period of the reservation.
        period: Nanos,
    },
    /// This many bytes can be locked: RLIMIT_MEMLOCK, or CAP_IPC_LOCK.
    LockedMemory(u64),
    /// Timers have nanosecond resolution: CONFIG_HIGH_RES_TIMERS.
    HighResolutionTimers,
    /// The clock is read without a system call. The result is unknown for a clocksource of which this library does not
    /// know whether it has a vDSO reader.
    FastClock,
    /// No mechanism takes the CPU from a SCHED_FIFO or SCHED_RR task that does not sleep: neither RT throttling
    /// (kernel.sched_rt_runtime_us; before Linux 6.12, or with CONFIG_RT_GROUP_SCHED) nor the fair server (since Linux
    /// 6.12, /sys/kernel/debug/sched/fair_server, which only root can read). With the kernel's defaults the check
    /// fails; a program that leaves 5 % of each CPU unused does not need it.
    NoThrottling,
    /// No thread of another program is SCHED_DEADLINE, or SCHED_FIFO or SCHED_RR with this priority or a higher one.
    /// Kernel threads count, except the stoppers (migration/N), which every kernel has.
    ForeignRtAbove(u8),
    /// The kernel does not kill this process for using the CPU without sleeping: RLIMIT_RTTIME (rtkit sets 200 ms).
    NoRtTimeLimit,
    /// This CPU is isolated from other tasks: isolcpus=, or an isolated cpuset partition (control groups of version 2).
    Isolated(CpuId),
    /// This CPU's frequency does not change: governor `performance`, equal lower and upper limits, or no frequency
    /// scaling at all.
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
            Check::ForeignRtAbove(priority) => {
                write!(f, "no other real-time thread at {priority} or above, nor SCHED_DEADLINE")
            }
            Check::NoRtTimeLimit => write!(f, "no limit on real-time CPU time"),
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
                let fix = "boot without highres=off, or use a kernel with CONFIG_HIGH_RES_TIMERS=y";
                Ok(pass(resolution.0 <= 1, format!("resolution {resolution}"), fix))
            }
            Check::FastClock => fast_clock(machine),
            Check::NoThrottling => throttling::throttling(machine),
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
            let fix = refused.advice().unwrap_or("run as root, or with CAP_SYS_NICE").into();
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
    /// Clocksources with a vDSO reader: arch/x86/include/asm/vdso/clocksource.h, drivers/clocksource/arm_arch_timer.c
    /// and timer-riscv.c, drivers/clocksource/hyperv_timer.c.
    const FAST: [&str; 5] =
        ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];
    /// Clocksources without a vDSO reader; `timer` is the system timer of the BCM2835.
    const SLOW: [&str; 6] = ["hpet", "acpi_pm", "jiffies", "refined-jiffies", "hyperv_clocksource_msr", "timer"];
    let clock = machine.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    let fix = "see the reason in `dmesg | grep -i clocksource`; boot with tsc=reliable only if the TSC is known to be reliable";
    match clock.as_str() {
        known if FAST.contains(&known) => Ok(Outcome::Pass(clock)),
        known if SLOW.contains(&known) => Ok(pass(false, clock, fix)),
        _ => Err(format!("the clocksource is {clock}; compare the time of clock_gettime(2) with that of getppid(2)")),
    }
}

fn foreign(machine: &Machine, priority: u8) -> Result<Outcome, String> {
    /// Maximum number of threads to name in the text.
    const NAMED: usize = 5;
    let (found, unseen) = machine.real_time_from(priority)?;
    if found.is_empty() {
        return unseen.map_or(Ok(Outcome::Pass("none".into())), Err);
    }
    let name = |task: &super::probe::Foreign| {
        let policy = task.priority.map_or("SCHED_DEADLINE".into(), |priority| priority.to_string());
        format!("{} ({policy}, pid {})", task.name, task.pid)
    };
    let mut names: Vec<String> = found.iter().take(NAMED).map(name).collect();
    if found.len() > NAMED {
        names.push(format!("{} more", found.len() - NAMED));
    }
    let fix = "lower them (chrt -f -p PRIORITY PID), move them to other CPUs, or use a higher priority (this does not help against SCHED_DEADLINE)";
    Ok(pass(false, names.join(", "), fix))
}

fn isolated(machine: &Machine, cpu: CpuId) -> Result<Outcome, String> {
    let isolated = isolated::isolated(machine)?;
    let there = isolated.iter().any(|one| one == cpu);
    if !there && let Some(doubt) = isolated::doubt(machine) {
        return Err(doubt);
    }
    let found = if isolated.is_empty() { "isolated: none".into() } else { format!("isolated: {isolated}") };
    Ok(pass(there, found, "punctual audit --plan-cpus proposes CPUs to isolate"))
}

fn frequency(machine: &Machine, cpu: CpuId) -> Result<Outcome, String> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
    if !machine.exists(&folder) {
        return Err(format!("{folder}: no such CPU"));
    }
    let policy = format!("{folder}/cpufreq");
    if !machine.exists(&policy) {
        return Ok(Outcome::Pass("this kernel does not scale the frequency".into()));
    }
    let governor = machine.read(&format!("{policy}/scaling_governor"))?;
    let limit = |name: &str| machine.number::<u64>(&format!("{policy}/{name}")).ok();
    let limits = limit("scaling_min_freq").zip(limit("scaling_max_freq"));
    let (fixed, found) = match limits {
        Some((min, max)) if min == max => (true, format!("governor {governor}, {max} kHz only")),
        _ => (governor == "performance", format!("governor {governor}")),
    };
    Ok(pass(fixed, found, format!("echo performance > {policy}/scaling_governor")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::probe::tests::machine;

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
    fn foreign_threads_are_named() {
        let fields = |policy| format!("19 (dl) S 2 0 0 0 -1 0 {} 0 {policy} 0", ["0"; 30].join(" "));
        let (ordinary, deadline) = (fields(0), fields(6));
        let kthreadd = [("proc/2/comm", "kthreadd\n"), ("proc/2/task/2/stat", "")];
        let with = |stat: &str| {
            outcome(Check::ForeignRtAbove(99), &[&kthreadd[..], &[("proc/19/task/19/stat", stat)]].concat())
        };
        let Outcome::Fail { found, .. } = with(&deadline) else { panic!("it is there") };
        assert_eq!(found, "dl (SCHED_DEADLINE, pid 19)");
        assert_eq!(with(&ordinary), Outcome::Pass("none".into()));
        assert!(matches!(outcome(Check::ForeignRtAbove(90), &[RELEASE]), Outcome::Unknown(_)));
    }

    #[test]
    fn isolated_cpus() {
        let isolated = ("sys/devices/system/cpu/isolated", "2-3\n");
        let partition = ("sys/fs/cgroup/cpuset.cpus.isolated", "1\n");
        let inside = ("sys/fs/cgroup/cgroup.events", "populated 1\n");
        assert!(matches!(outcome(Check::Isolated(CpuId(3)), &[isolated]), Outcome::Pass(_)));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[isolated, partition]), Outcome::Pass(_)));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[isolated]), Outcome::Fail { .. }));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[isolated, inside]), Outcome::Unknown(_)));
        assert!(matches!(outcome(Check::Isolated(CpuId(3)), &[isolated, inside]), Outcome::Pass(_)));
        assert!(matches!(outcome(Check::Isolated(CpuId(1)), &[]), Outcome::Unknown(_)));
    }

    #[test]
    fn frequencies() {
        let file = |cpu: u32, name| -> &'static str { format!("sys/devices/system/cpu/cpu{cpu}/{name}").leak() };
        let files = [
            (file(0, "online"), "1"),
            (file(1, "cpufreq/scaling_governor"), "ondemand\n"),
            (file(2, "cpufreq/scaling_governor"), "performance\n"),
            (file(3, "cpufreq/scaling_governor"), "powersave\n"),
            (file(3, "cpufreq/scaling_min_freq"), "1500000\n"),
            (file(3, "cpufreq/scaling_max_freq"), "1500000\n"),
        ];
        let of = |cpu| outcome(Check::FixedFrequency(CpuId(cpu)), &files);
        assert!(of(0).is_pass() && of(2).is_pass() && of(3).is_pass());
        assert!(matches!(of(1), Outcome::Fail { .. }));
        assert!(matches!(of(4), Outcome::Unknown(_)));
    }

    #[test]
    fn an_unknown_clocksource_is_no_pass() {
        let with = |name| {
            let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
            outcome(Check::FastClock, &[(path, name)])
        };
        assert!(with("tsc\n").is_pass());
        assert!(matches!(with("hpet\n"), Outcome::Fail { .. }));
        assert!(matches!(with("xen\n"), Outcome::Unknown(_)));
    }

    #[test]
    fn unknown_is_not_a_pass() {
        for check in [Check::Priority(80), Check::Priority(0), Check::NoRtTimeLimit, Check::HighResolutionTimers] {
            assert!(matches!(outcome(check, &[RELEASE]), Outcome::Unknown(_)), "{check}");
        }
    }
}
