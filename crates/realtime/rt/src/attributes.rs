//! Scheduling policy, priority, CPU affinity and stack locking of the calling thread, set and read back.

use punctual_uapi::{self as uapi, SchedFlags};
use punctual_units::{CpuId, CpuList, Nanos, Scheduling};

/// Attributes that a thread requests.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// Policy and priority; its children get SCHED_OTHER (SCHED_RESET_ON_FORK).
    pub scheduling: Scheduling,
    /// The CPU to pin the thread to; with `None`, its affinity is not changed.
    pub cpu: Option<CpuId>,
    /// Whether to lock the 32 KiB of stack below the caller in memory.
    pub lock_stack: bool,
}

/// Attributes in force, read back from the kernel.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Policy and priority.
    pub scheduling: Scheduling,
    /// CPUs that the thread may run on.
    pub affinity: CpuList,
    /// Why the thread's stack is not locked, if locking was requested and failed.
    pub not_locked: Option<String>,
}

/// Why the attributes of a thread could not be set.
#[derive(thiserror::Error)]
pub enum Refused {
    /// The CPU is offline, does not exist, or is not in the cpuset.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu {
        /// The requested CPU.
        cpu: CpuId,
        /// Error of the system call.
        source: uapi::Error,
    },
    /// The policy or priority was refused.
    #[error("cannot run as {wanted}: {source}")]
    Scheduling {
        /// The requested policy and priority.
        wanted: Scheduling,
        /// Error of the system call.
        source: uapi::Error,
        /// What to do about the refusal. For SCHED_DEADLINE it is computed when the refusal occurs: the bandwidth that
        /// is reserved, by which threads, and what would fit.
        advice: Option<String>,
    },
    /// Reading the attributes back failed.
    #[error("cannot read back the thread's attributes: {0}")]
    ReadBack(uapi::Error),
}

impl Attributes {
    /// Applies the attributes to the calling thread and reads them back. The policy is set last, so that setting the
    /// CPU and the stack does not consume a SCHED_DEADLINE budget.
    ///
    /// # Errors
    /// [`Refused`]; what was set before the failure stays set.
    pub fn apply(&self) -> Result<Applied, Refused> {
        self.apply_flags(crate::task::RESET)
    }

    pub(crate) fn apply_flags(&self, flags: SchedFlags) -> Result<Applied, Refused> {
        if let Some(cpu) = self.cpu {
            let one = CpuList::from_iter([cpu]);
            uapi::set_affinity(0, &one).map_err(|source| Refused::Cpu { cpu, source })?;
        }
        let not_locked = match self.lock_stack {
            true => uapi::lock_stack().err().map(|e| e.to_string()),
            false => None,
        };
        uapi::touch_stack();
        let affinity = uapi::affinity(0).map_err(Refused::ReadBack)?;
        uapi::set_scheduling_flags(0, self.scheduling, flags)
            .map_err(|source| Refused::scheduling(self.scheduling, source))?;
        let (scheduling, _) = uapi::scheduling(0).map_err(Refused::ReadBack)?;
        Ok(Applied { scheduling, affinity, not_locked })
    }
}

/// Checks whether the kernel grants this policy: sets it for the calling thread and immediately restores the old one.
///
/// # Errors
/// [`Refused::Scheduling`] if it is refused; [`Refused::ReadBack`] if the old policy cannot be read or restored.
pub fn try_scheduling(wanted: Scheduling) -> Result<(), Refused> {
    let (before, reset_on_fork) = uapi::scheduling(0).map_err(Refused::ReadBack)?;
    // Keeps reset-on-fork as it is, because an unprivileged thread could not clear it again (sched(7)).
    uapi::set_scheduling(0, wanted, reset_on_fork).map_err(|source| Refused::scheduling(wanted, source))?;
    uapi::set_scheduling(0, before, reset_on_fork).map_err(Refused::ReadBack)
}

/// Returns `wanted` or, if it is a nice value that the kernel refuses for lack of CAP_SYS_NICE or RLIMIT_NICE, the
/// calling thread's own nice value, as sched_setscheduler(2) does (sched(7), nice(1)). Other policies are returned
/// unchanged, and so is the nice value if the thread's own policy cannot be read; setting it then reports the error.
///
/// Tries the value on the calling thread and immediately restores the old one.
pub fn granted_nice(wanted: Scheduling) -> Scheduling {
    let granted = |nice| match (try_scheduling(wanted), uapi::scheduling(0)) {
        (Err(_), Ok((Scheduling::Other { nice } | Scheduling::Batch { nice }, _))) => nice,
        _ => nice,
    };
    match wanted {
        Scheduling::Other { nice } => Scheduling::Other { nice: granted(nice) },
        Scheduling::Batch { nice } => Scheduling::Batch { nice: granted(nice) },
        _ => wanted,
    }
}

impl Refused {
    /// Creates the error with its advice. Reads files, so a real-time thread must not call it.
    fn scheduling(wanted: Scheduling, source: uapi::Error) -> Refused {
        let advice = refusal_advice(wanted, source.errno());
        Refused::Scheduling { wanted, source, advice }
    }

