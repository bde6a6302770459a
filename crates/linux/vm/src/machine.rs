use crate::arch::Arch;
use crate::error::VmError;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Machine {
    /// A PC, QEMU's q35.
    Pc,
    /// QEMU's own arm64 board.
    VirtArm64,
    Raspi3b,
    Raspi4b,
}

pub(crate) struct Facts {
    pub name: &'static str,
    pub arch: Arch,
    pub emulator: &'static str,
    /// Debian package of the emulator.
    pub package: &'static str,
    /// Oldest QEMU version (major, minor) that emulates the machine well enough.
    pub since: (u32, u32),
    pub arguments: &'static [&'static str],
    pub append: &'static [&'static str],
    /// Number of serial ports before the console.
    pub serial_before: usize,
    /// Number of unconnected serial ports after the console.
    pub serial_after: usize,
    /// Path relative to the folder of device trees in the kernel package.
    pub dtb: Option<&'static str>,
    /// Device-tree nodes that QEMU does not emulate and on which the kernel would wait forever.
    pub disabled_nodes: &'static [&'static str],
    /// The board's fixed memory in MiB; `None` if any size is possible.
    pub memory: Option<u32>,
    pub most_cpus: u32,
    /// True if the board always has the same number of CPUs, so fewer are set with `maxcpus=`.
    pub fixed_cpus: bool,
    /// True if the machine has PCI, and therefore a network card.
    pub pci: bool,
}

const PC: Facts = Facts {
    name: "pc",
    arch: Arch::Amd64,
    emulator: "qemu-system-x86_64",
    package: "qemu-system-x86",
    since: (6, 0),
    // Without the HPET the kernel uses the TSC and the local timer, as on a modern machine.
    arguments: &["-machine", "q35,hpet=off", "-cpu", "max,-rdrand,-rdseed", "-no-reboot"],
    append: &["console=ttyS0,115200"],
    serial_before: 0,
    // ttyS1 is not connected; its UART supports loopback.
    serial_after: 1,
    dtb: None,
    disabled_nodes: &[],
    memory: None,
    most_cpus: 64,
    fixed_cpus: false,
    pci: true,
};

const VIRT_ARM64: Facts = Facts {
    name: "virt-arm64",
    arch: Arch::Arm64,
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    since: (7, 0),
    arguments: &["-machine", "virt,gic-version=3,dtb-randomness=off", "-cpu", "cortex-a72", "-no-reboot"],
    append: &["console=ttyAMA0,115200"],
    serial_before: 0,
    serial_after: 0,
    dtb: None,
    disabled_nodes: &[],
    memory: None,
    most_cpus: 64,
    fixed_cpus: false,
    pci: true,
};

const RASPI3B: Facts = Facts {
    name: "raspi3b",
    arch: Arch::Arm64,
    emulator: "qemu-system-aarch64",
    package: "qemu-system-arm",
    since: (6, 2),
    arguments: &["-machine", "raspi3b", "-no-reboot"],
    // The first serial port belongs to Bluetooth in the board's device tree; the mini UART is the console.
    append: &["console=ttyS1,115200", "8250.nr_uarts=2"],
    serial_before: 1,
    serial_after: 0,
    dtb: Some("broadcom/bcm2837-rpi-3-b.dtb"),
    disabled_nodes: &[],
    memory: Some(1024),
    most_cpus: 4,
    fixed_cpus: true,
    pci: false,
};

const RASPI4B: Facts = Facts {
    name: "raspi4b",
    since: (9, 0),
    arguments: &["-machine", "raspi4b", "-no-reboot"],
    dtb: Some("broadcom/bcm2711-rpi-4-b.dtb"),
    // QEMU's mini UART raises interrupts continuously on this board (17 s of virtual time for what takes 0.3 s on
    // raspi3b), so the console is the other port, from which Bluetooth is removed.
    append: &["console=ttyAMA0,115200"],
    serial_before: 0,
    disabled_nodes: &[
        "/soc/serial@7e201000/bluetooth",
        "/soc/interrupt-controller@7ef00100",
        "/soc/hdmi@7ef00700",
        "/soc/hdmi@7ef05700",
        "/soc/i2c@7ef04500",
        "/soc/i2c@7ef09500",
        "/soc/clock@7ef00000",
    ],
    memory: Some(2048),
    ..RASPI3B
};

impl Machine {
    pub const ALL: [Machine; 4] = [Machine::Pc, Machine::VirtArm64, Machine::Raspi3b, Machine::Raspi4b];

    pub(crate) fn facts(self) -> &'static Facts {
        match self {
            Machine::Pc => &PC,
            Machine::VirtArm64 => &VIRT_ARM64,
            Machine::Raspi3b => &RASPI3B,
            Machine::Raspi4b => &RASPI4B,
        }
    }

    pub fn arch(self) -> Arch {
        self.facts().arch
    }

    pub fn usual(arch: Arch) -> Machine {
        match arch {
            Arch::Amd64 => Machine::Pc,
            Arch::Arm64 => Machine::VirtArm64,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

impl FromStr for Machine {
    type Err = VmError;

    fn from_str(text: &str) -> Result<Machine, VmError> {
        Machine::ALL.into_iter().find(|m| m.facts().name == text).ok_or_else(|| {
            let names: Vec<String> = Machine::ALL.iter().map(Machine::to_string).collect();
            VmError::Usage(format!("no machine `{text}`: choose one of {}", names.join(", ")))
        })
    }
}
