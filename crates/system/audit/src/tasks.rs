//! Finds every real-time task on the machine (proc_pid_stat(5)).

use crate::reading::{Cause, Gap};
use punctual_machine::{Listing, Machine};
use punctual_units::{Arrange, Policy};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub name: String,
    pub pid: u32,
    pub tid: u32,
    pub policy: Policy,
    /// Real-time priority, 1–99, or 0 for SCHED_DEADLINE.
    pub priority: i64,
    pub is_kernel: bool,
    /// True if the kernel has bound the task to its CPUs (PF_NO_SETAFFINITY).
    pub is_bound: bool,
}

impl Task {
    /// Formats the task as `multipathd (RR 99, pid 144)`.
    pub fn show(&self) -> String {
        let policy = match self.policy {
            Policy::Deadline => "DEADLINE".to_owned(),
            Policy::Rr => format!("RR {}", self.priority),
            Policy::Other | Policy::Batch | Policy::Idle => "ordinary".to_owned(),
            _ => format!("FIFO {}", self.priority),
        };
        let thread = if self.tid == self.pid { String::new() } else { format!(", thread {}", self.tid) };
        format!("{} ({policy}, pid {}{thread})", self.name, self.pid)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// All tasks except those of this program.
    pub all: Vec<Task>,
    /// All real-time tasks except those of this program: user tasks first, by priority.
    pub real_time: Vec<Task>,
    /// Name and id of every process except this program.
    pub processes: Vec<(String, u32)>,
    pub seen: usize,
    pub missing: Option<Gap>,
}

pub(crate) const READS: &[&str] = &["/proc", "/proc/self/stat", "/proc/*/task", "/proc/*/task/*/stat", "/proc/*/stat"];

/// Flag of kernel threads: PF_KTHREAD of include/linux/sched.h.
const IS_KERNEL: u64 = 0x0020_0000;

/// Flag of threads bound to their CPUs: PF_NO_SETAFFINITY of include/linux/sched.h.
const IS_BOUND: u64 = 0x0400_0000;

/// kthreadd, the parent of all kernel threads; visible only to readers who see all processes.
const KTHREADD: u32 = 2;

/// ESRCH: the task ended between listing and reading.
const ENDED: i32 = 3;

pub(crate) fn read(machine: &dyn Machine) -> Tasks {
    let mut tasks = Tasks::default();
    let names = match machine.list("/proc") {
        Listing::Known(names) => names,
        Listing::Absent => return Tasks { missing: Some(Gap::new("/proc", Cause::Absent)), ..tasks },
        Listing::Denied => return Tasks { missing: Some(Gap::new("/proc", Cause::Denied)), ..tasks },
        Listing::Failed(errno) => return Tasks { missing: Some(Gap::new("/proc", Cause::Failed(errno))), ..tasks },
        Listing::NotGiven => return Tasks { missing: Some(Gap::new("/proc", Cause::NotGiven)), ..tasks },
    };
    let own = machine.read("/proc/self/stat").text().and_then(Stat::parse).map(|stat| stat.id);
    let mut processes: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    if !sees_kernel_threads(machine) {
        let why = "only some processes are visible (PID namespace or hidepid)";
        tasks.missing = Some(Gap::new("/proc", Cause::Hidden(why.to_owned())));
    }
    for pid in processes.into_iter().filter(|pid| Some(*pid) != own) {
        tasks.add_process(machine, pid);
    }
    tasks.real_time.arrange_by_key(|task| (task.is_kernel, task.policy != Policy::Deadline, -task.priority, task.tid));
    tasks
}

fn sees_kernel_threads(machine: &dyn Machine) -> bool {
    let stat = machine.read(&format!("/proc/{KTHREADD}/stat"));
    stat.text().and_then(Stat::parse).is_some_and(|stat| stat.is_kernel)
}

impl Tasks {
    fn add_process(&mut self, machine: &dyn Machine, pid: u32) {
        let folder = format!("/proc/{pid}/task");
        let threads = match machine.list(&folder) {
            Listing::Known(names) => names,
            Listing::Absent | Listing::Failed(ENDED) => return,
            Listing::Denied => return self.miss(Gap::new(folder, Cause::Denied)),
            Listing::Failed(errno) => return self.miss(Gap::new(folder, Cause::Failed(errno))),
            Listing::NotGiven => return self.miss(Gap::new(folder, Cause::NotGiven)),
        };
        for tid in threads.iter().filter_map(|name| name.parse().ok()) {
            self.add_task(machine, pid, tid);
        }
    }