    /// Returns what to do about the refusal; `None` if nothing is known.
    pub fn advice(&self) -> Option<&str> {
        match self {
            Refused::Scheduling { advice, .. } => advice.as_deref(),
            Refused::Cpu { .. } => Some(
                "it is offline or the cpuset forbids it: see /sys/devices/system/cpu/online and Cpus_allowed_list in \
                 /proc/self/status",
            ),
            Refused::ReadBack(_) => None,
        }
    }

    /// Returns the error message, followed by the advice if there is any.
    pub fn advised(&self) -> String {
        self.advice().map_or_else(|| self.to_string(), |advice| format!("{self}; {advice}"))
    }
}

/// Returns what to do about an errno of sched_setattr(2); `None` if there is no advice for it.
fn refusal_advice(wanted: Scheduling, errno: Option<i32>) -> Option<String> {
    let errno = rustix::io::Errno::from_raw_os_error(errno?);
    if let Scheduling::Deadline { runtime_ns, deadline_ns, period_ns } = wanted {
        return deadline_advice(runtime_ns, deadline_ns, period_ns, errno);
    }
    let known = match errno {
        rustix::io::Errno::PERM if rustix::process::geteuid().is_root() => {
            "root may set it, unless CAP_SYS_NICE was dropped (a container: --cap-add SYS_NICE) or CONFIG_RT_GROUP_SCHED gives this \
             cgroup no RT runtime (write 950000 to its cpu.rt_runtime_us, or move the shell to the root cgroup)"
        }
        rustix::io::Errno::PERM => {
            "run as root, or grant CAP_SYS_NICE (setcap cap_sys_nice,cap_ipc_lock+ep), or raise rtprio in \
             /etc/security/limits.d and log in again"
        }
        _ => return None,
    };
    Some(known.into())
}

fn deadline_advice(runtime: Nanos, deadline: Nanos, period: Nanos, errno: rustix::io::Errno) -> Option<String> {
    match errno {
        rustix::io::Errno::PERM => Some(
            "SCHED_DEADLINE needs CAP_SYS_NICE (RLIMIT_RTPRIO does not help) and an affinity that spans its whole root \
             domain: run as root, unpinned; to use a part of the CPUs, run in a cpuset partition of them \
             (cpuset.cpus.partition), in which the task may be pinned only if it has one CPU"
                .into(),
        ),
        rustix::io::Errno::BUSY => crate::start::explain_admission(runtime, deadline, period),
        rustix::io::Errno::INVAL => Some(
            "SCHED_DEADLINE needs 1024 ns <= runtime <= deadline <= period, and a period from \
             kernel.sched_deadline_period_min_us (100) to kernel.sched_deadline_period_max_us (4194304)"
                .into(),
        ),
        _ => None,
    }
}

punctual_units::debug_as_display!(Refused);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_is_read_back() {
        let cpu = uapi::affinity(0).unwrap().iter().next().unwrap();
        let wanted = Attributes { scheduling: Scheduling::Batch { nice: 19 }, cpu: Some(cpu), lock_stack: true };
        let got = std::thread::spawn(move || wanted.apply().unwrap()).join().unwrap();
        assert_eq!(got.scheduling, wanted.scheduling);
        assert_eq!(got.affinity, CpuList::from_iter([cpu]));
    }

    #[test]
    fn a_trial_changes_nothing() {
        let before = uapi::scheduling(0).unwrap();
        // Without privileges, a nice value that was increased cannot be decreased again.
        let (Scheduling::Other { nice } | Scheduling::Batch { nice }, _) = before else { return };
        try_scheduling(Scheduling::Batch { nice }).unwrap();
        assert_eq!(uapi::scheduling(0).unwrap(), before);
    }

    #[test]
    fn an_ordinary_policy_is_granted_with_some_nice_value_and_no_other_policy_is_touched() {
        let raised = |nice| {
            std::thread::spawn(move || {
                uapi::set_scheduling(0, Scheduling::Other { nice: 5 }, false).unwrap();
                let granted = granted_nice(Scheduling::Other { nice });
                uapi::set_scheduling(0, granted, false).unwrap();
                granted
            })
        };
        assert_eq!(raised(7).join().unwrap(), Scheduling::Other { nice: 7 });
        // The result is 0 with the privilege, and the thread's own value without it.
        let lower = raised(0).join().unwrap();
        assert!([0, 5].map(|nice| Scheduling::Other { nice }).contains(&lower), "{lower}");
        let fifo = Scheduling::Fifo { priority: punctual_units::Priority::try_from(99).unwrap() };
        assert_eq!((granted_nice(fifo), granted_nice(Scheduling::Idle)), (fifo, Scheduling::Idle));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let wanted =
            Attributes { scheduling: Scheduling::Other { nice: 0 }, cpu: Some(CpuId(8000)), lock_stack: false };
        let error = std::thread::spawn(move || wanted.apply().unwrap_err()).join().unwrap();
        assert!(error.to_string().contains("CPU 8000"), "{error}");
    }
}
