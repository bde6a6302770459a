//! Inputs of the checks: files below a root, so that tests can provide a machine, and limits of this process.

use punctual_units::Nanos;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::PathBuf;

/// A machine to check.
pub(crate) struct Machine {
    root: PathBuf,
    /// Whether files and limits are those of this process.
    live: bool,
}

/// A real-time thread of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub name: String,
    pub pid: u32,
    pub priority: u8,
}

impl Machine {
    pub(crate) fn live() -> Machine {
        Machine { root: "/".into(), live: true }
    }

    #[cfg(test)]
    pub(crate) fn at(root: &std::path::Path) -> Machine {
        Machine { root: root.into(), live: false }
    }

    /// Content of a file without surrounding white space, or why it cannot be read.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        let full = self.root.join(path.trim_start_matches('/'));
        let text = fs::read_to_string(full).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.trim().to_owned())
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.read(path)?;
        text.parse().map_err(|_| format!("{path}: `{text}` is not a number"))
    }

    /// The soft limit; `Ok(None)` if unlimited.
    pub(crate) fn limit(&self, resource: Resource) -> Result<Option<u64>, String> {
        if self.live { Ok(getrlimit(resource).current) } else { Err("limits of a recorded machine".into()) }
    }

    /// Whether the kernel grants this to a thread of this process; it is tried and restored.
    pub(crate) fn grants(&self, scheduling: punctual_units::Scheduling) -> Result<Result<(), crate::Refused>, String> {
        if self.live {
            Ok(crate::try_scheduling(scheduling))
        } else {
            Err("a recorded machine cannot grant anything".into())
        }
    }

    /// Resolution of CLOCK_MONOTONIC timers: clock_getres(2).
    pub(crate) fn resolution(&self) -> Result<Nanos, String> {
        if !self.live {
            return Err("a recorded machine has no clock".into());
        }
        let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
        Ok(Nanos(resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64))
    }

    /// Threads of other programs, including kernel threads, with a real-time policy and at least this priority:
    /// proc_pid_stat(5), fields 40 (rt_priority) and 41 (policy).
    pub(crate) fn real_time_from(&self, least: u8) -> Result<Vec<Foreign>, String> {
        let proc = self.root.join("proc");
        let entries = fs::read_dir(&proc).map_err(|error| format!("/proc: {error}"))?;
        let mut found = Vec::new();
        for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
            if self.live && pid == std::process::id() {
                continue;
            }
            let Ok(tasks) = fs::read_dir(proc.join(pid.to_string()).join("task")) else { continue };
            let stats = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
            found.extend(stats.filter_map(|stat| real_time(&stat)).filter(|task| task.priority >= least));
        }
        found.sort_by_key(|task| (std::cmp::Reverse(task.priority), task.pid));
        Ok(found)
    }
}

/// Parses a line of stat; `None` unless the policy is SCHED_FIFO (1) or SCHED_RR (2).
fn real_time(stat: &str) -> Option<Foreign> {
    let (before, after) = stat.rsplit_once(") ")?;
    let (pid, name) = before.split_once(" (")?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let (priority, policy) = (fields.get(37)?.parse().ok()?, *fields.get(38)?);
    (policy == "1" || policy == "2").then(|| Foreign { name: name.into(), pid: pid.parse().unwrap_or(0), priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat() {
        let fields = |policy: u8| format!("19 (migration/0) S 2 {} 99 {policy} 0 0 0", ["0"; 35].join(" "));
        let wanted = Foreign { name: "migration/0".into(), pid: 19, priority: 99 };
        assert_eq!(real_time(&fields(1)), Some(wanted));
        assert_eq!(real_time(&fields(0)), None);
        assert_eq!(real_time("19 (cut"), None);
    }

    #[test]
    fn this_machine_has_none_of_ours() {
        let found = Machine::live().real_time_from(1).unwrap();
        assert!(found.iter().all(|task| task.pid != std::process::id()));
    }
}
