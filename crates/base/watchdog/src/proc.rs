//! Information about processes, read from /proc (proc_pid_stat(5)).

use std::collections::HashMap;
use std::fs;

/// Fields read from /proc/PID/stat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub state: char,
    pub parent: i32,
    pub minor_faults: u64,
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    /// CPU time of children that were waited for, in clock ticks.
    pub childrens_ticks: u64,
    /// Start time in clock ticks since boot. Together with the PID it identifies a process.
    pub started: u64,
    /// CPU on which the process last ran.
    pub processor: u64,
    /// Real-time priority: 1 to 99 under SCHED_FIFO and SCHED_RR, otherwise 0.
    pub rt_priority: u64,
    /// Scheduling policy, one of the SCHED_* constants in <linux/sched.h>.
    pub policy: u64,
}

impl Stat {
    /// Parses the contents of /proc/PID/stat; `None` if they are invalid. The name is in parentheses and may itself
    /// contain parentheses, so it ends at the last closing parenthesis.
    pub fn parse(text: &str) -> Option<Stat> {
        let (pid, rest) = text.split_once(" (")?;
        let fields: Vec<&str> = rest.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
        // fields[0] is field 3 of the manual page.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            pid: pid.trim().parse().ok()?,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            minor_faults: number(10)?,
            cpu_ticks: number(14)? + number(15)?,
            childrens_ticks: number(16)? + number(17)?,
            started: number(22)?,
            processor: number(39)?,
            rt_priority: number(40)?,
            policy: number(41)?,
        })
    }

    pub fn of(pid: i32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    pub fn of_thread(pid: i32, tid: i32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
    }

    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// Returns the numeric names in a directory of /proc.
fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the IDs of all processes.
pub fn everyone() -> Vec<i32> {
    numbers("/proc")
}

/// Returns the thread IDs of a process; empty if the process has ended.
pub fn threads(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// Returns the IDs of all descendants of the process `root`, including zombies.
///
/// They are read from /proc/PID/task/TID/children if the kernel has it (CONFIG_PROC_CHILDREN, Linux 3.5), otherwise
/// found through the parents of all processes.
pub fn descendants(root: i32) -> Vec<i32> {
    let by_children = fs::exists(format!("/proc/{root}/task/{root}/children")).unwrap_or(false);
    let table = if by_children { HashMap::new() } else { everyones_children() };
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let children = match by_children {
            true => listed_children(pid),
            false => table.get(&pid).cloned().unwrap_or_default(),
        };
        for child in children {
            if child != root && !found.contains(&child) {
                found.push(child);
                open.push(child);
            }
        }
    }
    found
}

fn listed_children(pid: i32) -> Vec<i32> {
    let lists = threads(pid).into_iter().map(|tid| fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")));
    let lists: Vec<String> = lists.flatten().collect();
    lists.iter().flat_map(|l| l.split_ascii_whitespace()).filter_map(|n| n.parse().ok()).collect()
}

fn everyones_children() -> HashMap<i32, Vec<i32>> {
    let mut table: HashMap<i32, Vec<i32>> = HashMap::new();
    for stat in everyone().into_iter().filter_map(Stat::of) {
        table.entry(stat.parent).or_default().push(stat.pid);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::{Command, Stdio};

    const LINE: &str = "4711 (a) b (c)) S 1 4711 4711 0 -1 4194560 1234 0 5 0 20 30 4 5 20 0 3 0 987654 1000 200 \
        18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0";

    #[test]
    fn a_name_may_hold_parentheses() {
        let stat = Stat::parse(LINE).unwrap();
        let wanted = Stat {
            pid: 4711,
            state: 'S',
            parent: 1,
            minor_faults: 1234,
            cpu_ticks: 50,
            childrens_ticks: 9,
            started: 987_654,
            processor: 1,
            rt_priority: 0,
            policy: 0,
        };
        assert_eq!(stat, wanted);
    }

    #[test]
    fn children_and_grandchildren_are_found_both_ways() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & wait"]).stdin(Stdio::null()).spawn().unwrap();
        let pid = child.id() as i32;
        while descendants(pid).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let me = std::process::id() as i32;
        let sleep = descendants(pid)[0];
        assert!(descendants(me).contains(&pid) && descendants(me).contains(&sleep));
        assert_eq!(everyones_children().get(&pid), Some(&vec![sleep]));
        for pid in [sleep, pid] {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*", cut in 0usize..200) {
            let _ = Stat::parse(&text);
            let _ = Stat::parse(&LINE.chars().take(cut).collect::<String>());
        }
    }
}
