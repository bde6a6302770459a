//! The CPU bandwidth that SCHED_DEADLINE tasks may reserve, and their reservations.

use crate::start::probe::Machine;
use crate::start::throttling::release;
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};
use std::fmt;

/// The kernel's unit of bandwidth: 2^20 is a whole CPU (BW_UNIT in kernel/sched/sched.h).
const WHOLE: f64 = (1 << 20) as f64;
const DEBUG: &str = "/sys/kernel/debug/sched/debug";

/// A SCHED_DEADLINE thread and what it has reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Name of the thread.
    pub name: String,
    /// Process ID of the task that holds the reservation.
    pub pid: u32,
    /// CPU time per period.
    pub runtime: Nanos,
    /// Period of the reservation.
    pub period: Nanos,
}

/// Admission of SCHED_DEADLINE tasks on the CPUs of the calling thread. The kernel admits a task if the bandwidth of
/// all deadline tasks of its root domain, the sum of runtime / period, stays below the share kernel.sched_rt_runtime_us
/// / kernel.sched_rt_period_us of these CPUs (Documentation/scheduler/sched-deadline.rst, "Bandwidth management").
/// Since Linux 6.12 the fair servers use part of this share.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// CPUs that the calling thread may run on. These are its root domain if a deadline task can be admitted at all.
    pub cpus: CpuList,
    /// Sum of the capacities of these CPUs; the fastest CPU of the machine has capacity 1.
    pub capacity: f64,
    /// Share of the capacity that may be reserved; `None` if the kernel admits without a check
    /// (kernel.sched_rt_runtime_us is −1).
    pub limit: Option<f64>,
    /// Deadline threads that may run on these CPUs.
    pub reserved: Vec<Reservation>,
    /// Bandwidth of the fair servers, in CPUs; if it cannot be read, their default since Linux 6.12. The kernel counts
    /// it as reserved, but Linux 6.12 stops counting it when cpusets change.
    pub servers: f64,
    /// The kernel's own sum of reserved bandwidth, in CPUs; `None` if it cannot be read: only root can read it.
    pub sum: Option<f64>,
}

impl Admission {
    /// Reads the deadline bandwidth that is currently reserved.
    ///
    /// # Errors
    /// A message that says why it cannot be read.
    pub fn read() -> Result<Admission, String> {
        let cpus = uapi::affinity(0).map_err(|error| error.to_string())?;
        Admission::of(&Machine::live(), cpus, |tid| {
            let (scheduling, cpus) = (uapi::scheduling(tid).ok()?.0, uapi::affinity(tid).ok()?);
            Some((scheduling, cpus))
        })
    }

    /// Computes the admission; `asked` returns the policy and CPUs of a thread.
    pub(crate) fn of(
        machine: &Machine,
        cpus: CpuList,
        asked: impl Fn(i32) -> Option<(Scheduling, CpuList)>,
    ) -> Result<Admission, String> {
        let runtime: i64 = machine.number("/proc/sys/kernel/sched_rt_runtime_us")?;
        let period: u64 = machine.number("/proc/sys/kernel/sched_rt_period_us")?;
        let limit = u64::try_from(runtime).ok().map(|runtime| runtime as f64 / period.max(1) as f64);
        let capacity = |cpu: CpuId| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
            machine.number::<u32>(&path).map_or(1.0, |of| f64::from(of) / 1024.0)
        };
        let mut reserved = Vec::new();
        for (pid, tid, name) in machine.deadline_threads()? {
            // The thread has ended meanwhile, or is one of schedutil's threads, whose parameters are not accounted for.
            let Some((Scheduling::Deadline { runtime_ns, period_ns, .. }, on)) = asked(tid) else { continue };
            if !on.and(&cpus).is_empty() && !name.starts_with("sugov:") {
                reserved.push(Reservation { name, pid, runtime: runtime_ns, period: period_ns });
            }
        }
        let servers = cpus.iter().map(|cpu| server(machine, cpu)).sum();
        let sum = cpus.iter().next().and_then(|cpu| sum(&machine.read(DEBUG).ok()?, cpu));
        Ok(Admission { capacity: cpus.iter().map(capacity).sum(), cpus, limit, reserved, servers, sum })
    }

    /// Returns the reserved bandwidth, in CPUs: the kernel's sum if known, otherwise the sum over the threads and the
    /// fair servers.
    pub fn taken(&self) -> f64 {
        self.sum.unwrap_or_else(|| self.servers + self.by_threads())
    }

    fn by_threads(&self) -> f64 {
        self.reserved.iter().map(|one| one.runtime.0 as f64 / one.period.0.max(1) as f64).sum()
    }

    /// Returns the bandwidth that may still be reserved, in CPUs; `None` without a limit.
    pub fn free(&self) -> Option<f64> {
        self.limit.map(|limit| (limit * self.capacity - self.taken()).max(0.0))
    }

    /// Returns the longest runtime that a task with this deadline and period could reserve.
    pub fn longest(&self, deadline: Nanos, period: Nanos) -> Nanos {
        // One unit of bandwidth less, because the kernel rounds down the bandwidth of a task.
        let free = self.free().map_or(f64::INFINITY, |free| (free - 1.0 / WHOLE).max(0.0));
        Nanos(((free * period.0 as f64) as u64).min(deadline.0))
    }
}

