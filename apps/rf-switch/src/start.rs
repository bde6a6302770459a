//! Checks privileges and the machine before the program starts. If allowed, it continues with restrictions that it
//! reports.

use crate::error::Error;
use crate::options::Options;
use punctual_rt::{Builder, Check, Rt, StartError, granted_nice, try_scheduling};
use punctual_units::Scheduling;

/// Memory to lock, bytes: the stacks of all threads, the queues and the program. With a lower limit, mlockall(2) would
/// succeed, but a thread could later fail to start.
const MEMORY: u64 = 64 << 20;

pub struct Started {
    pub rt: Rt,
    pub scheduling: Scheduling,
    /// Messages about requests that were refused, and the consequences.
    pub narrowed: Vec<String>,
}

fn builder(options: &Options) -> Builder {
    let builder = Rt::builder()
        .silence_warnings()
        .warn(Check::PreemptRt)
        .warn(Check::HighResolutionTimers)
        .warn(Check::FastClock)
        .warn(Check::NoRtTimeLimit);
    match options.cpu {
        Some(cpu) => builder.warn(Check::Isolated(cpu)).warn(Check::FixedFrequency(cpu)),
        None => builder,
    }
}

/// Checks the machine, locks memory and checks that the priority is granted.
///
/// # Errors
/// A required privilege is missing; the error says how to get it.
pub fn start(options: &Options) -> Result<Started, Error> {
    let wanted = Scheduling::Fifo { priority: options.priority };
    let ordinary = options.dry_run || options.allow_ordinary;
    let mut narrowed = Vec::new();
    let scheduling = match try_scheduling(wanted) {
        Err(refused) if ordinary => {
            narrowed.push(format!("{refused}: runs as an ordinary thread, and edges are late under load"));
            granted_nice(Scheduling::Other { nice: 0 })
        }
        // If real-time scheduling is refused and an ordinary thread is not allowed, the required check reports this
        // with a fix.
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
