//! The chapters.

use serde::{Deserialize, Serialize};

/// Chapters of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// How the kernel was built, and which it is.
    Kernel,
    /// Its parameters.
    Cmdline,
    /// Threads of a core, frequency, idle, heat.
    Cpu,
    /// Isolated CPUs, interrupts, the kernel's own work.
    Isolation,
    /// Scheduler and throttling.
    Sched,
    /// Other real-time tasks and daemons.
    Rogue,
    /// Memory.
    Memory,
    /// Timers and clocks.
    Time,
    /// Tracing and debugging left on.
    Trace,
    /// Watchdogs.
    Watchdog,
    /// Firmware.
    Firmware,
    /// Hypervisors and containers.
    Virt,
    /// What the user may do.
    Permission,
    /// Power saving of buses and devices.
    Power,
    /// Storage and network.
    Io,
    /// Raspberry Pi.
    Rpi,
    /// The application itself.
    App,
}

impl Group {
    /// The chapter's heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Kernel => "Kernel build and identity",
            Group::Cmdline => "Boot command line",
            Group::Cpu => "CPU: SMT, frequency, idle, thermal",
            Group::Isolation => "Isolation, IRQ affinity, kernel housekeeping",
            Group::Sched => "Scheduler and throttling",
            Group::Rogue => "Rogue real-time tasks and daemons",
            Group::Memory => "Memory",
            Group::Time => "Timers and clocksource",
            Group::Trace => "Tracing and debug leftovers",
            Group::Watchdog => "Watchdogs",
            Group::Firmware => "Firmware, SMI, lockdown",
            Group::Virt => "Virtualization and containers",
            Group::Permission => "Permissions",
            Group::Power => "Power management of buses and devices",
            Group::Io => "Storage and network",
            Group::Rpi => "Raspberry Pi",
            Group::App => "The application (given PID or unit)",
        }
    }
}
