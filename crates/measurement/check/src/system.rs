//! Reads the settings of threads, which their events do not contain, from /proc and with sched_getattr(2).

use crate::file::File;
use punctual_units::{CpuList, Scheduling};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};
use std::fs;

/// Settings of a thread that matter for real time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    pub cpus: Option<CpuList>,
    /// Timer slack: prctl(2), PR_SET_TIMERSLACK.
    pub timer_slack_ns: Option<u64>,
    pub memory: Option<Memory>,
}

/// Memory of a process, KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// VmSize of proc_pid_status(5).
    pub size: u64,
    /// VmLck of proc_pid_status(5).
    pub locked: u64,
    /// Resident memory in mappings that could be locked and are not; `None` if it could not be read.
    pub unlocked: Option<u64>,
}

/// The machine as seen by the recorder; tests use their own.
pub trait System {
    /// Returns the policy, and true if new threads get SCHED_OTHER; `None` if the thread has ended.
    fn scheduling(&self, tid: i32) -> Option<(Scheduling, bool)>;
    fn file(&self, pid: i32, descriptor: i32) -> Option<File>;
    /// Returns the settings of a thread, except the memory of its process.
    fn facts(&self, pid: i32, tid: i32) -> Facts;
    /// Returns the memory of a process. Its mappings are not read again if they are as large as `before`.
    fn memory(&self, pid: i32, before: Option<Memory>) -> Option<Memory>;
    /// Returns the name of a thread, and true if it is a kernel thread.
    fn who(&self, tid: i32) -> Option<(String, bool)>;
    /// Returns the thread that process `pid` calls `named`, which may be in another PID namespace; `None` if it cannot be
    /// determined. `known` are the threads among which it is searched.
    fn thread_of(&self, pid: i32, named: i32, known: &[i32]) -> Option<i32>;
    /// Returns the CPU time of a thread, ns: field 1 of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst).
    fn cpu_time(&self, tid: i32) -> Option<u64>;
    /// Returns the time, CLOCK_MONOTONIC, ns.
    fn now(&self) -> u64;
    /// Returns true if the thread exists and is not exiting.
    fn is_alive(&self, tid: i32) -> bool;
    /// Returns how far a clock is ahead of CLOCK_MONOTONIC, ns.
    fn ahead(&self, clock: i32) -> i64;
    /// Returns true if the address is in the area in which the kernel executes the instructions that uprobes replaced.
    fn is_of_probes(&self, pid: i32, address: u64) -> bool;
}

pub struct Live;

impl Live {
    /// Returns true if the thread is running, runnable, or waiting for the disk: proc_pid_stat(5).
    pub fn is_running(&self, tid: i32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']))
    }
}

impl System for Live {
    fn scheduling(&self, tid: i32) -> Option<(Scheduling, bool)> {
        punctual_uapi::scheduling(tid).ok()
    }

    fn file(&self, pid: i32, number: i32) -> Option<File> {
        descriptor(pid, number)
    }