    fn add_task(&mut self, machine: &dyn Machine, pid: u32, tid: u32) {
        let path = format!("/proc/{pid}/task/{tid}/stat");
        let read = machine.read(&path);
        let stat = match Cause::of(&read) {
            Some(Cause::Absent | Cause::Failed(ENDED)) => return,
            Some(cause) => return self.miss(Gap::new(path, cause)),
            None => read.bytes().map(String::from_utf8_lossy),
        };
        let Some(stat) = stat.as_deref().and_then(Stat::parse) else {
            return self.miss(Gap::new(path, Cause::Garbled("task status")));
        };
        self.seen += 1;
        if tid == pid && !stat.is_kernel {
            self.processes.push((stat.name.clone(), pid));
        }
        let policy = match stat.policy {
            1 => Policy::Fifo,
            2 => Policy::Rr,
            3 => Policy::Batch,
            5 => Policy::Idle,
            6 => Policy::Deadline,
            _ => Policy::Other,
        };
        let Stat { name, priority, is_kernel, is_bound, .. } = stat;
        let task = Task { name, pid, tid, policy, priority, is_kernel, is_bound };
        if matches!(policy, Policy::Fifo | Policy::Rr | Policy::Deadline) {
            self.real_time.push(task.clone());
        }
        self.all.push(task);
    }

    fn miss(&mut self, gap: Gap) {
        self.missing.get_or_insert(gap);
    }
}

struct Stat {
    id: u32,
    name: String,
    is_kernel: bool,
    is_bound: bool,
    priority: i64,
    policy: i64,
}

impl Stat {
    /// Parses a line of stat. The name is in parentheses and may contain any character, so fields are counted from the
    /// last parenthesis.
    fn parse(line: &str) -> Option<Stat> {
        let (id, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // Starts at field 3 of proc_pid_stat(5), the state.
        let field = |number: usize| fields.get(number - 3)?.parse::<i64>().ok();
        let flags = u64::try_from(field(9)?).ok()?;
        let policy = field(41)?;
        let priority = field(40)?;
        let fits = matches!((policy, priority), (1 | 2, 1..=99) | (0 | 3..=7, 0));
        let name = name.chars().filter(|c| !c.is_control()).collect();
        let (is_kernel, is_bound) = (flags & IS_KERNEL != 0, flags & IS_BOUND != 0);
        fits.then_some(Stat { id: id.trim().parse().ok()?, name, is_kernel, is_bound, priority, policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(name: &str, flags: u64, priority: i64, policy: i64) -> String {
        let middle = "0 ".repeat(30);
        format!("144 ({name}) S 1 144 144 0 -1 {flags} {middle}{priority} {policy} 0 0 0 0 0 0 0 0 0 0 0\n")
    }

    #[test]
    fn names_with_parentheses_do_not_shift_the_fields() {
        let stat = Stat::parse(&line("a) S 1 (b", 4_194_560, 99, 2)).unwrap();
        assert_eq!((stat.name.as_str(), stat.priority, stat.policy, stat.is_kernel), ("a) S 1 (b", 99, 2, false));
        assert!(Stat::parse(&line("migration/0", 69_238_848, 99, 1)).unwrap().is_kernel);
    }

    #[test]
    fn impossible_values_are_no_status() {
        for (priority, policy) in [(0, 1), (100, 2), (5, 0), (1, 9), (-1, 1)] {
            assert!(Stat::parse(&line("x", 0, priority, policy)).is_none(), "{priority} {policy}");
        }
        assert!(Stat::parse("144 (x) S 1").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = Stat::parse(&text);
        }
    }
}
