//! Identifies threads by ID and start time (proc_pid_stat(5)).

use crate::change::Thread;
use crate::system::{System, is_absent};
use std::io;
use std::path::PathBuf;

/// ESRCH: the thread ended while it was examined.
const ENDED: i32 = 3;

/// Returns the thread that has this ID now; `None` if there is none.
pub(crate) fn thread(sys: &dyn System, pid: u32, tid: u32) -> io::Result<Option<Thread>> {
    let path = PathBuf::from(format!("/proc/{pid}/task/{tid}/stat"));
    let stat = match sys.read(&path) {
        Err(e) if is_absent(&e) || e.raw_os_error() == Some(ENDED) => return Ok(None),
        other => other?,
    };
    let parsed = parse(&String::from_utf8_lossy(&stat)).ok_or(io::ErrorKind::InvalidData)?;
    let (name, start_ticks) = parsed;
    Ok(Some(Thread { pid, tid, start_ticks, name }))
}

/// Parses a line of stat. Returns the name, and the start time (field 22). The name may contain spaces and parentheses,
/// so fields are counted from the last closing parenthesis.
fn parse(stat: &str) -> Option<(String, u64)> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let name = name.chars().filter(|c| !c.is_control()).collect();
    Some((name, rest.split_whitespace().nth(19)?.parse().ok()?))
}

pub(crate) fn is_there(sys: &dyn System, wanted: &Thread) -> io::Result<bool> {
    Ok(thread(sys, wanted.pid, wanted.tid)?.is_some_and(|now| now.start_ticks == wanted.start_ticks))
}
