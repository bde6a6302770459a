//! Rights that a package brings: a second copy of the binary which members of a group may run, with CAP_SYS_NICE and CAP_IPC_LOCK
//! as its file capabilities (capabilities(7)).
//!
//! The copy that everybody runs has none: whoever may run FIFO threads can stop the machine. A copy, and not a launcher with
//! ambient capabilities, because what it starts inherits nothing from it.

use rustix::fs::Access;
use rustix::thread::CapabilitySet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Where packages put the copy with rights.
const WITH_RIGHTS: &str = "/usr/libexec/punctual/punctual";

/// The commands that run real-time threads or lock memory.
const MEASURING: [&str; 8] = ["prove", "measure", "watch", "cyclictest", "selftest", "events", "sched", "bench"];

/// Goes on as the copy with rights, where this process lacks them and may run it. Returns where it does not: then what is refused
/// is said by who needs it.
pub fn borrow() {
    let command = std::env::args_os().nth(1);
    if !command.is_some_and(|c| MEASURING.iter().any(|one| c == *one)) || has_rights() || is_copy() {
        return;
    }
    if rustix::fs::access(WITH_RIGHTS, Access::EXEC_OK).is_ok() {
        let failed = Command::new(WITH_RIGHTS).args(std::env::args_os().skip(1)).exec();
        say!("goes on without rights: cannot run {WITH_RIGHTS}: {failed}; reinstall the package");
    }
}

/// Both, or all of root's. What cannot be read is no right.
fn has_rights() -> bool {
    let wanted = CapabilitySet::SYS_NICE | CapabilitySet::IPC_LOCK;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(wanted))
}

/// The copy itself, without rights (a file system without capabilities, a container): it must not run itself for ever.
fn is_copy() -> bool {
    std::env::current_exe().is_ok_and(|path| path == Path::new(WITH_RIGHTS))
}
