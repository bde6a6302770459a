//! Inputs of the checks: the limits of this process, and files below a root directory, which tests can replace.

use punctual_units::Nanos;
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::PathBuf;

/// The machine that the checks examine; in tests, files that represent one.
pub(crate) struct Machine {
    root: PathBuf,
    /// True if files and limits are those of the running machine and this process; false in tests.
    live: bool,
}

/// A real-time thread of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub name: String,
    pub pid: u32,
    /// SCHED_FIFO or SCHED_RR priority; `None` for SCHED_DEADLINE, which runs before every priority.
    pub priority: Option<u8>,
}

impl Machine {
    pub(crate) fn live() -> Machine {
        Machine { root: "/".into(), live: true }
    }

    #[cfg(test)]
    pub(crate) fn at(root: &std::path::Path) -> Machine {
        Machine { root: root.into(), live: false }
    }

    fn full(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.full(path).exists()
    }

    /// Returns the names in a folder, sorted.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(self.full(path)).map_err(|error| format!("{path}: {error}"))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the content of a file without surrounding white space, or why it cannot be read.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        let text = fs::read_to_string(self.full(path)).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.trim().to_owned())
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.read(path)?;
        text.parse().map_err(|_| format!("{path}: `{text}` is not a number"))
    }

    /// Returns the soft limit of a resource; `Ok(None)` if it is unlimited.
    pub(crate) fn limit(&self, resource: Resource) -> Result<Option<u64>, String> {
        if self.live {
            Ok(getrlimit(resource).current)
        } else {
            Err("the snapshot of a machine does not contain resource limits".into())
        }
    }

    /// Checks whether the kernel grants this scheduling to a thread of this process: sets it, and restores the previous
    /// scheduling.
    pub(crate) fn grants(&self, scheduling: punctual_units::Scheduling) -> Result<Result<(), crate::Refused>, String> {
        if self.live {
            Ok(crate::try_scheduling(scheduling))
        } else {
            Err("a recorded machine cannot grant anything".into())
        }
    }

    /// Returns the resolution of CLOCK_MONOTONIC timers: clock_getres(2).
    pub(crate) fn resolution(&self) -> Result<Nanos, String> {
        if !self.live {
            return Err("a recorded machine has no clock".into());
        }
        let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
        Ok(Nanos(resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64))
    }

    /// Returns the SCHED_DEADLINE threads of all programs: process ID, thread ID, name.
    pub(crate) fn deadline_threads(&self) -> Result<Vec<(u32, i32, String)>, String> {
        let mut found = Vec::new();
        for pid in self.names("/proc")?.iter().filter_map(|name| name.parse::<u32>().ok()) {
            // The process may have ended.
            let tids = self.names(&format!("/proc/{pid}/task")).unwrap_or_default();
            found.extend(tids.iter().filter_map(|tid| {
                let stat = self.read(&format!("/proc/{pid}/task/{tid}/stat")).ok()?;
                let thread = real_time(&stat).filter(|thread| thread.priority.is_none())?;
                Some((pid, tid.parse().ok()?, thread.name))
            }));
        }
        Ok(found)
    }

    /// Returns the threads of other programs, including kernel threads, that are SCHED_DEADLINE, or SCHED_FIFO or
    /// SCHED_RR with a priority of at least `least` (proc_pid_stat(5), fields 40 and 41).
    ///
    /// Excludes the stopper of each CPU (migration/N, FIFO 99): every kernel has it, and it runs only to move threads.
    /// The second value says why some threads may not be visible; `None` if all threads are visible.
    pub(crate) fn real_time_from(&self, least: u8) -> Result<(Vec<Foreign>, Option<String>), String> {
        let mut found = Vec::new();
        let mut unreadable = 0;
        for pid in self.names("/proc")?.iter().filter_map(|name| name.parse::<u32>().ok()) {
            if self.live && pid == std::process::id() {
                continue;
            }
            let Ok(tasks) = self.names(&format!("/proc/{pid}/task")) else {
                // A process that has ended meanwhile does not count as unreadable.
                unreadable += usize::from(self.exists(&format!("/proc/{pid}")));
                continue;
            };
            let stats = tasks.iter().filter_map(|tid| self.read(&format!("/proc/{pid}/task/{tid}/stat")).ok());
            found.extend(
                stats.filter_map(|stat| real_time(&stat)).filter(|task| task.priority.is_none_or(|p| p >= least)),
            );
        }
        found.sort_by_key(|task| (task.priority.map(std::cmp::Reverse), task.pid));
        let kernel = self.read("/proc/2/comm").is_ok_and(|name| name == "kthreadd");
        let unseen = match (kernel, unreadable) {
            (false, _) => {
                Some("the kernel's threads are not visible: a PID namespace of a container, or /proc with hidepid")
            }
            (true, 1..) => Some("some processes cannot be read: /proc with hidepid, run as root"),
            (true, 0) => None,
        };
        Ok((found, unseen.map(str::to_owned)))
    }
}