/// Formats `CPU 0-1: 1.90 CPUs may be reserved, 1.60 are (6.00 ms of 10.0 ms by control (pid 12), fair servers 0.10);
/// 0.30 free`.
impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum number of threads to name in the text.
        const NAMED: usize = 5;
        let Some((limit, free)) = self.limit.zip(self.free()) else {
            return write!(f, "CPU {}: reservations are not checked (kernel.sched_rt_runtime_us is -1)", self.cpus);
        };
        let name = |one: &Reservation| format!("{} of {} by {} (pid {})", one.runtime, one.period, one.name, one.pid);
        let mut parts: Vec<String> = self.reserved.iter().take(NAMED).map(name).collect();
        if self.reserved.len() > NAMED {
            parts.push(format!("{} more", self.reserved.len() - NAMED));
        }
        match self.sum {
            None if self.servers > 0.0 => {
                parts.push(format!("fair servers {:.2}, which Linux 6.12 may not count", self.servers))
            }
            Some(sum) if self.servers > 0.0 && sum - self.by_threads() > self.servers / 2.0 => {
                parts.push(format!("fair servers {:.2}", self.servers));
            }
            _ => {}
        }
        let (may, taken) = (limit * self.capacity, self.taken());
        write!(f, "CPU {}: {may:.2} CPUs may be reserved, {taken:.2} are", self.cpus)?;
        if !parts.is_empty() {
            write!(f, " ({})", parts.join(", "))?;
        }
        write!(f, "; {free:.2} free")
    }
}

