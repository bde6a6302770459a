//! Scheduling policy, priority and CPU affinity of a thread: sched_setattr(2), sched_setaffinity(2).

use crate::Error;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Priority, Scheduling};
use std::io;

/// First version of struct sched_attr (48 bytes, Linux 3.14; include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SchedAttr {
    size: u32,
    sched_policy: u32,
    sched_flags: u64,
    sched_nice: i32,
    sched_priority: u32,
    sched_runtime: u64,
    sched_deadline: u64,
    sched_period: u64,
}

const SIZE: u32 = size_of::<SchedAttr>() as u32;
const RESET_ON_FORK: u64 = 0x01;
const RECLAIM: u64 = 0x02;
const DL_OVERRUN: u64 = 0x04;
const SCHED_DEADLINE: u32 = 6;

/// Flags of sched_setattr(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedFlags {
    /// True if children start with SCHED_OTHER (SCHED_FLAG_RESET_ON_FORK).
    pub reset_on_fork: bool,
    /// True if a SCHED_DEADLINE thread may use bandwidth that other threads leave unused (SCHED_FLAG_RECLAIM, Linux
    /// 4.13).
    pub reclaim: bool,
    /// True if a SCHED_DEADLINE thread gets SIGXCPU when it exceeds its runtime (SCHED_FLAG_DL_OVERRUN, Linux 4.16).
    pub overrun_signal: bool,
}

/// Sets the policy and parameters of the thread `tid` (0: the calling thread). With `reset_on_fork`, its children start
/// with SCHED_OTHER.
///
/// # Errors
/// See [`set_scheduling_flags`].
pub fn set_scheduling(tid: i32, wanted: Scheduling, reset_on_fork: bool) -> Result<(), Error> {
    set_scheduling_flags(tid, wanted, SchedFlags { reset_on_fork, ..SchedFlags::default() })
}

/// Sets the policy, parameters and flags of the thread `tid` (0: the calling thread).
///
/// # Errors
/// `EPERM`: the process lacks CAP_SYS_NICE and RLIMIT_RTPRIO is too low; or the kernel has CONFIG_RT_GROUP_SCHED and
/// the cgroup has no real-time runtime; or a SCHED_DEADLINE thread would have an affinity that does not span the root
/// domain. `EBUSY`: deadline admission control refused the parameters. `EINVAL`: a parameter is out of range.
pub fn set_scheduling_flags(tid: i32, wanted: Scheduling, flags: SchedFlags) -> Result<(), Error> {
    let mut attr = SchedAttr { size: SIZE, sched_policy: number(wanted.policy()), ..SchedAttr::default() };
    let flag = |set: bool, bit: u64| if set { bit } else { 0 };
    attr.sched_flags = flag(flags.reset_on_fork, RESET_ON_FORK)
        | flag(flags.reclaim, RECLAIM)
        | flag(flags.overrun_signal, DL_OVERRUN);
    match wanted {
        Scheduling::Other { nice } | Scheduling::Batch { nice } => attr.sched_nice = nice.into(),
        Scheduling::Idle => {}
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => attr.sched_priority = priority.get().into(),
        Scheduling::Deadline { runtime_ns, deadline_ns, period_ns } => {
            attr.sched_runtime = runtime_ns.0;
            attr.sched_deadline = deadline_ns.0;
            attr.sched_period = period_ns.0;
        }
    }
    // SAFETY: the kernel reads `size` bytes of a live, initialised struct of that size.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0u32) };
    if rc == 0 { Ok(()) } else { Err(Error::last("sched_setattr", format!("{wanted}"))) }
}

