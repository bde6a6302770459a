//! Checks that the thread to be traced exists.

use punctual_explain::Victims;
use punctual_units::Arrange;
use std::fs;
use std::path::Path;

/// Maximum number of threads listed in a message.
const MAX: usize = 10;

struct Thread {
    tid: i32,
    name: String,
    is_real_time: bool,
    /// True for a child of kthreadd.
    is_kernel: bool,
}

/// Returns a message if the thread does not exist (yet), since its name may be mistyped.
pub fn missing(victims: &Victims) -> Option<String> {
    match victims {
        Victims::Measuring | Victims::AllRealTime => None,
        Victims::Tid(tid) => {
            not_found(&threads(Path::new("/proc")), &format!("no thread has the ID {tid}"), |t| t.tid == *tid)
        }
        Victims::Comm(name) => {
            not_found(&threads(Path::new("/proc")), &format!("no thread is named `{name}`"), |t| t.name == *name)
        }
    }
}

fn not_found(all: &[Thread], what: &str, is_wanted: impl Fn(&Thread) -> bool) -> Option<String> {
    if all.iter().any(is_wanted) {
        return None;
    }
    let mut shown: Vec<&Thread> = all.iter().filter(|thread| thread.is_real_time).collect();
    shown.arrange_by_key(|thread| (thread.is_kernel, thread.tid));
    let more = shown.len().saturating_sub(MAX);
    let listed: Vec<String> =
        shown.iter().take(MAX).map(|thread| format!("{} ({})", thread.name, thread.tid)).collect();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let here = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") + &more };
    Some(format!("{what}; real-time threads here: {here}; watching in case it starts"))
}

fn threads(proc: &Path) -> Vec<Thread> {
    let numbered = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_number = |path: &Path| path.file_name().is_some_and(|n| n.as_encoded_bytes().iter().all(u8::is_ascii_digit));
    let processes = numbered(proc).filter(|path| is_number(path));
    let tasks = processes.flat_map(|process| numbered(&process.join("task")).collect::<Vec<_>>());
    tasks.filter_map(|task| parse(&fs::read_to_string(task.join("stat")).ok()?)).collect()
}

/// Parses a line of /proc/PID/task/TID/stat (proc_pid_stat(5)). The name may contain blanks and parentheses.
fn parse(stat: &str) -> Option<Thread> {
    let (head, tail) = stat.rsplit_once(')')?;
    let (tid, name) = head.split_once(" (")?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let field = |n: usize| fields.get(n - 3)?.parse::<i64>().ok();
    Some(Thread {
        tid: tid.parse().ok()?,
        name: name.to_owned(),
        // SCHED_FIFO, SCHED_RR, SCHED_DEADLINE
        is_real_time: matches!(field(41)?, 1 | 2 | 6),
        is_kernel: field(4)? == 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(tid: i32, name: &str, parent: i32, policy: i32) -> String {
        let middle = "0 ".repeat(36);
        format!("{tid} ({name}) S {parent} {middle}{policy} 0 0")
    }

    #[test]
    fn a_missing_thread_names_the_real_time_threads_there_are() {
        let of = |lines: &[String]| lines.iter().map(|line| parse(line).unwrap()).collect::<Vec<_>>();
        let all = of(&[stat(30, "migration/0", 2, 1), stat(700, "a (b) c", 1, 1), stat(701, "shell", 1, 0)]);
        let missing = not_found(&all, "no thread is named `x`", |t| t.name == "x").unwrap();
        assert_eq!(
            missing,
            "no thread is named `x`; real-time threads here: a (b) c (700), migration/0 (30); watching in case it starts"
        );
        assert!(not_found(&all, "", |t| t.name == "shell").is_none());
        assert!(not_found(&of(&[]), "no thread", |_| true).unwrap().contains("here: none"));
    }
}
