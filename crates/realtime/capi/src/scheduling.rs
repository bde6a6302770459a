//! Scheduling policies and their parameters.

use crate::boundary::guard;
use crate::status::{Failure, prt_status};
use punctual_rt::{CpuId, Nanos, Priority, Refused, Scheduling, try_scheduling};
use std::ffi::c_int;

/// A scheduling policy: sched(7).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum prt_policy {
    /// SCHED_OTHER; the priority is a nice value, −20 to 19.
    Other = 0,
    /// SCHED_FIFO; the priority is 1 to 99.
    Fifo = 1,
    /// SCHED_RR; the priority is 1 to 99.
    Rr = 2,
    /// SCHED_DEADLINE; the task gets `runtime_ns` of CPU time in each period, by `deadline_ns` after the release.
    Deadline = 3,
}

/// Converts a policy and its parameters. `times` contains runtime, deadline and period for SCHED_DEADLINE, ns.
pub(crate) fn scheduling(policy: c_int, priority: c_int, times: [u64; 3]) -> Result<Scheduling, Failure> {
    let invalid = |text: String| Failure::written(prt_status::Invalid, text);
    let level = || {
        let level = u8::try_from(priority).ok().and_then(|level| Priority::try_from(level).ok());
        level.ok_or_else(|| {
            invalid(format!("priority {priority}: the priorities of SCHED_FIFO and SCHED_RR are 1 to 99"))
        })
    };
    match policy {
        p if p == prt_policy::Other as c_int => {
            let nice = i8::try_from(priority).ok().filter(|nice| (-20..=19).contains(nice));
            let nice = nice.ok_or_else(|| {
                invalid(format!("nice value {priority}: the nice values of SCHED_OTHER are -20 to 19"))
            })?;
            Ok(Scheduling::Other { nice })
        }
        p if p == prt_policy::Fifo as c_int => Ok(Scheduling::Fifo { priority: level()? }),
        p if p == prt_policy::Rr as c_int => Ok(Scheduling::Rr { priority: level()? }),
        p if p == prt_policy::Deadline as c_int => {
            let [runtime_ns, deadline_ns, period_ns] = times.map(Nanos);
            Ok(Scheduling::Deadline { runtime_ns, deadline_ns, period_ns })
        }
        other => Err(invalid(format!("policy {other} is unknown: use one of enum prt_policy"))),
    }
}

/// Returns the CPU of a task's options; `None` for −1, which means any CPU.
pub(crate) fn cpu(cpu: c_int) -> Result<Option<CpuId>, Failure> {
    match u32::try_from(cpu) {
        Ok(cpu) => Ok(Some(CpuId(cpu))),
        Err(_) if cpu == -1 => Ok(None),
        Err(_) => Err(Failure::written(prt_status::Invalid, format!("CPU {cpu} does not exist"))),
    }
}

/// Checks whether the calling thread is granted this policy: sets it, and immediately restores the old one. For
/// programs that can also run without it.
///
/// Threads: any non-real-time thread.
/// Errors: PRT_STATUS_REFUSED, with what to do about it; PRT_STATUS_INVALID for an unknown policy or priority, and for
/// PRT_POLICY_DEADLINE (use prt_builder_check_deadline()).
#[unsafe(no_mangle)]
pub extern "C" fn prt_try_scheduling(policy: c_int, priority: c_int) -> c_int {
    guard(|| {
        if policy == prt_policy::Deadline as c_int {
            let text =
                c"use prt_builder_check_deadline() for SCHED_DEADLINE, since it takes the runtime, deadline and period";
            return Err(Failure::fixed(prt_status::Invalid, text));
        }
        try_scheduling(scheduling(policy, priority, [0; 3])?).map_err(refused)
    })
}

fn refused(refused: Refused) -> Failure {
    Failure::written(prt_status::Refused, refused.advised())
}
