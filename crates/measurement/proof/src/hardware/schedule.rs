//! Policy and windows of the threads that read the clock, and limits of the kernel's trace.

use super::Remarks;
use crate::error::ProofError;
use punctual_measure::GapPlan;
use punctual_rt::{Refused, granted_nice, try_scheduling};
use punctual_units::{CpuList, Nanos, Priority, Scheduling};
use std::fs::read_to_string;

/// Length of a cycle. The hwlat tracer also reads for half of each second.
const CYCLE: Nanos = Nanos::from_secs(1);

/// Returns the scheduling: the requested priority or FIFO 90. If FIFO is refused and no priority was requested, returns
/// SCHED_OTHER and adds a note.
pub(super) fn scheduling(priority: Option<Priority>, remarks: &mut Remarks) -> Result<Scheduling, ProofError> {
    let usual = || Priority::try_from(90).map_err(|e| ProofError::Usage(e.to_string()));
    let wanted = Scheduling::Fifo { priority: priority.map_or_else(usual, Ok)? };
    let refused = match try_scheduling(wanted) {
        Ok(()) => return Ok(wanted),
        Err(refused @ Refused::Scheduling { .. }) => format!("the reading threads {}", refused.advised()),
        Err(other) => return Err(ProofError::Environment(other.to_string())),
    };
    if priority.is_some() {
        return Err(ProofError::Environment(refused));
    }
    remarks.narrowed.push(format!("{refused}. They ran as SCHED_OTHER, so other threads could take their CPUs"));
    Ok(granted_nice(Scheduling::Other { nice: 0 }))
}

/// Plans the gap detector with windows that do not cause real-time throttling.
pub(super) fn plan(
    cpus: CpuList,
    scheduling: Scheduling,
    duration: Nanos,
    threshold: Nanos,
    remarks: &mut Remarks,
) -> GapPlan {
    let number = |name| read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok();
    let throttling = number("sched_rt_runtime_us").zip(number("sched_rt_period_us"));
    let usual = Nanos(CYCLE.0 / 2);
    let window = match scheduling {
        Scheduling::Fifo { .. } => throttling.map_or(usual, |(runtime, period)| window(runtime, period).min(usual)),
        _ => usual,
    };
    if window < usual {
        let why = "to stay clear of RT throttling (kernel.sched_rt_runtime_us)";
        remarks.notes.push(format!("windows cover only {window} of each {CYCLE}, {why}"));
    }
    GapPlan { cpus, scheduling, cycle: CYCLE, window, duration, threshold }
}

/// Returns the longest window per cycle that uses at most four fifths of the time that throttling allows. `runtime` and
/// `period` are in µs.
fn window(runtime: i64, period: i64) -> Nanos {
    let (Ok(runtime), Ok(period)) = (u64::try_from(runtime), u64::try_from(period)) else { return Nanos(CYCLE.0 / 2) };
    if runtime >= period {
        return Nanos(CYCLE.0 / 2);
    }
    let (runtime, period) = (u128::from(runtime) * 1_000, u128::from(period.max(1)) * 1_000);
    // A period longer than a cycle contains several windows.
    let windows = period.div_ceil(u128::from(CYCLE.0));
    let most = runtime * 4 / 5 / windows.max(1);
    Nanos(u64::try_from(most).unwrap_or(u64::MAX).clamp(1_000_000, CYCLE.0 / 2))
}

/// Returns notes on interrupts that this kernel does not trace, so that the gaps they cause look like gaps caused by
/// hardware.
pub(super) fn blind(missing: &[String]) -> Vec<String> {
    let lacks = |event: &str| missing.iter().any(|name| name == event);
    let mut remarks = Vec::new();
    // The first event exists on x86, the second on Arm.
    if lacks("irq_vectors:call_function_entry") && lacks("ipi:ipi_entry") {
        remarks.push(
            "this kernel does not trace interrupts between CPUs: a short gap may be caused by such an interrupt"
                .to_owned(),
        );
    }
    if lacks("nmi:nmi_handler") {
        remarks.push("this kernel does not trace NMIs: a gap may be caused by one".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_stay_clear_of_throttling() {
        for (runtime, period, ms) in
            [(950_000, 1_000_000, 500), (-1, 1_000_000, 500), (1_000_000, 1_000_000, 500), (200_000, 1_000_000, 160)]
        {
            assert_eq!(window(runtime, period), Nanos::from_millis(ms), "{runtime}");
        }
        assert_eq!(window(95_000, 100_000), Nanos::from_millis(76));
        assert_eq!(window(4_750_000, 5_000_000), Nanos::from_millis(500));
        assert!(window(0, 1_000_000).0 > 0 && window(i64::MAX - 1, i64::MAX).0 > 0);
    }
}
