//! `cmd:…`: a shell command as a load. This process starts the command and checks that it makes progress. It ends the
//! command and everything the command started, even if the measuring process has died.

use super::{Builtin, Plan, RunsAs, own_pid, printable};
use crate::LoadError;
use crate::beat::Beat;
use crate::board::now;
use crate::message::{Message, Unit, say};
use crate::settings::ChildConfig;
use punctual_uapi as uapi;
use punctual_watchdog::proc::{Stat, descendants, threads};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) const LOAD: Builtin = Builtin {
    name: "cmd:COMMAND",
    about: "any shell command, run as you; started again when it ends with exit code 0",
    comm: "load-cmd",
    runs_as: RunsAs::Caller,
    in_all: false,
    prepare,
};

const CPU_MS: usize = 0;
const RUNS: usize = 1;

/// Sampling interval. Each sample reads a few files in /proc per thread.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum number of threads per sample. That many are enough to show whether the command is active.
const MOST_THREADS: usize = 64;
/// Number of bytes to keep from the end of the command's standard error.
const TAIL: usize = 2 << 10;
const END: Duration = Duration::from_millis(1_200);

/// Locked while a command starts, and set when shutdown begins, so that no command starts after that.
type Gate = Arc<Mutex<bool>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let command = config.command.clone().ok_or(LoadError::NoCommand)?;
    // Adopts orphaned descendants, so that they can be found and killed.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(LoadError::on("prctl", "PR_SET_CHILD_SUBREAPER"))?;
    let units = vec![
        Unit { what: "CPU time".into(), unit: "CPUs".into(), scale: 1e-3, written: false },
        Unit::each("runs ended"),
    ];
    let mut plan = Plan::new(units, Vec::new());
    if rustix::process::geteuid().is_root() {
        plan.notes.push("the command runs as root, like its caller".into());
    }
    // The caller blocks the signals that it waits for. A program that inherits this mask could not be ended by
    // `timeout`.
    uapi::unblock_all().map_err(|e| LoadError::Refused(e.to_string()))?;
    let gate = Gate::default();
    let closing = gate.clone();
    plan.worker(None, move |beat| host(&command, beat, &gate));
    plan.at_end = Some(Box::new(move || {
        *lock(&closing) = true;
        end_everything();
    }));
    Ok(plan)
}

/// Lets the shell check a command's syntax and look up its first word, without running the command. A first word with
/// quotes or expansions is not looked up.
pub(crate) fn check(command: &str) -> Result<(), LoadError> {
    let shell = |words: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        let shell = shell.args(words).stdin(Stdio::null());
        punctual_watchdog::output(shell, punctual_watchdog::GRACE).map_err(LoadError::on("execve", "/bin/sh"))
    };
    let parsed = shell(&["-n", "-c", command])?;
    if !parsed.status.success() {
        return Err(LoadError::Refused(printable(String::from_utf8_lossy(&parsed.stderr).trim())));
    }
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c));
    let first = command.split_whitespace().find(|word| !word.contains('=')).filter(is_plain);
    match first {
        Some(word) if !shell(&["-c", "command -v -- \"$1\"", "sh", word])?.status.success() => {
            Err(LoadError::Refused(format!("`{word}` was not found: install it, or give its path")))
        }
        _ => Ok(()),
    }
}

struct Running {
    pid: Pid,
    tail: Arc<Mutex<Vec<u8>>>,
}

fn host(command: &str, beat: &mut Beat, gate: &Gate) -> Result<(), LoadError> {
    let mut again = 0u64;
    loop {
        let Some(running) = start(command, beat, gate)? else {
            // The main thread is about to end the process, so this thread only waits.
            std::thread::sleep(Duration::from_secs(3600));
            continue;
        };
        let status = watch(&running, beat);
        if status.exit_status() != Some(0) {
            return Err(LoadError::Refused(how_it_ended(status, &running)));
        }
        again += 1;
        if again == 1 {
            say(&Message::Note("the command ended with exit code 0 and was restarted each time".into()));
        }
        beat.count(RUNS, 1);
        beat.beat();
    }
}

fn start(command: &str, beat: &mut Beat, gate: &Gate) -> Result<Option<Running>, LoadError> {
    let closed = lock(gate);
    if *closed {
        return Ok(None);
    }
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = shell.spawn().map_err(LoadError::on("execve", "/bin/sh"))?;
    drop(closed);
    beat.set_group(child.id() as i32);
    let tail = Arc::new(Mutex::new(Vec::new()));
    if let Some(errors) = child.stderr.take() {
        let keep = tail.clone();
        let reader = std::thread::Builder::new().name(LOAD.comm.into()).stack_size(64 << 10);
        reader.spawn(move || keep_tail(errors, &keep)).map_err(LoadError::on("clone", "a reader of standard error"))?;
    }
    let pid = Pid::from_child(&child);
    Ok(Some(Running { pid, tail }))
}

