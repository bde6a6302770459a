//! Reads threads in /proc: the measuring threads, and other real-time threads that may delay them.

use super::Source;
use punctual_units::CpuId;
use std::collections::HashMap;
use std::fs;

/// Fields of /proc/PID/task/TID/stat (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskStat {
    pub comm: String,
    pub page_faults: u64,
    pub start_ticks: u64,
    pub processor: CpuId,
    pub rt_priority: u32,
    pub policy: u32,
}

impl TaskStat {
    pub fn parse(text: &str) -> Option<TaskStat> {
        // The name may contain spaces and parentheses, so it ends at the last closing parenthesis.
        let (head, tail) = text.rsplit_once(')')?;
        let comm = head.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = tail.split_whitespace().collect();
        // `fields[0]` is field 3 of the manual page.
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        Some(TaskStat {
            comm,
            page_faults: field(10)? + field(12)?,
            start_ticks: field(22)?,
            processor: CpuId(field(39)? as u32),
            rt_priority: field(40)? as u32,
            policy: field(41)? as u32,
        })
    }

    fn policy_name(&self) -> Option<&'static str> {
        match self.policy {
            1 => Some("FIFO"),
            2 => Some("RR"),
            6 => Some("DEADLINE"),
            _ => None,
        }
    }
}

pub(crate) struct OwnThread {
    pub cpu: CpuId,
    stat: Option<Source>,
    status: Option<Source>,
    schedstat: Option<Source>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OwnCounters {
    pub page_faults: Option<u64>,
    pub involuntary_switches: Option<u64>,
    pub run_delay_ns: Option<u64>,
    pub processor: Option<CpuId>,
}

impl OwnThread {
    pub fn open(cpu: CpuId, tid: i32) -> OwnThread {
        let file = |name: &str| Source::open(format!("/proc/self/task/{tid}/{name}"));
        OwnThread { cpu, stat: file("stat"), status: file("status"), schedstat: file("schedstat") }
    }

    pub fn read(&mut self) -> OwnCounters {
        let stat = self.stat.as_mut().and_then(|s| TaskStat::parse(s.read()?));
        let switches = self.status.as_mut().and_then(|s| {
            let line = s.read()?.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"))?;
            line.trim().parse().ok()
        });
        OwnCounters {
            page_faults: stat.as_ref().map(|s| s.page_faults),
            involuntary_switches: switches,
            run_delay_ns: self.schedstat.as_mut().and_then(|s| s.read()?.split_whitespace().nth(1)?.parse().ok()),
            processor: stat.map(|s| s.processor),
        }
    }
}

pub(crate) struct RtTask {
    /// Name of the thread for display, for example `multipathd (RR 99, pid 1456)`.
    label: String,
    start_ticks: u64,
    stat: Source,
    schedstat: Source,
    ran_ns: u64,
}

/// Tracks the run time of all other real-time threads.
#[derive(Default)]
pub(crate) struct RtTasks {
    tasks: HashMap<i32, RtTask>,
}

/// Maximum number of tracked threads. Each requires two reads per second.
const MOST: usize = 128;

impl RtTasks {
    /// Looks for new threads. The run time of a thread that started after `since_ticks` counts from its start; the run
    /// time of an older thread counts from now.
    pub fn scan(&mut self, since_ticks: Option<u64>) {
        let own = std::process::id();
        for pid in numbers("/proc").filter(|pid| *pid as u32 != own) {
            for tid in numbers(&format!("/proc/{pid}/task")) {
                if self.tasks.len() >= MOST {
                    return;
                }
                if !self.tasks.contains_key(&tid)
                    && let Some(task) = RtTask::open(pid, tid, since_ticks)
                {
                    self.tasks.insert(tid, task);
                }
            }
        }
    }

    /// Returns the last CPU, name and run time since the last call, ns, of each thread that ran. Ended threads are no
    /// longer tracked.
    pub fn ran(&mut self) -> Vec<(CpuId, String, u64)> {
        let mut ran = Vec::new();
        self.tasks.retain(|_, task| match task.advance() {
            Some((cpu, ns)) => {
                if ns > 0 {
                    ran.push((cpu, task.label.clone(), ns));
                }
                true
            }
            None => false,
        });
        ran.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.1.cmp(&b.1)));
        ran
    }
}

impl RtTask {
    fn open(pid: i32, tid: i32, since_ticks: Option<u64>) -> Option<RtTask> {
        let folder = format!("/proc/{pid}/task/{tid}");
        let mut stat = Source::open(format!("{folder}/stat"))?;
        let facts = TaskStat::parse(stat.read()?)?;
        let policy = facts.policy_name()?;
        let priority = if facts.rt_priority > 0 { format!(" {}", facts.rt_priority) } else { String::new() };
        let mut schedstat = Source::open(format!("{folder}/schedstat"))?;
        let young = since_ticks.is_some_and(|since| facts.start_ticks >= since);
        let ran_ns = if young { 0 } else { first_number(schedstat.read()?)? };
        let label = format!("{} ({policy}{priority}, pid {tid})", facts.comm);
        Some(RtTask { label, start_ticks: facts.start_ticks, stat, schedstat, ran_ns })
    }

    fn advance(&mut self) -> Option<(CpuId, u64)> {
        let now = first_number(self.schedstat.read()?)?;
        let facts = TaskStat::parse(self.stat.read()?).filter(|s| s.start_ticks == self.start_ticks)?;
        let ran = now.saturating_sub(self.ran_ns);
        self.ran_ns = now;
        Some((facts.processor, ran))
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn numbers(folder: &str) -> impl Iterator<Item = i32> {
    fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_read_whole() {
        let mut fields = vec!["0"; 50];
        fields[0] = "S";
        for (n, value) in [(10, "5"), (12, "2"), (22, "777"), (39, "3"), (40, "99"), (41, "2")] {
            fields[n - 3] = value;
        }
        let text = format!("144 (a) b (c)) {}", fields.join(" "));
        let stat = TaskStat::parse(&text).unwrap();
        assert_eq!((stat.comm.as_str(), stat.page_faults, stat.processor), ("a) b (c)", 7, CpuId(3)));
        assert_eq!(stat.policy_name(), Some("RR"));
        for cut in 0..text.len() {
            let _ = TaskStat::parse(&text[..cut]);
        }
    }

    #[test]
    fn our_own_thread_can_be_watched() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let counters = OwnThread::open(CpuId(0), tid).read();
        assert!(counters.page_faults.is_some() && counters.involuntary_switches.is_some());
    }
}