/// Returns the bandwidth of a CPU's fair server, in CPUs.
fn server(machine: &Machine, cpu: CpuId) -> f64 {
    let of = |what: &str| machine.number::<f64>(&format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/{what}")).ok();
    match of("runtime").zip(of("period")) {
        Some((runtime, period)) if period > 0.0 => runtime / period,
        // 50 ms of each second (dl_server_apply_params() in kernel/sched/deadline.c).
        _ if release(machine).is_some_and(|of| of >= (6, 12)) => 0.05,
        _ => 0.0,
    }
}

/// Returns `.dl_bw->total_bw` of a CPU's run queue from the text of /sys/kernel/debug/sched/debug, in CPUs.
fn sum(debug: &str, cpu: CpuId) -> Option<f64> {
    let queue = format!("dl_rq[{cpu}]:");
    let mut lines = debug.lines().skip_while(|line| line.trim() != queue).skip(1);
    let line = lines.find(|line| line.contains("total_bw") || line.contains("dl_rq["))?;
    line.split_once("total_bw")?.1.trim_start().strip_prefix(':')?.trim().parse::<f64>().ok().map(|bw| bw / WHOLE)
}

/// Returns what to change in a refused request. Unlike [`crate::refusal_advice`], it reads files.
pub(crate) fn explain(runtime: Nanos, deadline: Nanos, period: Nanos) -> Option<String> {
    let now = Admission::read().ok()?;
    let share = runtime.0 as f64 / period.0.max(1) as f64;
    let fits = match now.longest(deadline, period) {
        Nanos(..1_024) => "nothing more fits".to_owned(),
        longest => format!("{longest} of each {period} would fit"),
    };
    Some(format!("it needs {share:.2} CPUs; {now}: {fits}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::probe::tests::machine;

    const LIMIT: [(&str, &str); 2] =
        [("proc/sys/kernel/sched_rt_runtime_us", "950000\n"), ("proc/sys/kernel/sched_rt_period_us", "1000000\n")];
    const NEW: (&str, &str) = ("proc/sys/kernel/osrelease", "6.12.48\n");

    fn stat(name: &str, policy: u8) -> String {
        format!("7 ({name}) S 1 0 0 0 -1 0 {} 0 {policy} 0", ["0"; 30].join(" "))
    }

    fn read(files: &[(&str, &str)]) -> Admission {
        let (control, other, sugov) = (stat("control", 6), stat("other", 1), stat("sugov:0", 6));
        let tasks = [
            ("proc/12/task/12/stat", control.as_str()),
            ("proc/13/task/13/stat", other.as_str()),
            ("proc/14/task/14/stat", sugov.as_str()),
        ];
        let (_root, machine) = machine(&[files, &tasks[..]].concat());
        let all: CpuList = "0-1".parse().unwrap();
        let ms = Nanos::from_millis;
        let reserved = Scheduling::Deadline { runtime_ns: ms(6), deadline_ns: ms(10), period_ns: ms(10) };
        Admission::of(&machine, all.clone(), |_| Some((reserved, all.clone()))).unwrap()
    }

    #[test]
    fn what_is_taken_by_whom_and_what_fits() {
        let new = read(&[&LIMIT[..], &[NEW]].concat());
        assert_eq!(
            new.to_string(),
            "CPU 0-1: 1.90 CPUs may be reserved, 0.70 are (6.00 ms of 10.0 ms by control (pid 12), fair servers 0.10, \
             which Linux 6.12 may not count); 1.20 free"
        );
        let ms = Nanos::from_millis;
        assert_eq!(new.longest(ms(10), ms(10)), ms(10));
        let third = new.longest(ms(100), ms(1_000));
        assert_eq!(third, ms(100));
        let old = read(&[&LIMIT[..], &[("proc/sys/kernel/osrelease", "6.1.0\n")]].concat());
        assert!((old.taken() - 0.6).abs() < 1e-9, "{old}");
    }

    #[test]
    fn the_kernels_own_sum_comes_first_and_no_limit_is_none() {
        let debug =
            "dl_rq[0]:\n  .dl_nr_running : 0\n  .dl_bw->bw : 996147\n  .dl_bw->total_bw : 1835008\n\ndl_rq[1]:\n";
        let with = read(&[&LIMIT[..], &[NEW, ("sys/kernel/debug/sched/debug", debug)]].concat());
        assert_eq!(with.taken(), 1.75);
        assert!(with.to_string().contains("by control (pid 12), fair servers 0.10); 0.15 free"), "{with}");
        let forgotten = debug.replace("1835008", "629145");
        let without = read(&[&LIMIT[..], &[NEW, ("sys/kernel/debug/sched/debug", &forgotten)]].concat());
        assert!(without.to_string().contains("0.60 are (6.00 ms of 10.0 ms by control (pid 12)); 1.30"), "{without}");
        let longest = with.longest(Nanos::from_millis(10), Nanos::from_millis(10));
        assert!((1_499_000..1_500_000).contains(&longest.0), "{longest}");
        assert_eq!(sum(debug, CpuId(1)), None);
        let off = read(&[("proc/sys/kernel/sched_rt_runtime_us", "-1\n"), LIMIT[1]]);
        assert_eq!((off.free(), off.longest(Nanos(5_000), Nanos(9_000))), (None, Nanos(5_000)));
        assert!(off.to_string().contains("not checked"));
    }

    #[test]
    fn slow_cpus_have_less() {
        let small = ("sys/devices/system/cpu/cpu0/cpu_capacity", "512\n");
        assert_eq!(read(&[&LIMIT[..], &[NEW, small]].concat()).capacity, 1.5);
    }
}
