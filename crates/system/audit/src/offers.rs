//! What the caller offers besides the machine.

use crate::Calls;
use punctual_machine::Machine;

/// What some rules cannot do without; they are SKIP where it is not offered.
#[derive(Clone, Copy, Default)]
pub struct Offers<'m> {
    /// The same machine a while earlier, for what rises over time.
    pub before: Option<&'m dyn Machine>,
    /// The application's process.
    pub pid: Option<u32>,
    /// The system calls its threads made meanwhile.
    pub calls: Option<&'m Calls>,
    /// What came of trying it.
    pub trial: Option<&'m Trial>,
}

/// What a behaviour test found: the caller tries, as the target user, because nothing here makes system calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Did the scheduler grant the policy and priority, and keep them when read back? Else the errno.
    pub scheduling: Result<(), i32>,
    /// Did mlockall(2) of what is mapped and will be succeed? Else the errno.
    pub locking: Result<(), i32>,
    /// Could /dev/cpu_dma_latency be opened for writing? Else the errno.
    pub dma_latency: Result<(), i32>,
    /// How much later the median wakeup from idle comes than with idle states forbidden, ns. Else why that could not be tried.
    pub idle_exit_ns: Result<i64, String>,
    /// What one read of CLOCK_MONOTONIC takes, ns.
    pub clock_read_ns: Option<i64>,
}
