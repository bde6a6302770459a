use crate::error::ProofError;
use crate::options::Options;
use punctual_model::{Problem, ProblemKind};
use punctual_rt::{Refused, granted_nice, try_scheduling};
use punctual_units::{Nanos, Policy, Priority, Scheduling};

/// The chosen scheduling, with notes.
pub struct Choice {
    /// The requested or default scheduling.
    pub wanted: Scheduling,
    pub scheduling: Scheduling,
    pub explicit: bool,
    /// Problem to report if the threads do not run as requested.
    pub problem: Option<Problem>,
}

pub(crate) fn choose(options: &Options) -> Result<Choice, ProofError> {
    choose_scheduling(options.policy, options.priority, options.period)
}

/// Chooses the scheduling. The default is FIFO 90, or SCHED_OTHER if FIFO is refused.
///
/// # Errors
/// [`ProofError::Usage`] if policy and priority contradict each other; [`ProofError::Environment`] if a requested
/// policy is refused.
pub fn choose_scheduling(
    policy: Option<Policy>,
    priority: Option<Priority>,
    period: Nanos,
) -> Result<Choice, ProofError> {
    let explicit = policy.is_some() || priority.is_some();
    let wanted = wanted(policy, priority, period)?;
    match granted(wanted)? {
        Ok(()) => Ok(Choice { wanted, scheduling: wanted, explicit, problem: None }),
        Err(refused) if explicit => Err(ProofError::Environment(refused)),
        Err(refused) => Ok(Choice {
            wanted,
            scheduling: granted_nice(Scheduling::Other { nice: 0 }),
            explicit,
            problem: Some(Problem { kind: ProblemKind::NoRealTime, text: refused }),
        }),
    }
}

fn wanted(policy: Option<Policy>, named: Option<Priority>, period: Nanos) -> Result<Scheduling, ProofError> {
    let usage = |text: &str| Err(ProofError::Usage(text.into()));
    let priority = || match named {
        Some(priority) => Ok(priority),
        None => Priority::try_from(90).map_err(|e| ProofError::Usage(e.to_string())),
    };
    let policy = policy.unwrap_or(Policy::Fifo);
    if named.is_some() && !policy.has_priority() {
        return usage("only fifo and rr have a priority: leave out --priority, or write --policy fifo");
    }
    Ok(match policy {
        Policy::Fifo => Scheduling::Fifo { priority: priority()? },
        Policy::Rr => Scheduling::Rr { priority: priority()? },
        Policy::Other => granted_nice(Scheduling::Other { nice: 0 }),
        Policy::Batch => granted_nice(Scheduling::Batch { nice: 0 }),
        Policy::Idle => Scheduling::Idle,
        Policy::Deadline => {
            // A tenth of the period, but at least fifty times the smallest runtime that the kernel accepts.
            let runtime_ns = Nanos((period.0 / 10).max(50_000).min(period.0));
            Scheduling::Deadline { runtime_ns, deadline_ns: period, period_ns: period }
        }
    })
}

/// Checks whether this thread may use the scheduling. The inner error is the kernel's refusal as text.
fn granted(wanted: Scheduling) -> Result<Result<(), String>, ProofError> {
    match try_scheduling(wanted) {
        Ok(()) => Ok(Ok(())),
        Err(refused @ Refused::Scheduling { .. }) => Ok(Err(refused.advised())),
        Err(other) => Err(ProofError::Environment(other.to_string())),
    }
}