    fn memory(&self, pid: i32, before: Option<Memory>) -> Option<Memory> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let (size, locked) = (kib(&status, "VmSize:")?, kib(&status, "VmLck:")?);
        let unlocked = match before.filter(|before| (before.size, before.locked) == (size, locked)) {
            Some(before) => before.unlocked,
            None if locked == 0 => None,
            None => fs::read_to_string(format!("/proc/{pid}/smaps")).ok().map(|text| unlocked(&text)),
        };
        Some(Memory { size, locked, unlocked })
    }

    fn facts(&self, _: i32, tid: i32) -> Facts {
        Facts {
            cpus: punctual_uapi::affinity(tid).ok(),
            timer_slack_ns: fs::read_to_string(format!("/proc/{tid}/timerslack_ns"))
                .ok()
                .and_then(|t| t.trim().parse().ok()),
            memory: None,
        }
    }

    fn who(&self, tid: i32) -> Option<(String, bool)> {
        let name = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
        // Field 9, after the name in parentheses, contains PF_KTHREAD of include/linux/sched.h.
        let flags: u64 = stat.rsplit_once(") ")?.1.split(' ').nth(6)?.parse().ok()?;
        Some((name.trim_end().to_owned(), flags & 0x0020_0000 != 0))
    }

    fn thread_of(&self, pid: i32, named: i32, known: &[i32]) -> Option<i32> {
        let depth = namespace_ids(pid)?.len();
        if depth == 1 {
            return Some(named);
        }
        let namespace = |tid: i32| fs::read_link(format!("/proc/{tid}/ns/pid")).ok();
        let own = namespace(pid)?;
        // Threads in nested namespaces have an ID here too, but it is unknown whether it belongs to this namespace.
        let is_it = |tid: &i32| {
            namespace_ids(*tid).is_some_and(|ids| ids.len() == depth && ids.last() == Some(&named))
                && namespace(*tid).as_ref() == Some(&own)
        };
        known.iter().copied().find(is_it)
    }

    fn cpu_time(&self, tid: i32) -> Option<u64> {
        fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?.split(' ').next()?.parse().ok()
    }

    fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn is_alive(&self, tid: i32) -> bool {
        /// PF_EXITING of include/linux/sched.h.
        const EXITING: u64 = 0x4;
        let stat = fs::read_to_string(format!("/proc/{tid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>()).unwrap_or_default();
        let flags = fields.get(6).and_then(|flags| flags.parse::<u64>().ok());
        !fields.first().is_some_and(|state| matches!(*state, "Z" | "X"))
            && flags.is_some_and(|flags| flags & EXITING == 0)
    }

    fn ahead(&self, clock: i32) -> i64 {
        let id = match clock {
            libc::CLOCK_REALTIME => DynamicClockId::Known(ClockId::Realtime),
            libc::CLOCK_TAI => DynamicClockId::Tai,
            libc::CLOCK_BOOTTIME => DynamicClockId::Boottime,
            _ => return 0,
        };
        let nanos = |time: Timespec| {
            let rest: i64 = time.tv_nsec as _;
            time.tv_sec * 1_000_000_000 + rest
        };
        let before = nanos(clock_gettime(ClockId::Monotonic));
        let Ok(there) = clock_gettime_dynamic(id).map(nanos) else { return 0 };
        let after = nanos(clock_gettime(ClockId::Monotonic));
        there - before - (after - before) / 2
    }

    fn is_of_probes(&self, pid: i32, address: u64) -> bool {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().filter(|line| line.ends_with("[uprobes]")).any(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text: &str| u64::from_str_radix(text, 16).ok();
            range.is_some_and(|(start, end)| {
                number(start).is_some_and(|start| start <= address) && number(end).is_some_and(|end| address < end)
            })
        })
    }
}

/// Returns a value of /proc/PID/status or smaps.
fn kib(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    value.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Returns the resident memory, KiB, of the mappings in a text of proc_pid_smaps(5) that mlockall(2) would lock and that
/// are not locked (mlock_fixup() of mm/mlock.c: not VM_SPECIAL, no huge pages of hugetlbfs).
fn unlocked(text: &str) -> u64 {
    const NEVER: [&str; 5] = ["io", "pf", "de", "mm", "ht"];
    let (mut sum, mut resident) = (0, 0);
    for line in text.lines() {
        if let Some(size) = line.strip_prefix("Rss:") {
            resident = size.trim().trim_end_matches("kB").trim().parse().unwrap_or(0);
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            let is_lockable = flags.split_whitespace().all(|flag| flag != "lo" && !NEVER.contains(&flag));
            sum += if is_lockable { resident } else { 0 };
        }
    }
    sum
}

/// Returns the IDs of a thread, from the namespace of this /proc to its own (NSpid of proc_pid_status(5)).
fn namespace_ids(tid: i32) -> Option<Vec<i32>> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // Without CONFIG_PID_NS there is only one namespace.
    Some(line.map_or_else(|| vec![tid], |ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect()))
}

/// Returns what a descriptor of a process refers to (proc_pid_fd(5), proc_pid_fdinfo(5)).
pub fn descriptor(pid: i32, number: i32) -> Option<File> {
    descriptor_info(pid, number).map(|(file, _)| file)
}

/// Like [`descriptor`], but also returns the text of proc_pid_fdinfo(5).
pub fn descriptor_info(pid: i32, number: i32) -> Option<(File, String)> {
    let name = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).unwrap_or_default();
    Some((File::of(&name.to_string_lossy(), &info), info))
}

/// Returns true for SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
pub fn is_real_time(scheduling: Scheduling) -> bool {
    matches!(scheduling, Scheduling::Fifo { .. } | Scheduling::Rr { .. } | Scheduling::Deadline { .. })
}

/// Returns a rank that orders threads: 0 without real-time policy, then the priority; SCHED_DEADLINE is highest.
pub fn urgency(scheduling: Scheduling) -> u8 {
    match scheduling {
        Scheduling::Deadline { .. } => 100,
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => priority.get(),
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_locked_is_counted_by_mappings() {
        let mapping = |kib: u64, flags: &str| format!("7f00-7f10 rw-p 0 0:0 0\nRss: {kib} kB\nVmFlags: {flags}\n");
        let text =
            [mapping(40, "rd wr mr"), mapping(500, "rd wr lo"), mapping(8, "rd ex de"), mapping(2, "rd")].concat();
        assert_eq!(unlocked(&text), 42);
        assert_eq!((unlocked("Rss: x kB\nVmFlags: rd"), kib("VmLck:\t  12 kB\n", "VmLck:")), (0, Some(12)));
    }
}
