use crate::Calls;
use punctual_machine::Machine;

/// Inputs that some rules require in addition to the machine; without them these rules are SKIP.
#[derive(Clone, Copy, Default)]
pub struct Offers<'m> {
    /// The audited machine at the beginning of the window.
    pub before: Option<&'m dyn Machine>,
    pub pid: Option<u32>,
    pub calls: Option<&'m Calls>,
    pub trial: Option<&'m Trial>,
}

/// The results of behaviour tests. The caller runs them as the target user, because this crate makes no system calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// `Ok` if the scheduler granted policy and priority and reports them when read back; else the errno.
    pub scheduling: Result<(), i32>,
    /// `Ok` if mlockall(2) of current and future mappings succeeded; else the errno.
    pub locking: Result<(), i32>,
    /// `Ok` if /dev/cpu_dma_latency could be opened for writing; else the errno.
    pub dma_latency: Result<(), i32>,
    /// Difference in ns between the median latency of a wakeup from idle and the median with idle states forbidden;
    /// else the reason why it was not measured.
    pub idle_exit_ns: Result<i64, String>,
    /// Duration of one read of CLOCK_MONOTONIC, ns.
    pub clock_read_ns: Option<i64>,
}
