//! Which policy the measuring threads run under.

use crate::error::ProofError;
use crate::options::Options;
use punctual_model::{Problem, ProblemKind};
use punctual_rt::{Refused, refusal_advice, try_scheduling};
use punctual_units::{Nanos, Policy, Priority, Scheduling};

/// The decision, and what has to be said about it.
pub(crate) struct Choice {
    /// What was asked for, by name or by default.
    pub wanted: Scheduling,
    /// What is measured.
    pub scheduling: Scheduling,
    pub explicit: bool,
    pub problem: Option<Problem>,
}

/// FIFO 90, unless told otherwise; SCHED_OTHER where that is refused and was not asked for by name.
pub(crate) fn choose(options: &Options) -> Result<Choice, ProofError> {
    let explicit = options.policy.is_some() || options.priority.is_some();
    let wanted = wanted(options)?;
    match granted(wanted)? {
        Ok(()) => Ok(Choice { wanted, scheduling: wanted, explicit, problem: None }),
        Err(refused) if explicit => Err(ProofError::Environment(refused)),
        Err(refused) => Ok(Choice {
            wanted,
            scheduling: Scheduling::Other { nice: 0 },
            explicit,
            problem: Some(Problem { kind: ProblemKind::NoRealTime, text: refused }),
        }),
    }
}

fn wanted(options: &Options) -> Result<Scheduling, ProofError> {
    let usage = |text: &str| Err(ProofError::Usage(text.into()));
    let priority = || match options.priority {
        Some(priority) => Ok(priority),
        None => Priority::try_from(90).map_err(|e| ProofError::Usage(e.to_string())),
    };
    let policy = options.policy.unwrap_or(Policy::Fifo);
    if options.priority.is_some() && !policy.has_priority() {
        return usage("only fifo and rr have a priority: leave out --priority, or write --policy fifo");
    }
    Ok(match policy {
        Policy::Fifo => Scheduling::Fifo { priority: priority()? },
        Policy::Rr => Scheduling::Rr { priority: priority()? },
        Policy::Other => Scheduling::Other { nice: 0 },
        Policy::Batch => Scheduling::Batch { nice: 0 },
        Policy::Idle => Scheduling::Idle,
        Policy::Deadline => {
            // A tenth of the period, at least the kernel's least budget times fifty.
            let runtime_ns = Nanos((options.period.0 / 10).max(50_000).min(options.period.0));
            Scheduling::Deadline { runtime_ns, deadline_ns: options.period, period_ns: options.period }
        }
    })
}

/// The inner error is the refusal, in words.
fn granted(wanted: Scheduling) -> Result<Result<(), String>, ProofError> {
    match try_scheduling(wanted) {
        Ok(()) => Ok(Ok(())),
        Err(Refused::Scheduling { wanted, source }) => {
            let advice = refusal_advice(wanted, source.errno()).unwrap_or("see sched_setattr(2)");
            Ok(Err(format!("cannot run as {wanted}: {source}; {advice}")))
        }
        Err(other) => Err(ProofError::Environment(other.to_string())),
    }
}
