//! Real time where it is granted, and a word about it where it is not.

use crate::error::Error;
use punctual_rt::{Check, Policy, Refused, Rt, Scheduling, StartError, granted_nice, refusal_advice, try_scheduling};

/// What the program locks at most: its own few MiB, and the stacks of its threads.
const MEMORY: u64 = 64 << 20;

/// What the machine granted.
pub(crate) struct Started {
    pub(crate) rt: Rt,
    /// One for each that was wanted, the same where it was granted; with what was allowed in its place none twice.
    pub(crate) scheduling: Vec<Scheduling>,
    /// What was not granted, where that was allowed.
    pub(crate) narrowed: Vec<String>,
}

/// These policies and locked memory, or with `allow_ordinary` what there is.
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
            (_, Err(refused)) => return Err(Error::NotRealTime(advised(*wanted, &refused))),
        };
        if !scheduling.contains(&granted) {
            scheduling.push(granted);
        }
    }
    // An ordinary thread needs no privilege; where there is none it is measured as it is.
    let allow_unlocked = allow_ordinary || scheduling.iter().all(|one| !one.policy().is_real_time());
    let builder = || Rt::builder().warn(Check::PreemptRt).warn(Check::NoThrottling);
    // Locked now, so that a thread's stack is not what cannot be had later.
    let rt = match builder().require(Check::LockedMemory(MEMORY)).lock_memory().start() {
        Ok(rt) => rt,
        Err(refused @ (StartError::Lock(_) | StartError::Required(_))) if allow_unlocked => {
            narrowed.push(format!("memory is not locked and may have to be read back: {}", shortly(&refused)));
            builder().start()?
        }
        Err(refused @ (StartError::Lock(_) | StartError::Required(_))) => {
            return Err(Error::NotRealTime(refused.to_string().trim_end().into()));
        }
        Err(other) => return Err(other.into()),
    };
    Ok(Started { rt, scheduling, narrowed })
}

fn advised(wanted: Scheduling, refused: &Refused) -> String {
    let errno = if let Refused::Scheduling { source, .. } = refused { source.errno() } else { None };
    let advice = refusal_advice(wanted, errno).map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{refused}{advice}")
}

/// The failed check only.
fn shortly(refused: &StartError) -> String {
    let text = refused.to_string();
    let line = text.lines().find(|line| line.contains("(required)")).unwrap_or(&text);
    line.strip_prefix("FAILED").unwrap_or(line).trim().to_owned()
}
