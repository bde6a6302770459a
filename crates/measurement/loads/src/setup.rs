//! Makes a load's process an ordinary, unprivileged process that dies with its parent.

use crate::LoadError;
use crate::settings::ChildConfig;
use punctual_units::{CpuId, CpuList, Scheduling};
use rustix::process::{Gid, Uid};
use std::ffi::CString;
use std::fs;

/// ID of the user nobody on all distributions; it is also the kernel's overflow ID.
const NOBODY: u32 = 65534;

const ORDINARY: Scheduling = Scheduling::Other { nice: 0 };

/// Sets process name, OOM score, scheduling policy and CPU affinity. Adds failures to `notes`.
#[expect(clippy::disallowed_methods, reason = "a file of /proc")]
pub(crate) fn ordinary(comm: &str, config: &ChildConfig, notes: &mut Vec<String>) -> Result<(), LoadError> {
    if let Ok(name) = CString::new(comm) {
        let _ = rustix::thread::set_name(&name);
    }
    if let Err(error) = fs::write("/proc/self/oom_score_adj", "1000") {
        notes.push(format!("oom_score_adj cannot be set ({error}): the OOM killer may kill another process first"));
    }
    ordinary_policy(notes)?;
    if let Err(error) = punctual_uapi::set_affinity(0, &config.cpus) {
        notes.push(format!("cannot be bound to its CPUs: {error}"));
    }
    Ok(())
}

/// Sets SCHED_OTHER with nice 0 and checks it, because a real-time load would compete with the measuring threads.
fn ordinary_policy(notes: &mut Vec<String>) -> Result<(), LoadError> {
    if punctual_uapi::scheduling(0)?.0 == ORDINARY {
        return Ok(());
    }
    let refused = punctual_uapi::set_scheduling(0, ORDINARY, false).err();
    match punctual_uapi::scheduling(0)?.0 {
        ORDINARY => Ok(()),
        kept @ (Scheduling::Other { .. } | Scheduling::Batch { .. }) => {
            notes.push(format!("runs with {kept}, inherited from the caller, not with nice 0"));
            Ok(())
        }
        kept => Err(LoadError::Refused(format!(
            "it would run with {kept}, not SCHED_OTHER{}: start punctual itself without chrt",
            refused.map_or(String::new(), |e| format!(" ({e})")),
        ))),
    }
}

/// Binds the calling thread to a CPU. Returns a message if that fails.
pub(crate) fn bind(cpu: Option<CpuId>) -> Option<String> {
    let cpu = cpu?;
    let one: CpuList = [cpu].into_iter().collect();
    let error = punctual_uapi::set_affinity(0, &one).err()?;
    Some(format!("a worker could not be bound to CPU {cpu}: {error}"))
}

/// Changes the user from root to nobody, without groups and capabilities. It must be called before a second thread
/// exists, because the system calls affect only the calling thread.
pub(crate) fn drop_privileges(notes: &mut Vec<String>) {
    if rustix::process::geteuid().is_root() {
        let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
        let dropped = rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid));
        if let Err(error) = dropped {
            notes.push(format!("runs as root: changing to nobody ({NOBODY}) failed: {error}"));
        }
    }
    drop_capabilities(notes);
    // Programs started later cannot gain privileges from file capabilities or a setuid bit.
    let _ = rustix::thread::set_no_new_privs(true);
}

/// Drops the ambient capabilities (capabilities(7)) that an ordinary user has for measuring, so that a command runs
/// only with the user's normal privileges. A command of root keeps root's privileges. It must be called before a second
/// thread exists.
pub(crate) fn drop_ambient_capabilities(notes: &mut Vec<String>) {
    if !rustix::process::geteuid().is_root() {
        drop_capabilities(notes);
    }
}

/// Drops the capabilities that a program with file capabilities (`setcap cap_sys_nice+ep punctual`) gains again when it
/// executes itself.
fn drop_capabilities(notes: &mut Vec<String>) {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    if let Err(error) = rustix::thread::set_capabilities(None, sets) {
        notes.push(format!("keeps its capabilities: capset: {error}"));
    }
}

/// Requests that the kernel kill this process with SIGKILL when the thread that started it ends. It must be called
/// after changes of credentials, which cancel the request.
pub(crate) fn die_with_parent(parent: i32) -> Result<(), LoadError> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(LoadError::on("prctl", "PR_SET_PDEATHSIG"))?;
    // The parent may have died before the request was made.
    match rustix::process::getppid().map(|p| p.as_raw_nonzero().get()) == Some(parent) {
        true => Ok(()),
        false => Err(LoadError::Refused("the program that started it has ended".into())),
    }
}
