use punctual_rt::{Attributes, Refused, monotonic, sleep_until};
use punctual_units::{CpuId, Nanos, Priority, Scheduling};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A thread of higher priority occupies the CPU.
    Spinner,
    /// A spinning thread occupies the CPU when the first recorded period is released.
    LateStart,
    /// The process forks, so that the next write of the measuring thread to its memory causes a page fault (copy on
    /// write).
    PageFault,
}

/// An injected delay, with its actual times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Injected {
    pub kind: Kind,
    pub cpu: CpuId,
    pub wanted: Nanos,
    /// CLOCK_MONOTONIC at which the delay started.
    pub from: Nanos,
    pub to: Nanos,
}

/// Pause after the last delay.
const AFTERWARDS: Nanos = Nanos::from_millis(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub kind: Kind,
    /// Start of the delay, relative to the first recorded release.
    pub offset_ns: i64,
    pub size: Nanos,
}

/// Occupies a CPU at `priority` for each delay in turn. `begun` is the time of the first recorded release,
/// CLOCK_MONOTONIC.
pub(crate) fn spin(cpu: CpuId, priority: Priority, begun: Nanos, plan: &[Delay]) -> Result<Vec<Injected>, Refused> {
    Attributes { scheduling: Scheduling::Fifo { priority }, cpu: Some(cpu), lock_stack: false }.apply()?;
    let mut injected = Vec::with_capacity(plan.len());
    for delay in plan {
        let at = Nanos(begun.0.saturating_add_signed(delay.offset_ns));
        while sleep_until(at).is_err() {}
        let from = monotonic();
        let mut to = from;
        while to < from + delay.size {
            to = monotonic();
        }
        injected.push(Injected { kind: delay.kind, cpu, wanted: delay.size, from, to });
    }
    // Ending a thread takes time (7 ms in an emulator). This thread therefore waits until the measuring thread has run,
    // and then ends with a policy that delays no other thread.
    while sleep_until(monotonic() + AFTERWARDS).is_err() {}
    Attributes { scheduling: Scheduling::Other { nice: 0 }, cpu: Some(cpu), lock_stack: false }.apply()?;
    Ok(injected)
}
