use punctual_model::{Claim, VirtualTime};
use punctual_units::{Nanos, Priority};
use punctual_vm::{Clock, Kernel, Machine, Qemu};
use std::path::PathBuf;
use std::time::Duration;

/// All parameters of a proof except its seed.
#[derive(Clone, Debug)]
pub struct LabOptions {
    pub kernel: Kernel,
    pub machine: Machine,
    /// The `punctual` program, built statically for the machine.
    pub program: Vec<u8>,
    /// One instruction takes 2^shift ns.
    pub shift: u8,
    /// Number of virtual CPUs; with more than one, the control measurements are added.
    pub cpus: u32,
    pub memory_mib: u32,
    /// Total measurement time on the guest's clock.
    pub duration: Nanos,
    /// Duration of the warm-up in each phase; nothing is recorded during that time.
    pub warmup: Nanos,
    /// Period of the measuring threads.
    pub period: Nanos,
    pub priority: Option<Priority>,
    /// The load of each phase; the seed decides their order.
    pub loads: Vec<String>,
    pub claims: Vec<Claim>,
    pub deadline: Option<Nanos>,
    /// Words added to the kernel's command line.
    pub append: Vec<String>,
    /// A static BusyBox for the guest; `None` to use the distribution's.
    pub busybox: Option<PathBuf>,
    /// Time limit of a boot on the host's clock.
    pub limit: Duration,
}

impl LabOptions {
    /// Creates options with the defaults: one CPU at 500 million instructions per second (2 ns each: about the speed of
    /// a Cortex-A72 in kernel code), 2 s of measurement, a period of 1 ms.
    pub fn new(kernel: Kernel, machine: Machine, program: Vec<u8>, loads: Vec<String>) -> LabOptions {
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
            loads,
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

    /// Returns the clock model, shown in every output of the run.
    pub(crate) fn model(&self, seed: u64, qemu: &Qemu) -> VirtualTime {
        VirtualTime {
            emulator: format!("QEMU {}", qemu.version),
            machine: self.machine.to_string(),
            kernel: self.kernel.release.clone().unwrap_or_else(|| self.kernel.name.clone()),
            instruction_ns: 1 << self.shift.min(30),
            cpus: self.cpus,
            seed,
        }
    }
}