/// Parses a line of /proc/PID/stat. Returns `None` unless the policy is SCHED_FIFO (1), SCHED_RR (2) or SCHED_DEADLINE
/// (6), and for the kernel's stoppers, which are children of kthreadd (PID 2) with the flag PF_KTHREAD.
fn real_time(stat: &str) -> Option<Foreign> {
    const PF_KTHREAD: u32 = 0x0020_0000;
    let (before, after) = stat.rsplit_once(") ")?;
    let (pid, name) = before.split_once(" (")?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let flags: u32 = fields.get(6)?.parse().ok()?;
    if flags & PF_KTHREAD != 0 && name.starts_with("migration/") {
        return None;
    }
    let priority = match *fields.get(38)? {
        "1" | "2" => Some(fields.get(37)?.parse().ok()?),
        "6" => None,
        _ => return None,
    };
    Some(Foreign { name: name.into(), pid: pid.parse().ok()?, priority })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::start) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Machine::at(root.path());
        (root, machine)
    }

    fn stat(name: &str, flags: u32, priority: u8, policy: u8) -> String {
        format!("19 ({name}) S 2 0 0 0 -1 {flags} {} {priority} {policy} 0 0 0", ["0"; 30].join(" "))
    }

    const KERNEL: u32 = 0x0420_8040;
    const USER: u32 = 0x0040_0000;

    #[test]
    fn a_line_of_stat() {
        let wanted = |name: &str, priority| Some(Foreign { name: name.into(), pid: 19, priority });
        assert_eq!(real_time(&stat("irq/9-acpi", KERNEL, 50, 1)), wanted("irq/9-acpi", Some(50)));
        assert_eq!(real_time(&stat("a) (b", USER, 7, 2)), wanted("a) (b", Some(7)));
        assert_eq!(real_time(&stat("dl", USER, 0, 6)), wanted("dl", None));
        assert_eq!(real_time(&stat("ordinary", USER, 0, 0)), None);
        assert_eq!(real_time("19 (cut"), None);
    }

    #[test]
    fn only_the_kernels_own_stopper_is_left_out() {
        assert_eq!(real_time(&stat("migration/0", KERNEL, 99, 1)), None);
        assert!(real_time(&stat("migration/0", USER, 99, 1)).is_some());
    }

    #[test]
    fn deadline_tasks_come_first_and_hidden_ones_are_reported() {
        let (deadline, fifo) = (stat("dl", USER, 0, 6), stat("fifo", USER, 90, 1));
        let mut files = vec![
            ("proc/7/task/7/stat", fifo.as_str()),
            ("proc/8/task/8/stat", deadline.as_str()),
            ("proc/2/comm", "kthreadd\n"),
            ("proc/2/task/2/stat", ""),
        ];
        let (_root, here) = machine(&files);
        let (found, unseen) = here.real_time_from(95).unwrap();
        assert_eq!((found.len(), found[0].priority, unseen), (1, None, None));
        assert_eq!(here.real_time_from(90).unwrap().0.len(), 2);
        files.retain(|(path, _)| !path.starts_with("proc/2/"));
        let (_root, inside) = machine(&files);
        assert!(inside.real_time_from(95).unwrap().1.unwrap().contains("PID namespace"));
    }

    #[test]
    fn this_machine_has_none_of_ours() {
        let (found, _) = Machine::live().real_time_from(1).unwrap();
        assert!(found.iter().all(|task| task.pid != std::process::id()));
    }
}
