//! Counters that the kernel keeps for a thread, readable while it runs: proc(5).

use punctual_uapi as uapi;
use std::fs;

/// The kernel's counters of a thread since its first release; `None` for a counter that the kernel does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskUsage {
    /// Number of minor and major page faults; 0 if memory is locked and prefaulted.
    pub page_faults: Option<u64>,
    /// Number of voluntary context switches; about one per release.
    pub voluntary_switches: Option<u64>,
    /// Number of involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Number of migrations to another CPU (CONFIG_SCHED_DEBUG); 0 if the thread is pinned.
    pub migrations: Option<u64>,
}

impl TaskUsage {
    /// Reads the counters of thread `tid` of this process: /proc/self/task/TID/{stat,status,sched}.
    pub(crate) fn of(tid: i32) -> TaskUsage {
        let read = |file| fs::read_to_string(format!("/proc/self/task/{tid}/{file}")).unwrap_or_default();
        let (stat, status, sched) = (read("stat"), read("status"), read("sched"));
        TaskUsage {
            page_faults: faults(&stat),
            voluntary_switches: field(&status, "voluntary_ctxt_switches"),
            involuntary_switches: field(&status, "nonvoluntary_ctxt_switches"),
            migrations: field(&sched, "se.nr_migrations"),
        }
    }

    /// Reads the counters of the calling thread, except migrations, with one system call: getrusage(2).
    pub(crate) fn of_caller() -> TaskUsage {
        let usage = uapi::thread_usage().ok();
        TaskUsage {
            page_faults: usage.map(|u| u.page_faults),
            voluntary_switches: usage.map(|u| u.voluntary_switches),
            involuntary_switches: usage.map(|u| u.involuntary_switches),
            migrations: None,
        }
    }

    /// Returns the increase of each counter since `before`.
    pub(crate) fn since(&self, before: &TaskUsage) -> TaskUsage {
        let used = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        TaskUsage {
            page_faults: used(self.page_faults, before.page_faults),
            voluntary_switches: used(self.voluntary_switches, before.voluntary_switches),
            involuntary_switches: used(self.involuntary_switches, before.involuntary_switches),
            migrations: used(self.migrations, before.migrations),
        }
    }
}

/// Returns minflt + majflt, fields 10 and 12 of proc_pid_stat(5). The comm before them may contain spaces and
/// parentheses.
fn faults(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some(fields.get(7)?.parse::<u64>().ok()? + fields.get(9)?.parse::<u64>().ok()?)
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() {
        let stat = "77 (a) b (c) S 1 77 77 0 -1 4194304 1203 0 5 0 1 2 0 0 20 0 1 0 100 1000 10";
        assert_eq!(faults(stat), Some(1208));
        assert_eq!(faults("77 (cut"), None);
        let status = "Threads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(field(status, "voluntary_ctxt_switches"), Some(150));
        assert_eq!(field(status, "nonvoluntary_ctxt_switches"), Some(545));
        assert_eq!(
            field("se.nr_migrations                             :                   12\n", "se.nr_migrations"),
            Some(12)
        );
        assert_eq!(field("", "se.nr_migrations"), None);
    }

    #[test]
    fn this_thread_is_there() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let by_proc = TaskUsage::of(tid);
        assert!(by_proc.page_faults.is_some() && by_proc.voluntary_switches.is_some());
        assert!(TaskUsage::of_caller().page_faults >= by_proc.page_faults);
        assert_eq!(TaskUsage::of(i32::MAX), TaskUsage::default());
    }
}
