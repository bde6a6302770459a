use crate::Calls;
use punctual_machine::Machine;

/// What some rules require besides the machine; without it they are SKIP.
#[derive(Clone, Copy, Default)]
pub struct Offers<'m> {
    /// The same machine at the beginning of the window.
    pub before: Option<&'m dyn Machine>,
    pub pid: Option<u32>,
    pub calls: Option<&'m Calls>,
    pub trial: Option<&'m Trial>,
}

/// The results of behaviour tests. The caller runs them as the target user, because nothing here makes system calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Did the scheduler grant policy and priority, and report them when read back? Else the errno.
    pub scheduling: Result<(), i32>,
    /// Did mlockall(2) of current and future mappings succeed? Else the errno.
    pub locking: Result<(), i32>,
    /// Could /dev/cpu_dma_latency be opened for writing? Else the errno.
    pub dma_latency: Result<(), i32>,
    /// How much later the median wakeup from idle is than with idle states forbidden, ns. Else why this could not be
    /// tried.
    pub idle_exit_ns: Result<i64, String>,
    /// One read of CLOCK_MONOTONIC, ns.
    pub clock_read_ns: Option<i64>,
}
