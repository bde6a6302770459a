//! Records the system calls of an application's threads, for `audit --pid --window`.

use punctual_audit::Calls;
use punctual_journal::Journal;
use punctual_rt::monotonic;
use punctual_tracefs::{Config, Instance, SYSTEM_CALLS, Tracefs, TracefsError};
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::Nanos;
use std::fs;
use std::io::{BufRead, BufReader, Read};

/// Maximum number of threads in an event filter. With more threads, the calls of all threads are recorded, and the
/// calls of other threads are ignored when they are read.
const MOST_THREADS: usize = 100;

/// Maximum size of the trace text, bytes; enough for 300 000 calls.
const MOST_TEXT: u64 = 32 << 20;

#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// Tracing is not possible, or the process does not exist.
    #[error("{0}")]
    Refused(String),
    #[error("ended by {}", .0.name())]
    Signal(Sig),
}

/// Records the system calls of a process for the time `window` in a private trace instance, which is then removed.
/// Signals must be blocked as for a run. During this time every system call on the machine takes about 100 ns longer.
///
/// # Errors
/// Tracing is not possible, or a signal arrived. The instance is removed in either case.
pub fn watch_calls(pid: u32, window: Nanos) -> Result<Calls, CallsError> {
    match record(pid, window) {
        Ok((_, Some(signal))) => Err(CallsError::Signal(signal)),
        Ok((calls, None)) => Ok(calls),
        Err(why) => Err(CallsError::Refused(why)),
    }
}

fn record(pid: u32, window: Nanos) -> Result<(Calls, Option<Sig>), String> {
    let threads = threads(pid)?;
    let config = Config { events: SYSTEM_CALLS, buffer_kb: None, tracer: None, stacks: None };
    let said = |e: TracefsError| e.to_string();
    let instance =
        Instance::create(&Tracefs::of_threads().map_err(said)?, &Journal::of_user(), &config).map_err(said)?;
    if let Some(missing) = instance.missing().first() {
        return Err(format!("this kernel has no event {missing}"));
    }
    if threads.len() <= MOST_THREADS {
        let all: Vec<String> = threads.iter().map(|tid| format!("common_pid == {tid}")).collect();
        instance.filter("raw_syscalls", "sys_enter", &all.join(" || ")).map_err(said)?;
    }
    let begun = monotonic();
    let ended = sleep(begun + window);
    let seconds = (monotonic() - begun).0 as f64 / 1e9;
    instance.record(false).map_err(said)?;
    let arch = fs::read_to_string("/proc/sys/kernel/arch").unwrap_or_default();
    let arch = if arch.is_empty() { rustix::system::uname().machine().to_string_lossy().into_owned() } else { arch };
    let mut calls = Calls::new(arch.trim());
    let is_whole = read(&instance, &threads, &mut calls)?;
    let overrun = instance.cpus().into_iter().filter_map(|cpu| instance.statistics(cpu)).map(|s| s.overrun + s.dropped);
    calls.end(seconds, overrun.sum::<u64>() + u64::from(!is_whole));
    instance.remove().map_err(|left| left.join("; "))?;
    Ok((calls, ended))
}

fn threads(pid: u32) -> Result<Vec<u32>, String> {
    let folder = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&folder).map_err(|e| format!("no process {pid}: {folder}: {e}"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

fn sleep(until: Nanos) -> Option<Sig> {
    let signals = crate::signals();
    loop {
        let left = until.saturating_sub(monotonic());
        match wait(&signals, Some(left)) {
            Waited::Signal(Sig::Chld) => {}
            Waited::Signal(signal) => return Some(signal),
            _ if monotonic() >= until => return None,
            _ => {}
        }
    }
}

/// Adds the recorded calls. Returns false if there are more than can be read.
fn read(instance: &Instance, threads: &[u32], calls: &mut Calls) -> Result<bool, String> {
    let text = instance.text().map_err(|e| e.to_string())?;
    let mut lines = BufReader::new(text.take(MOST_TEXT));
    let (mut line, mut size) = (Vec::new(), 0);
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line).map_err(|e| format!("reading the trace: {e}"))? {
            0 => return Ok(size < MOST_TEXT),
            n => size += n as u64,
        }
        if let Some((tid, number, arguments)) = parse(&String::from_utf8_lossy(&line))
            && threads.contains(&tid)
        {
            calls.add(tid, number, &arguments);
        }
    }
}

/// Parses a line of the trace (include/trace/events/syscalls.h), for example `app-700 [001] ..... 12.345678: sys_enter:
/// NR 202 (7f10, 80, 2, 0, 0, 0)`.
fn parse(line: &str) -> Option<(u32, i64, Vec<u64>)> {
    let (head, call) = line.split_once(": sys_enter: NR ")?;
    // Thread names may contain brackets, so the last bracket separates the fields.
    let tid = head[..head.rfind(" [")?].trim_end().rsplit('-').next()?.parse().ok()?;
    let (number, rest) = call.split_once(' ')?;
    let inner = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
    let arguments = inner.split(", ").map_while(|word| u64::from_str_radix(word, 16).ok());
    Some((tid, number.parse().ok()?, arguments.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "          <my [x]-app-700     [001] ..... 12.345678: sys_enter: NR 202 (7f10, 80, 2, 0, 0, 0)\n";
        assert_eq!(parse(line), Some((700, 202, vec![0x7f10, 0x80, 2, 0, 0, 0])));
        assert_eq!(parse("# tracer: nop"), None);
        assert_eq!(parse("a-7 [000] ..... 1.0: sys_enter: NR -1 (0)").map(|call| call.1), Some(-1));
    }

    proptest! {
        #[test]
        fn any_line_is_answered(line in ".{0,40}(: sys_enter: NR )?.{0,40}") {
            let _ = parse(&line);
        }
    }
}
