//! Privileges and checks: as asked for, or narrower where that is allowed, and said.

use crate::error::Error;
use crate::options::Options;
use punctual_rt::{Builder, Check, Rt, StartError, granted_nice, try_scheduling};
use punctual_units::Scheduling;

/// Bytes to lock: stacks of all threads, queues, the program. mlockall(2) with less succeeds, and a thread cannot start later.
const MEMORY: u64 = 64 << 20;

/// What was had.
pub struct Started {
    /// The library.
    pub rt: Rt,
    /// What the transmitter is to run as.
    pub scheduling: Scheduling,
    /// What was not had, and what was done without it.
    pub narrowed: Vec<String>,
}

fn builder(options: &Options) -> Builder {
    let builder = Rt::builder()
        .warn(Check::PreemptRt)
        .warn(Check::HighResolutionTimers)
        .warn(Check::FastClock)
        .warn(Check::NoThrottling)
        .warn(Check::NoRtTimeLimit);
    match options.cpu {
        Some(cpu) => builder.warn(Check::Isolated(cpu)).warn(Check::FixedFrequency(cpu)),
        None => builder,
    }
}

/// Checks the machine, locks memory and tries the priority.
///
/// # Errors
/// A privilege is missing and may not be; each says how to get it.
pub fn start(options: &Options) -> Result<Started, Error> {
    let wanted = Scheduling::Fifo { priority: options.priority };
    let ordinary = options.dry_run || options.allow_ordinary;
    let mut narrowed = Vec::new();
    let scheduling = match try_scheduling(wanted) {
        Err(refused) if ordinary => {
            narrowed.push(format!("{refused}: runs as an ordinary thread, and edges come late under load"));
            granted_nice(Scheduling::Other { nice: 0 })
        }
        // Refused without being allowed to be: the required check says it with its fix.
        _ => wanted,
    };
    let required =
        if ordinary { builder(options) } else { builder(options).require(Check::Priority(options.priority.get())) };
    let rt = match required.require(Check::LockedMemory(MEMORY)).lock_memory().start() {
        Err(error @ (StartError::Lock(_) | StartError::Required(_))) if ordinary => {
            narrowed.push(format!("memory is not locked ({error}): a page fault can make an edge late"));
            builder(options).start()?
        }
        other => other?,
    };
    Ok(Started { rt, scheduling, narrowed })
}
