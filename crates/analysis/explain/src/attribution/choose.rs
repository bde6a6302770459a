//! Selects the wakeups that are explained, and formats priorities.

use super::{Facts, Victims};
use punctual_model::Scheduled;
use punctual_trace::Comm;
use punctual_units::Policy;

/// Threads of measuring tools: a name, or a prefix that ends in `/` (`timerlat/3`).
const TOOLS: &[&str] = &[
    "cyclictest",
    "cyclicdeadline",
    "timerlat/",
    "timerlatu/",
    "measure/",
    "jitterd",
    "jitterdebugger",
    "oslat",
    "pmqtest",
    "ptsematest",
    "svsematest",
    "sigwaittest",
    "signaltest",
];

/// Returns the rank of a thread. 0: explain its wakeups; 1: explain them if there is none of rank 0; `None`: never.
pub(super) fn rank(victims: &Victims, tid: i32, comm: Option<Comm>, prio: Option<i32>) -> Option<usize> {
    let real_time = prio.is_some_and(|prio| prio < 100);
    match victims {
        // No program waits for the kernel's own stopper threads.
        Victims::Measuring if comm.is_some_and(is_stopper) => None,
        Victims::Measuring => real_time.then(|| usize::from(!comm.is_some_and(measures))),
        Victims::AllRealTime => real_time.then_some(0),
        Victims::Tid(wanted) => (tid == *wanted).then_some(0),
        Victims::Comm(wanted) => comm.is_some_and(|c| c.as_bytes() == wanted.as_bytes()).then_some(0),
    }
}

pub(super) fn is_stopper(comm: Comm) -> bool {
    comm.as_bytes().starts_with(b"migration/")
}

fn measures(comm: Comm) -> bool {
    let name = comm.as_bytes();
    // The latency format truncates names to 8 characters.
    TOOLS.iter().any(|tool| match tool.as_bytes() {
        prefix if prefix.ends_with(b"/") => name.starts_with(prefix),
        whole => name == whole || (name.len() == 8 && whole.starts_with(name)),
    })
}

/// Converts a raw kernel priority to policy and priority for display.
pub(super) fn scheduled(facts: &Facts, tid: i32, prio: Option<i32>) -> Scheduled {
    let Some(raw) = prio else { return Scheduled::default() };
    let known = facts.policies.get(&tid).copied();
    let policy = match (raw, known) {
        (..0, _) => "DEADLINE",
        (..100, Some(Policy::Fifo)) => "FIFO",
        (..100, Some(Policy::Rr)) => "RR",
        (..100, _) => "RT",
        (_, Some(Policy::Batch)) => "BATCH",
        (_, Some(Policy::Idle)) => "IDLE",
        _ => "OTHER",
    };
    let prio = match raw {
        ..0 => None,
        0..100 => Some(99 - raw),
        100..140 => Some(raw - 120),
        _ => None,
    };
    Scheduled { policy: Some(policy.to_owned()), prio }
}
