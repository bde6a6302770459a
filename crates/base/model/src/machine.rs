//! The machine on which a run was recorded, the cost of the measurement, and scratch space for loads.

use punctual_units::CpuList;
use serde::{Deserialize, Serialize};

/// Summary of the machine; the directory `machine/` of the run contains the source files. Null values are unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFacts {
    /// Output of `uname -r`.
    pub kernel_release: Option<String>,
    /// Output of `uname -v`.
    pub kernel_version: Option<String>,
    /// Output of `uname -m`.
    pub architecture: Option<String>,
    /// True if the kernel is PREEMPT_RT.
    pub preempt_rt: Option<bool>,
    /// Active preemption mode: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Option<String>,
    /// Board name (device tree or DMI).
    pub board: Option<String>,
    pub cpu_model: Option<String>,
    pub cpus_online: Option<CpuList>,
    /// CPUs isolated from the scheduler at boot.
    pub cpus_isolated: Option<CpuList>,
    /// True if simultaneous multithreading is in use.
    pub smt_active: Option<bool>,
    /// Frequency governor of each policy, for example `performance`.
    pub governors: Option<Vec<String>>,
    pub clocksource: Option<String>,
    /// Name of the hypervisor, or `none`.
    pub virtualisation: Option<String>,
    /// Kernel command line, with private values removed.
    pub cmdline: Option<String>,
    pub memory_bytes: Option<u64>,
    /// RT throttling settings, for example `950000/1000000 µs`.
    pub rt_throttling: Option<String>,
    /// Cost of one clock read, ns.
    pub clock_read_ns: Option<f64>,
    /// Name of the Linux distribution.
    pub os: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnCost {
    /// CPU time of the measuring threads, ns; null if unknown.
    pub measuring_cpu_ns: Option<u64>,
    /// Number of wakeups of the context thread.
    pub context_wakeups: u64,
    /// CPU time of the context thread, ns.
    pub context_cpu_ns: Option<u64>,
    /// CPUs on which the context thread ran: `housekeeping CPU 3`, or `shared with the measured CPUs`.
    pub context_cpus: String,
    pub rss_bytes: Option<u64>,
    pub locked_bytes: Option<u64>,
    /// Time from process start to the first recorded release (warm-up is not recorded), ns.
    pub start_to_first_sample_ns: Option<u64>,
}

/// Limits on scratch files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scratch {
    pub folder: String,
    pub file_bytes: u64,
    /// Maximum number of bytes written in total.
    pub write_cap_bytes: u64,
}
