use crate::error::Error;
use punctual_rt::{Check, Priority, Rt, Scheduling, StartError, granted_nice, try_scheduling};

/// Upper bound on locked memory, bytes: the program's own few MiB, and the stacks of its threads.
const MEMORY: u64 = 64 << 20;

pub(crate) struct Started {
    pub(crate) rt: Rt,
    pub(crate) scheduling: Scheduling,
    /// Messages about requests that were refused but are not required.
    pub(crate) narrowed: Vec<String>,
}

/// Requires SCHED_FIFO and locked memory. With `allow_ordinary`, continues with what is granted.
pub(crate) fn start(priority: Priority, allow_ordinary: bool) -> Result<Started, Error> {
    let wanted = Scheduling::Fifo { priority };
    let mut narrowed = Vec::new();
    let scheduling = match try_scheduling(wanted) {
        Ok(()) => wanted,
        Err(refused) => {
            if !allow_ordinary {
                return Err(Error::NotRealTime(refused.advised()));
            }
            narrowed.push(format!("runs as an ordinary program and may be late: {refused}"));
            granted_nice(Scheduling::Other { nice: 0 })
        }
    };
    let builder = || Rt::builder().silence_warnings().warn(Check::PreemptRt);
    // Checked now, so that a thread's stack cannot fail to be locked later.
    let rt = match builder().require(Check::LockedMemory(MEMORY)).lock_memory().start() {
        Ok(rt) => rt,
        Err(refused @ (StartError::Lock(_) | StartError::Required(_))) if allow_ordinary => {
            narrowed
                .push(format!("memory is not locked and pages may be evicted and read back: {}", shortly(&refused)));
            builder().start()?
        }
        Err(refused @ (StartError::Lock(_) | StartError::Required(_))) => {
            return Err(Error::NotRealTime(refused.to_string().trim_end().into()));
        }
        Err(other) => return Err(other.into()),
    };
    Ok(Started { rt, scheduling, narrowed })
}

fn shortly(refused: &StartError) -> String {
    let text = refused.to_string();
    let line = text.lines().find(|line| line.contains("(required)")).unwrap_or(&text);
    line.strip_prefix("FAILED").unwrap_or(line).trim().to_owned()
}
