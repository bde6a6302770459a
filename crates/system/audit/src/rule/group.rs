use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    Kernel,
    Cmdline,
    Cpu,
    Isolation,
    Sched,
    Rogue,
    Memory,
    Time,
    Trace,
    Watchdog,
    Firmware,
    Virt,
    Permission,
    Power,
    Io,
    Rpi,
    App,
}

impl Group {
    /// Returns true if the group's rules are about the kernel and the machine, not about processes.
    pub(crate) fn is_kernels(self) -> bool {
        use Group::*;
        matches!(self, Kernel | Cmdline | Cpu | Isolation | Watchdog | Firmware | Power | Rpi)
    }

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
