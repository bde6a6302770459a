//! Who made a change, so that it can be told from a later process with the same number.

use serde::{Deserialize, Serialize};
use std::io;

/// A process, named beyond doubt: by boot, PID namespace, number and start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// Target of /proc/self/ns/pid; numbers mean nothing in another namespace.
    pub pid_namespace: String,
    /// Process id.
    pub pid: u32,
    /// Start time, clock ticks since boot: field 22 of /proc/PID/stat (proc_pid_stat(5)).
    pub start_ticks: u64,
}

impl Owner {
    /// This process.
    ///
    /// # Errors
    /// /proc does not tell.
    pub fn this_process() -> io::Result<Owner> {
        let pid = std::process::id();
        let start_ticks = start_of(pid)?.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Owner { boot_id: boot_id()?, pid_namespace: pid_namespace()?, pid, start_ticks })
    }

    /// Certainly dead? Where that cannot be seen, the answer is no.
    pub fn is_dead(&self) -> bool {
        if !self.is_of_this_boot() {
            return boot_id().is_ok();
        }
        if pid_namespace().ok().as_ref() != Some(&self.pid_namespace) {
            return false;
        }
        match start_of(self.pid) {
            Ok(start) => start.is_some_and(|start| start != self.start_ticks),
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Made since the machine was started?
    pub fn is_of_this_boot(&self) -> bool {
        boot_id().is_ok_and(|id| id == self.boot_id)
    }
}

fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

fn pid_namespace() -> io::Result<String> {
    Ok(std::fs::read_link("/proc/self/ns/pid")?.to_string_lossy().into_owned())
}

/// The name may hold blanks and parentheses: fields are counted from the last one.
fn start_of(pid: u32) -> io::Result<Option<u64>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    Ok(stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse().ok()))
}
