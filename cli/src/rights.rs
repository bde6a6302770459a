//! Privileges that a package provides: it installs a second copy of the binary, executable only by members of a group,
//! with the file capabilities CAP_SYS_NICE and CAP_IPC_LOCK (capabilities(7)).
//!
//! The copy that everybody may run has no capabilities, since a user who may run FIFO threads can stall the machine.
//! The package uses a copy instead of a launcher with ambient capabilities, so that child processes inherit no
//! privileges.

use rustix::fs::Access;
use rustix::thread::CapabilitySet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Path of the privileged copy in packages.
const WITH_RIGHTS: &str = "/usr/libexec/punctual/punctual";

/// Commands that run real-time threads or lock memory.
const MEASURING: [&str; 8] = ["prove", "measure", "watch", "cyclictest", "selftest", "events", "sched", "bench"];

/// Replaces this process with the privileged copy if it lacks the privileges and may execute the copy. Otherwise
/// returns; the command then reports missing privileges where it needs them.
pub fn borrow() {
    let command = std::env::args_os().nth(1);
    if !command.is_some_and(|c| MEASURING.iter().any(|one| c == *one)) || has_rights() || is_copy() {
        return;
    }
    if rustix::fs::access(WITH_RIGHTS, Access::EXEC_OK).is_ok() {
        let failed = Command::new(WITH_RIGHTS).args(std::env::args_os().skip(1)).exec();
        message!("continuing without privileges: cannot run {WITH_RIGHTS}: {failed}; reinstall the package");
    }
}

/// Returns true if this process has both capabilities, or is root. Capabilities that cannot be read count as missing.
fn has_rights() -> bool {
    let wanted = CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// Returns true if this process is the privileged copy. It may lack its capabilities (in a container, or on a file
/// system that does not store them), and must not execute itself again.
fn is_copy() -> bool {
    std::env::current_exe().is_ok_and(|path| path == Path::new(WITH_RIGHTS))
}
