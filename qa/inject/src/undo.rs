use crate::InjectError;
use punctual_units::Scheduling;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// A kernel file whose value was changed. Dropping it restores the value.
#[derive(Debug)]
pub(crate) struct Changed {
    path: PathBuf,
    before: String,
}

impl Changed {
    pub fn file(path: impl AsRef<Path>, value: &str) -> Result<Changed, InjectError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let before = fs::read_to_string(path).map_err(InjectError::at(format!("read {shown}")))?;
        match fs::write(path, value) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                return Err(InjectError::Impossible(format!("{shown} may not be written")));
            }
            written => written.map_err(InjectError::at(format!("write {value} to {shown}")))?,
        }
        Ok(Changed { path: path.to_owned(), before: before.trim().to_owned() })
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // The time reserved by a SCHED_DEADLINE thread is counted for a while after its end.
        let mut written = fs::write(&self.path, &self.before);
        for _ in 0..20 {
            if written.as_ref().is_err_and(|e| e.kind() == ErrorKind::ResourceBusy) {
                sleep(Duration::from_millis(100));
                written = fs::write(&self.path, &self.before);
            }
        }
        if let Err(e) = written {
            eprintln!("punctual-inject: {} could not be restored to {}: {e}", self.path.display(), self.before);
        }
    }
}

/// Removes the bandwidth limit of real-time and SCHED_DEADLINE threads, so that the latter may be pinned to a CPU
/// (kernel/sched/syscalls.c, `__sched_setscheduler`).
pub(crate) fn unlimited() -> Result<Changed, InjectError> {
    Changed::file("/proc/sys/kernel/sched_rt_runtime_us", "-1")
}

/// A thread whose policy was changed. Dropping it restores the policy.
#[derive(Debug)]
pub(crate) struct Raised {
    tid: i32,
    before: Scheduling,
}

impl Raised {
    pub fn thread(tid: i32, scheduling: Scheduling) -> Result<Raised, InjectError> {
        let (before, _) = punctual_uapi::scheduling(tid)?;
        punctual_uapi::set_scheduling(tid, scheduling, false)?;
        Ok(Raised { tid, before })
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        if let Err(e) = punctual_uapi::set_scheduling(self.tid, self.before, false) {
            eprintln!("punctual-inject: thread {} could not be restored to the policy {}: {e}", self.tid, self.before);
        }
    }
}
