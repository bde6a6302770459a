//! The delays.

use punctual_rt::{Attributes, Refused, monotonic, sleep_until};
use punctual_units::{CpuId, Nanos, Priority, Scheduling};
use serde::Serialize;

/// What kind of delay it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A thread of higher priority holds the CPU.
    Spinner,
    /// It does so when the first period to be recorded is released.
    LateStart,
    /// The process forks: the next write of the measuring thread to its own memory faults (copy on write).
    PageFault,
}

/// One planted delay, as it really was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Planted {
    /// What.
    pub kind: Kind,
    /// Where.
    pub cpu: CpuId,
    /// How long it was meant to be.
    pub wanted: Nanos,
    /// From when, on CLOCK_MONOTONIC.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
}

/// Rest after the last delay.
const AFTERWARDS: Nanos = Nanos::from_millis(5);

/// A delay to be planted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub kind: Kind,
    /// When, from the first recorded release on.
    pub offset_ns: i64,
    pub size: Nanos,
}

/// Holds a CPU at `priority` for each of them in turn; `begun` is the first recorded release.
pub(crate) fn spin(cpu: CpuId, priority: Priority, begun: Nanos, plan: &[Delay]) -> Result<Vec<Planted>, Refused> {
    Attributes { scheduling: Scheduling::Fifo { priority }, cpu: Some(cpu), lock_stack: false }.apply()?;
    let mut planted = Vec::with_capacity(plan.len());
    for delay in plan {
        let at = Nanos(begun.0.saturating_add_signed(delay.offset_ns));
        while sleep_until(at).is_err() {}
        let from = monotonic();
        let mut to = from;
        while to < from + delay.size {
            to = monotonic();
        }
        planted.push(Planted { kind: delay.kind, cpu, wanted: delay.size, from, to });
    }
    // Ending a thread takes time, too (7 ms in an emulator): let the measuring one go first, and then take it from nobody.
    while sleep_until(monotonic() + AFTERWARDS).is_err() {}
    Attributes { scheduling: Scheduling::Other { nice: 0 }, cpu: Some(cpu), lock_stack: false }.apply()?;
    Ok(planted)
}
