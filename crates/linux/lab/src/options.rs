//! What may be chosen about a proof in the lab.

use punctual_model::{Claim, VirtualTime};
use punctual_units::{Nanos, Priority};
use punctual_vm::{Clock, Kernel, Machine, Qemu, VmError};
use std::path::PathBuf;
use std::time::Duration;

/// The loads of a proof in the lab: those of `prove`.
pub const LAB_LOADS: [&str; 8] = ["idle", "cpu", "memory", "io", "loopback", "scheduler", "timers", "all"];

/// Everything about a proof but its seed.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The kernel.
    pub kernel: Kernel,
    /// The machine it boots on.
    pub machine: Machine,
    /// `punctual`, built statically for the machine.
    pub program: Vec<u8>,
    /// One instruction takes 2^shift ns.
    pub shift: u8,
    /// Virtual CPUs; more than one adds the control.
    pub cpus: u32,
    /// MiB.
    pub memory_mib: u32,
    /// Total measuring time, of the guest's clock.
    pub duration: Nanos,
    /// Time before recording, in each phase.
    pub warmup: Nanos,
    /// Period of the measuring threads.
    pub period: Nanos,
    /// Their priority.
    pub priority: Option<Priority>,
    /// One phase each; the seed decides their order.
    pub loads: Vec<String>,
    /// What must hold.
    pub claims: Vec<Claim>,
    /// The deadline, where one was given.
    pub deadline: Option<Nanos>,
    /// Added to the kernel's command line.
    pub append: Vec<String>,
    /// A static BusyBox for the guest; `None`: the distribution's.
    pub busybox: Option<PathBuf>,
    /// The most a boot may take on the host's clock.
    pub limit: Duration,
}

impl LabOptions {
    /// The defaults: one CPU at 500 million instructions a second (2 ns each: about a Cortex-A72 in kernel code), 2 s under the usual loads, 1 ms period.
    pub fn new(kernel: Kernel, machine: Machine, program: Vec<u8>) -> LabOptions {
        LabOptions {
            kernel,
            machine,
            program,
            shift: 1,
            cpus: 1,
            memory_mib: 512,
            duration: Nanos::from_secs(2),
            warmup: Nanos::from_millis(20),
            period: Nanos::from_millis(1),
            priority: None,
            loads: LAB_LOADS.map(String::from).to_vec(),
            claims: vec![Claim::none_missed()],
            deadline: None,
            append: Vec::new(),
            busybox: None,
            limit: Duration::from_secs(300),
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::Virtual { shift: self.shift }
    }

    /// The clock model that every format of the run shows.
    pub(crate) fn model(&self, seed: u64) -> Result<VirtualTime, VmError> {
        let qemu = Qemu::find(self.machine)?;
        Ok(VirtualTime {
            emulator: format!("QEMU {}", qemu.version),
            machine: self.machine.to_string(),
            kernel: self.kernel.release.clone().unwrap_or_else(|| self.kernel.name.clone()),
            instruction_ns: 1 << self.shift.min(30),
            cpus: self.cpus,
            seed,
        })
    }
}
