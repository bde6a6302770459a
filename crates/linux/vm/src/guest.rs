use crate::error::VmError;
use crate::kernel::Kernel;
use crate::machine::Machine;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The host's clock: the guest's measurements depend on the load of the host.
    Real,
    /// One instruction takes 2^shift ns, and idle time passes immediately (QEMU's `-icount shift=N,sleep=off`): the
    /// same boot gives the same bytes. This model has neither caches nor firmware interrupts.
    Virtual {
        /// Exponent of the virtual duration of an instruction, which is 2^shift ns (QEMU's `-icount shift`), 0 to 10.
        shift: u8,
    },
}

/// Returns the shift at which a guest runs `mips` million instructions per second.
///
/// # Errors
/// The value is not one that QEMU supports: 1000, 500, 250, 125, …
pub fn shift_of_mips(mips: f64) -> Result<u8, VmError> {
    let shift = (1000.0 / mips).log2().round();
    let near = 1000.0 / shift.exp2();
    if (0.0..=10.0).contains(&shift) && (near - mips).abs() < 0.01 * near {
        return Ok(shift as u8);
    }
    let list = "1000, 500, 250, 125, 62.5, 31.25, … (one instruction takes 1, 2, 4, 8, … ns)";
    Err(VmError::Usage(format!("{mips} million instructions per second cannot be emulated: choose {list}")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    None,
    /// An ext4 file system at /scratch on a block device in the guest's own memory, which responds after 500 µs of the
    /// guest's time (null_blk). With a disk of the host, the guest would depend on the host's timing.
    Memory {
        /// Size in MiB; memory is allocated as it is written.
        mib: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIn {
    /// Absolute path in the guest.
    pub path: String,
    pub mode: u32,
    pub content: Vec<u8>,
}

/// A TCP port of the host's loopback, forwarded to a port of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// A port on the host's 127.0.0.1.
    pub host: u16,
    pub guest: u16,
}

#[derive(Clone, Debug)]
pub struct Guest {
    pub machine: Machine,
    pub kernel: Kernel,
    pub cpus: u32,
    /// Memory in MiB; ignored if the board has a fixed size.
    pub memory_mib: u32,
    pub clock: Clock,
    pub hostname: String,
    pub files: Vec<FileIn>,
    /// A shell script (BusyBox) that runs as root with /bin in its path; its exit code is the guest's exit code.
    pub script: String,
    /// Paths to fetch, if they exist.
    pub fetch: Vec<String>,
    pub disk: Disk,
    /// Raw disk images, writable: /dev/vda and so on, once the modules virtio_pci and virtio_blk are loaded.
    pub images: Vec<PathBuf>,
    /// An empty file to which the writes and flushes of the first image are logged, in order, as dm-log-writes does
    /// (Documentation/admin-guide/device-mapper/log-writes.rst, QEMU's blklogwrites). Without this file, flushes are
    /// ignored.
    pub write_log: Option<PathBuf>,
    /// A static BusyBox; `None` to use the distribution's package.
    pub busybox: Option<PathBuf>,
    /// Kernel modules to load in addition to those for the disk and the network.
    pub modules: Vec<String>,
    /// Words added to the kernel's command line.
    pub append: Vec<String>,
    /// QEMU devices to add (`-device`, qemu(1)), if the machine has PCI, for example `edu`.
    pub devices: Vec<String>,
    pub forwards: Vec<Forward>,
    /// Time limit from the start of QEMU to the end of the script.
    pub limit: Duration,
    /// Logs the console to this file instead of memory.
    pub log: Option<PathBuf>,
}

impl Guest {
    /// Creates a guest with one CPU, 512 MiB, real time, nothing but `script`, and a limit of two minutes.
    pub fn new(machine: Machine, kernel: Kernel, script: impl Into<String>) -> Guest {
        Guest {
            machine,
            kernel,
            cpus: 1,
            memory_mib: 512,
            clock: Clock::Real,
            hostname: "lab".into(),
            files: Vec::new(),
            script: script.into(),
            fetch: Vec::new(),
            disk: Disk::None,
            images: Vec::new(),
            write_log: None,
            busybox: None,
            modules: Vec::new(),
            append: Vec::new(),
            devices: Vec::new(),
            forwards: Vec::new(),
            limit: Duration::from_secs(120),
            log: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), VmError> {
        let facts = self.machine.facts();
        let usage = |text: String| Err(VmError::Usage(text));
        if self.kernel.arch != facts.arch {
            let (name, arch) = (&self.kernel.name, self.kernel.arch);
            return usage(format!("the kernel {name} is for {arch}, the machine {} is {}", self.machine, facts.arch));
        }
        if self.cpus == 0 || self.cpus > facts.most_cpus {
            return usage(format!("{} CPUs: the machine {} has 1 to {}", self.cpus, self.machine, facts.most_cpus));
        }
        if !(64..=65_536).contains(&self.memory_mib) {
            return usage(format!("{} MiB of memory: choose 64 to 65536", self.memory_mib));
        }
        if !self.images.is_empty() && !facts.pci {
            return usage(format!("the machine {} has no virtio disks in QEMU: use pc or virt-arm64", self.machine));
        }
        if !self.devices.is_empty() && !facts.pci {
            return usage(format!("the machine {} has no PCI for other devices: use pc or virt-arm64", self.machine));
        }
        if !self.forwards.is_empty() && !facts.pci {
            return usage(format!("the machine {} has no network card in QEMU: use pc or virt-arm64", self.machine));
        }
        if let Some(path) = self.files.iter().map(|f| &f.path).chain(&self.fetch).find(|p| !is_plain(p)) {
            return usage(format!("`{path}` is not an absolute path without `..` and spaces"));
        }
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.hostname.is_empty() || !self.hostname.chars().all(safe) {
            return usage(format!("`{}` is not a host name", self.hostname));
        }
        Ok(())
    }
}

/// Returns true for an absolute path without `..` and without anything a shell would split or expand.
pub(crate) fn is_plain(path: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    path.starts_with('/') && path.len() > 1 && path.chars().all(safe) && !path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_powers_of_two() {
        assert_eq!(shift_of_mips(1000.0).unwrap(), 0);
        assert_eq!(shift_of_mips(125.0).unwrap(), 3);
        assert_eq!(shift_of_mips(62.5).unwrap(), 4);
        for bad in [0.0, -1.0, 800.0, 2000.0, f64::NAN, f64::INFINITY] {
            assert!(shift_of_mips(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_plain() {
        assert!(is_plain("/run/a-b_1.txt"));
        for bad in ["", "/", "run", "/a/../b", "/a b", "/a$b", "/a;b"] {
            assert!(!is_plain(bad), "{bad}");
        }
    }
}
