//! Identifies the process that made a change, even if another process later gets the same PID.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Value recorded instead of the PID namespace if the kernel has no CONFIG_PID_NS.
const NO_NAMESPACES: &str = "none";

/// A process, identified by boot, PID namespace, PID and start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Content of /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// PID namespace in which `pid` is valid: target of /proc/self/ns/pid, or `none` on a kernel without CONFIG_PID_NS.
    pub pid_namespace: String,
    pub pid: u32,
    /// Start time of the process in clock ticks since boot: field 22 of /proc/PID/stat (proc_pid_stat(5)).
    pub start_ticks: u64,
}

impl Owner {
    /// Returns the identity of this process.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn this_process() -> io::Result<Owner> {
        let pid = std::process::id();
        let start_ticks = start_of(pid)?.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Owner { boot_id: boot_id()?, pid_namespace: pid_namespace()?, pid, start_ticks })
    }

    /// Returns true if the process is known to be dead; false if it is alive or its state cannot be determined.
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

    pub fn is_of_this_boot(&self) -> bool {
        boot_id().is_ok_and(|id| id == self.boot_id)
    }
}

fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// Returns the PID namespace of this process; `none` on a kernel without CONFIG_PID_NS, which has no link ns/pid.
fn pid_namespace() -> io::Result<String> {
    namespace_of(Path::new("/proc/self"))
}

fn namespace_of(process: &Path) -> io::Result<String> {
    match std::fs::read_link(process.join("ns/pid")) {
        Ok(link) => Ok(link.to_string_lossy().into_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound && process.join("stat").exists() => Ok(NO_NAMESPACES.into()),
        Err(e) => Err(e),
    }
}

/// Returns the start time of a process in clock ticks; `None` if the file is invalid. Fields are counted from the last
/// parenthesis, because the command name may contain spaces and parentheses.
fn start_of(pid: u32) -> io::Result<Option<u64>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    Ok(stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels built for small boards may lack CONFIG_PID_NS. Without /proc the namespace is unknown.
    #[test]
    fn a_kernel_without_namespaces_has_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(namespace_of(folder.path()).is_err());
        std::fs::write(folder.path().join("stat"), "1 (init) S").unwrap();
        assert_eq!(namespace_of(folder.path()).unwrap(), NO_NAMESPACES);
        std::fs::create_dir(folder.path().join("ns")).unwrap();
        std::os::unix::fs::symlink("pid:[4026531836]", folder.path().join("ns/pid")).unwrap();
        assert_eq!(namespace_of(folder.path()).unwrap(), "pid:[4026531836]");
    }
}
