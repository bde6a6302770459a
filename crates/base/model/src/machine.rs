//! The machine as a run was recorded on it, what measuring cost it, and the space that loads may use.

use punctual_units::CpuList;
use serde::{Deserialize, Serialize};

/// The machine in a few lines; the files behind it are in `machine/`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineFacts {
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -v`.
    pub kernel_version: Option<String>,
    /// `uname -m`.
    pub architecture: Option<String>,
    /// Is the kernel fully preemptible?
    pub preempt_rt: Option<bool>,
    /// The active preemption mode: `none`, `voluntary`, `full`, `lazy`, `rt`.
    pub preemption: Option<String>,
    /// Board name (device tree or DMI).
    pub board: Option<String>,
    /// Processor.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus_online: Option<CpuList>,
    /// CPUs taken from the scheduler at boot.
    pub cpus_isolated: Option<CpuList>,
    /// Are two threads of one core in use?
    pub smt_active: Option<bool>,
    /// Frequency governor by policy, for example `performance`.
    pub governors: Option<Vec<String>>,
    /// The clocksource in use.
    pub clocksource: Option<String>,
    /// Hypervisor, or `none`.
    pub virtualisation: Option<String>,
    /// Kernel command line, scrubbed.
    pub cmdline: Option<String>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// The RT throttling settings: `950000/1000000 µs`.
    pub rt_throttling: Option<String>,
    /// Cost of one clock read, ns.
    pub clock_read_ns: Option<f64>,
    /// Distribution name.
    pub os: Option<String>,
}

/// What measuring itself cost the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnCost {
    /// User instructions or nothing: CPU time of the measuring threads, ns.
    pub measuring_cpu_ns: Option<u64>,
    /// Wakeups of the context thread.
    pub context_wakeups: u64,
    /// CPU time of the context thread, ns.
    pub context_cpu_ns: Option<u64>,
    /// CPU the context thread was kept to: `housekeeping CPU 3`, or `shared with the measured CPUs`.
    pub context_cpus: String,
    /// Largest resident memory, bytes.
    pub rss_bytes: Option<u64>,
    /// Locked memory, bytes.
    pub locked_bytes: Option<u64>,
    /// From process start to the first recorded release, ns (without warm-up).
    pub start_to_first_sample_ns: Option<u64>,
}

/// Space the tool may use for scratch files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scratch {
    /// Folder of the scratch file.
    pub folder: String,
    /// Size of the file, bytes.
    pub file_bytes: u64,
    /// Total bytes that may be written.
    pub write_cap_bytes: u64,
}