/// Returns the policy and parameters of the thread `tid` (0: the calling thread), and true if its children start with
/// SCHED_OTHER.
///
/// # Errors
/// `ESRCH`: there is no such thread. `EINVAL`: its policy is unknown.
pub fn scheduling(tid: i32) -> Result<(Scheduling, bool), Error> {
    let mut attr = SchedAttr::default();
    // SAFETY: the kernel writes at most SIZE bytes into a live struct of that size.
    let rc = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, SIZE, 0u32) };
    if rc != 0 {
        return Err(Error::last("sched_getattr", format!("thread {tid}")));
    }
    let bad = || Error {
        call: "sched_getattr",
        on: format!("thread {tid}, policy {}", attr.sched_policy),
        source: io::Error::from_raw_os_error(libc::EINVAL),
    };
    let priority = || Priority::try_from(attr.sched_priority as u8).map_err(|_| bad());
    let scheduling = match attr.sched_policy as i32 {
        libc::SCHED_OTHER => Scheduling::Other { nice: attr.sched_nice as i8 },
        libc::SCHED_BATCH => Scheduling::Batch { nice: attr.sched_nice as i8 },
        libc::SCHED_IDLE => Scheduling::Idle,
        libc::SCHED_FIFO => Scheduling::Fifo { priority: priority()? },
        libc::SCHED_RR => Scheduling::Rr { priority: priority()? },
        n if n as u32 == SCHED_DEADLINE => Scheduling::Deadline {
            runtime_ns: Nanos(attr.sched_runtime),
            deadline_ns: Nanos(attr.sched_deadline),
            period_ns: Nanos(attr.sched_period),
        },
        _ => return Err(bad()),
    };
    Ok((scheduling, attr.sched_flags & RESET_ON_FORK != 0))
}

fn number(policy: Policy) -> u32 {
    match policy {
        Policy::Other => libc::SCHED_OTHER as u32,
        Policy::Batch => libc::SCHED_BATCH as u32,
        Policy::Idle => libc::SCHED_IDLE as u32,
        Policy::Fifo => libc::SCHED_FIFO as u32,
        Policy::Rr => libc::SCHED_RR as u32,
        Policy::Deadline => SCHED_DEADLINE,
    }
}

const BITS: usize = usize::BITS as usize;
/// Number of words in a CPU mask; Linux supports at most 8192 CPUs.
const MASK_WORDS: usize = 8192 / BITS;

/// Returns the CPUs on which the thread `tid` (0: the calling thread) may run.
///
/// # Errors
/// `ESRCH`: there is no such thread.
pub fn affinity(tid: i32) -> Result<CpuList, Error> {
    let mut mask = [0usize; MASK_WORDS];
    // SAFETY: the kernel writes at most the given number of bytes into a live array.
    let rc = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&mask), mask.as_mut_ptr()) };
    if rc < 0 {
        return Err(Error::last("sched_getaffinity", format!("thread {tid}")));
    }
    let set = |cpu: &usize| mask[cpu / BITS] >> (cpu % BITS) & 1 == 1;
    Ok((0..MASK_WORDS * BITS).filter(set).map(|cpu| CpuId(cpu as u32)).collect())
}

/// Restricts the thread `tid` (0: the calling thread) to these CPUs.
///
/// # Errors
/// `EINVAL`: none of the CPUs is online and allowed by the cpuset. `EPERM`: the thread belongs to another user.
pub fn set_affinity(tid: i32, cpus: &CpuList) -> Result<(), Error> {
    let mut mask = [0usize; MASK_WORDS];
    for cpu in cpus.iter() {
        if let Some(word) = mask.get_mut(cpu.0 as usize / BITS) {
            *word |= 1 << (cpu.0 as usize % BITS);
        }
    }
    // SAFETY: the kernel reads the given number of bytes of a live array.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&mask), mask.as_ptr()) };
    if rc == 0 { Ok(()) } else { Err(Error::last("sched_setaffinity", format!("CPU {cpus}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_reads_back() {
        let all = affinity(0).unwrap();
        let one: CpuList = all.iter().take(1).collect();
        std::thread::spawn(move || {
            set_affinity(0, &one).unwrap();
            assert_eq!(affinity(0).unwrap(), one);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn no_cpu_is_refused() {
        let error = set_affinity(0, &"8191".parse().unwrap()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EINVAL));
    }

    #[test]
    fn scheduling_reads_back() {
        std::thread::spawn(|| {
            set_scheduling(0, Scheduling::Batch { nice: 5 }, true).unwrap();
            assert_eq!(scheduling(0).unwrap(), (Scheduling::Batch { nice: 5 }, true));
        })
        .join()
        .unwrap();
    }
}
