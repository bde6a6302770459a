use crate::error::Error;
use punctual_rt::{Check, Policy, Rt, Scheduling, StartError, granted_nice, try_scheduling};

/// Upper bound on locked memory, bytes: the program's own few MiB, and the stacks of its threads.
const MEMORY: u64 = 64 << 20;

pub(crate) struct Started {
    pub(crate) rt: Rt,
    /// Policies in force, without duplicates: one per requested policy, or its substitute if that policy was refused.
    pub(crate) scheduling: Vec<Scheduling>,
    /// Messages about requests that were refused, and about what is done instead.
    pub(crate) narrowed: Vec<String>,
}

/// Requires these policies and locked memory. With `allow_ordinary`, continues with what is granted.
pub(crate) fn start(wanted: &[Scheduling], allow_ordinary: bool) -> Result<Started, Error> {
    let (mut narrowed, mut scheduling) = (Vec::new(), Vec::new());
    for wanted in wanted {
        let granted = match (wanted.policy(), try_scheduling(*wanted)) {
            (Policy::Other, _) => granted_nice(*wanted),
            (_, Ok(())) => *wanted,
            (_, Err(refused)) if allow_ordinary => {
                narrowed.push(format!("measures an ordinary thread in place of {wanted}: {refused}"));
                granted_nice(Scheduling::Other { nice: 0 })
            }
            (_, Err(refused)) => return Err(Error::NotRealTime(refused.advised())),
        };
        if !scheduling.contains(&granted) {
            scheduling.push(granted);
        }
    }
    // An ordinary thread needs no privilege, and is measured even if memory cannot be locked.
    let allow_unlocked = allow_ordinary || scheduling.iter().all(|one| !one.policy().is_real_time());
    let builder = || Rt::builder().silence_warnings().warn(Check::PreemptRt);
    // Checked now, so that a thread's stack cannot fail to be locked later.
    let rt = match builder().require(Check::LockedMemory(MEMORY)).lock_memory().start() {
        Ok(rt) => rt,
        Err(refused @ (StartError::Lock(_) | StartError::Required(_))) if allow_unlocked => {
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
