//! Finds out why a wait does not end: stopped processes, threads that get no CPU time, threads blocked in the kernel.

use crate::proc::{Stat, descendants, everyone, threads};
use std::fmt::{Display, Formatter, Result};
use std::fs;
use std::thread;
use std::time::Duration;

/// Time between two readings of the CPU time of runnable threads. It is longer than the period of RT throttling and of
/// the fair server (1 s), in which an ordinary thread may get all of its CPU time at once.
const BETWEEN: Duration = Duration::from_millis(1100);
/// Share of a CPU below which a thread counts as starved if a real-time thread gets the rest.
const STARVED: f64 = 0.3;
/// Maximum number of findings that a message lists. The others are only counted.
const MAX: usize = 3;

/// Reasons why a wait does not end, by kind; the worst kind comes first.
#[derive(Debug, Default)]
pub struct Look {
    stopped: Vec<String>,
    starved: Vec<String>,
    waiting: Vec<String>,
    /// Descriptions of sleeping threads, which are reported only if no other cause was found.
    asleep: Vec<String>,
    computes: bool,
}

/// A thread and its state in /proc.
#[derive(Clone, Debug)]
struct Thread {
    pid: i32,
    tid: i32,
    name: String,
    stat: Stat,
    ran_ns: u64,
}

impl Thread {
    fn of(pid: i32, tid: i32) -> Option<Thread> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
        let name = text.split_once(" (")?.1.rsplit_once(") ")?.0.to_owned();
        Some(Thread { pid, tid, name, stat: Stat::parse(&text)?, ran_ns: ran(pid, tid) })
    }
}

/// Returns the time that a thread has spent on CPUs, ns (Documentation/scheduler/sched-stats.rst); 0 if the kernel
/// lacks CONFIG_SCHED_INFO.
fn ran(pid: i32, tid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Returns the kernel function in which a thread sleeps (proc_pid_wchan(5)) and, if the thread waits because a pipe is
/// full, an explanation; `the kernel` if this user may not read it.
fn function(pid: i32, tid: i32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/wchan")).unwrap_or_default();
    match text.as_str() {
        "" | "0" => "the kernel".into(),
        // fs/pipe.c
        "pipe_write" | "anon_pipe_write" => format!("{text}: nobody reads its output"),
        _ => text,
    }
}

fn all(pids: &[i32]) -> Vec<Thread> {
    let of = |pid: &i32| threads(*pid).into_iter().filter_map(|tid| Thread::of(*pid, tid)).collect::<Vec<_>>();
    pids.iter().flat_map(of).collect()
}

impl Look {
    /// Examines this program and all its descendants.
    pub fn at_all() -> Look {
        let own = std::process::id().cast_signed();
        Look::at(&[vec![own], descendants(own)].concat())
    }

    /// Examines one child and all its descendants.
    pub fn at_child(pid: i32) -> Look {
        Look::at(&[vec![pid], descendants(pid)].concat())
    }

    fn at(pids: &[i32]) -> Look {
        let mut look = Look::default();
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        let before: Vec<Thread> = all(pids).into_iter().filter(|thread| thread.tid != me).collect();
        let real_time: Vec<Thread> = all(&everyone()).into_iter().filter(|thread| thread.stat.policy != 0).collect();
        thread::sleep(BETWEEN);
        // A process that starts and ends others makes progress, although its threads may be asleep each time.
        look.computes = pids.first().is_some_and(|pid| descendants(*pid).iter().any(|now| !pids.contains(now)));
        for old in &before {
            let Some(new) = Thread::of(old.pid, old.tid) else {
                look.computes = true;
                continue;
            };
            let Thread { pid, tid, name, stat, .. } = &new;
            let share = new.ran_ns.saturating_sub(old.ran_ns) as f64 / BETWEEN.as_nanos() as f64;
            match (old.stat.state, stat.state) {
                ('T', 'T') if pid == tid => {
                    look.stopped.push(format!("process {pid} ({name}) is stopped: `kill -CONT {pid}` resumes it"));
                }
                ('R', 'R') if share < STARVED => match holder(&real_time, stat.processor, *tid) {
                    Some(holder) => look.starved.push(starved(&new, share, &holder)),
                    // Among many ordinary threads, it may not have had its turn yet.
                    None => look.computes = true,
                },
                ('D', 'D') if share == 0.0 => {
                    look.waiting
                        .push(format!("thread {tid} ({name}) waits for a disk or a driver: `cat /proc/{tid}/stack`"));
                }
                // Reads and writes count too: between two of them it may not have its turn either.
                ('R' | 'D', _) | (_, 'R' | 'D') => look.computes = true,
                ('Z' | 'X', _) => {}
                _ if share >= STARVED || matches!(stat.state, 'Z' | 'X') => look.computes = true,
                _ => look.asleep.push(format!("thread {tid} ({name}) sleeps in {}", function(*pid, *tid))),
            }
        }
        look
    }

    /// Returns true if no thread is stopped or starved, and a thread uses CPU time, competes for it with ordinary
    /// threads only, or has ended during the examination.
    pub fn computes(&self) -> bool {
        self.computes && self.stopped.is_empty() && self.starved.is_empty()
    }

    /// Returns true if a thread is blocked in the kernel, and none is stopped or starved.
    pub fn is_disk(&self) -> bool {
        self.stopped.is_empty() && self.starved.is_empty() && !self.waiting.is_empty()
    }
}

fn starved(thread: &Thread, share: f64, holder: &str) -> String {
    let Thread { tid, name, stat, .. } = thread;
    let (cpu, percent) = (stat.processor, share * 100.0);
    let gets = if share == 0.0 { "no time on".to_owned() } else { format!("{percent:.0} % of") };
    format!(
        "thread {tid} ({name}) gets {gets} CPU {cpu}, which {holder} occupies: end that thread, or use other CPUs (taskset(1))"
    )
}

/// Returns a description of the real-time thread that has run longest on a CPU since the first reading; `None` if it
/// ran for less than half of the time.
fn holder(before: &[Thread], cpu: u64, besides: i32) -> Option<String> {
    let there = before.iter().filter(|thread| thread.stat.processor == cpu && thread.tid != besides);
    let ran = there.filter_map(|old| {
        let new = Thread::of(old.pid, old.tid)?;
        Some((new.ran_ns.saturating_sub(old.ran_ns), new))
    });
    let (ran, Thread { tid, name, stat, .. }) = ran.max_by_key(|(ran, _)| *ran)?;
    let policy = match stat.policy {
        1 => "SCHED_FIFO",
        2 => "SCHED_RR",
        6 => "SCHED_DEADLINE",
        _ => return None,
    };
    let half = BETWEEN.as_nanos() / 2;
    (u128::from(ran) > half).then(|| format!("thread {tid} ({name}, {policy} {})", stat.rt_priority))
}

impl Display for Look {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut found: Vec<&String> = self.stopped.iter().chain(&self.starved).chain(&self.waiting).collect();
        if found.is_empty() && !self.computes {
            found.extend(&self.asleep);
        }
        for (n, what) in found.iter().take(MAX).enumerate() {
            f.write_str(if n == 0 { ": " } else { "; " })?;
            f.write_str(what)?;
        }
        if found.len() > MAX {
            write!(f, "; and {} more", found.len() - MAX)?;
        }
        Ok(())
    }
}