/// Reads everything, so that the command never blocks on the pipe, and keeps the last part in `tail`.
fn keep_tail(mut from: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n) = from.read(&mut buffer)
        && n > 0
    {
        let mut kept = lock(tail);
        kept.extend(&buffer[..n]);
        let much = kept.len().saturating_sub(TAIL);
        kept.drain(..much);
    }
}

/// Publishes a beat whenever the command has made progress. Returns the status of the shell when it has ended.
fn watch(running: &Running, beat: &mut Beat) -> WaitStatus {
    let pidfd = rustix::process::pidfd_open(running.pid, rustix::process::PidfdFlags::empty()).ok();
    let mut before = Work::look();
    loop {
        sleep_or_end(pidfd.as_ref());
        if let Some(status) = reap(running.pid) {
            return status;
        }
        let after = Work::look();
        beat.total(CPU_MS, after.cpu_ms);
        if after.trace != before.trace {
            beat.beat();
        }
        before = after;
    }
}

/// Sleeps briefly. With `pidfd` (Linux 5.3), returns earlier if the shell ends.
fn sleep_or_end(pidfd: Option<&rustix::fd::OwnedFd>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let Some(pidfd) = pidfd else { return std::thread::sleep(LOOK) };
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos() as _ };
    let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout));
}

/// Reaps all ended processes, including orphans. Returns the status of `shell` if it has ended.
fn reap(shell: Pid) -> Option<WaitStatus> {
    let mut found = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == shell {
            found = Some(status);
        }
    }
    found
}

fn how_it_ended(status: WaitStatus, running: &Running) -> String {
    // The command's last output may still be in the pipe.
    std::thread::sleep(Duration::from_millis(20));
    let words = String::from_utf8_lossy(&lock(&running.tail)).trim().to_string();
    let words = if words.is_empty() { String::new() } else { format!(": {}", printable(&words)) };
    match (status.exit_status(), status.terminating_signal()) {
        (Some(127), _) => format!("the command was not found (exit code 127){words}"),
        (Some(code), _) => format!("the command ended with exit code {code}{words}; try it in a shell first"),
        (_, Some(signal)) => format!("the command was ended by signal {signal}{words}"),
        _ => format!("the command ended{words}"),
    }
}

/// Work done so far by the command and its descendants.
struct Work {
    /// CPU time in ms, including the CPU time of ended processes.
    cpu_ms: u64,
    /// A value that changes with any activity: processes started or ended, CPU time used, context switches.
    trace: u64,
}

impl Work {
    fn look() -> Work {
        let me = own_pid();
        let mut trace = DefaultHasher::new();
        let mut ticks = Stat::of(me).map_or(0, |s| s.childrens_ticks);
        let mut left = MOST_THREADS;
        for stat in descendants(me).into_iter().filter_map(Stat::of).filter(|s| !s.is_zombie()) {
            ticks += stat.cpu_ticks + stat.childrens_ticks;
            (stat.pid, stat.started, stat.cpu_ticks, stat.minor_faults).hash(&mut trace);
            for tid in threads(stat.pid).into_iter().take(left) {
                left -= 1;
                switches(stat.pid, tid).hash(&mut trace);
            }
        }
        Work { cpu_ms: ticks * 1000 / rustix::param::clock_ticks_per_second().max(1), trace: trace.finish() }
    }
}

/// Returns the number of context switches of a thread; `None` if it has ended.
fn switches(pid: i32, tid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let counts = status.lines().filter(|l| l.contains("ctxt_switches:"));
    counts.filter_map(|l| l.rsplit_once('\t')?.1.trim().parse::<u64>().ok()).reduce(|a, b| a + b)
}

/// Stops, kills and reaps processes until none remains. Stopping them first prevents them from forking.
fn end_everything() {
    let give_up = now() + END.as_nanos() as u64;
    let me = own_pid();
    while now() < give_up {
        let all: Vec<Pid> = descendants(me).into_iter().filter_map(Pid::from_raw).collect();
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &all {
                let _ = kill_process(*pid, signal);
            }
        }
        // ECHILD means that no process remains.
        if let Err(rustix::io::Errno::CHILD) = reap_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn reap_some() -> rustix::io::Result<()> {
    while wait(WaitOptions::NOHANG)?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_standard_error_is_kept() {
        let tail = Mutex::new(Vec::new());
        let text: Vec<u8> = (0..10_000u32).map(|i| (i % 251) as u8).collect();
        keep_tail(&text[..], &tail);
        assert_eq!(*lock(&tail), text[text.len() - TAIL..]);
    }

    #[test]
    fn switches_of_this_thread_rise() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let before = switches(own_pid(), tid).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert!(switches(own_pid(), tid).unwrap() > before);
    }
}
