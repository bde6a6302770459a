//! A guest with its own layer over a disk image and its own firmware variables.

use super::host::Firmware;
use super::image::DiskImage;
use super::run::{Ending, Kill, watch};
use super::said::DiskBoot;
use super::steps::{Step, archive};
use crate::error::VmError;
use crate::guest::FileIn;
use crate::machine::Machine;
use crate::qemu::{Qemu, drive, dying_with_us};
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const REMEDY: &str = "install it: apt-get install qemu-utils";

#[derive(Clone, Debug)]
pub struct DiskGuest {
    folder: PathBuf,
    firmware: Firmware,
    pub memory_mib: u32,
    pub cpus: u32,
    /// Time limit of one boot, including the firmware.
    pub limit: Duration,
    /// Programs available to the steps in /run/lab/tools; they leave no trace on the disk.
    pub tools: Vec<FileIn>,
    /// Additional arguments of the emulator: a watchdog, a network card. They are not validated.
    pub devices: Vec<String>,
}

impl DiskGuest {
    /// Creates a guest whose disk is a layer over the image, in an existing empty folder.
    ///
    /// # Errors
    /// qemu-img or the firmware is missing, or the folder cannot be written.
    pub fn new(image: &DiskImage, folder: &Path) -> Result<DiskGuest, VmError> {
        let guest = DiskGuest {
            folder: folder.to_owned(),
            firmware: Firmware::find()?,
            memory_mib: 1024,
            cpus: 1,
            limit: Duration::from_secs(300),
            tools: Vec::new(),
            devices: Vec::new(),
        };
        let base = image.path().display().to_string();
        let mut layer = Command::new("qemu-img");
        layer.args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b", &base]).arg(guest.disk());
        tools::output(&mut layer, REMEDY)?;
        let variables = guest.variables();
        fs::copy(&guest.firmware.variables, &variables).map_err(VmError::file("write", &variables))?;
        Ok(guest)
    }

    /// Creates another guest with a copy of this one's current disk; this one must not be running.
    pub fn copy(&self, folder: &Path) -> Result<DiskGuest, VmError> {
        let other = DiskGuest { folder: folder.to_owned(), ..self.clone() };
        for (from, to) in [(self.disk(), other.disk()), (self.variables(), other.variables())] {
            fs::copy(&from, &to).map_err(VmError::file("write", &to))?;
        }
        Ok(other)
    }

    /// Runs the steps, one boot each. Boots that reached no step (a panic in a trial) are listed in between.
    ///
    /// A reset restarts the emulator with the same disk and variables, because after a reset within QEMU 7.2 the
    /// firmware took 175 s instead of 12 s (probably because of already translated code). The disk's cache is
    /// write-through: data that the guest has synced is safe, everything else is lost in a reset.
    ///
    /// # Errors
    /// The emulator cannot be started, or fails. A hang is an [`Ending`].
    pub fn run(&self, steps: &[Step], kill: Option<&Kill>) -> Result<DiskRun, VmError> {
        let plan = self.folder.join("steps.img");
        fs::write(&plan, archive(steps, &self.tools)?).map_err(VmError::file("write", &plan))?;
        let begun = Instant::now();
        let mut boots = Vec::new();
        // Each step may follow a failed trial boot.
        for _ in 0..=2 * steps.len() {
            let (boot, ending) = self.boot(&plan, kill)?;
            boots.push(boot);
            if let Some(ending) = ending {
                return Ok(DiskRun { boots, ending, lasted: begun.elapsed() });
            }
        }
        Ok(DiskRun { boots, ending: Ending::Looping, lasted: begun.elapsed() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn boot(&self, plan: &Path, kill: Option<&Kill>) -> Result<(DiskBoot, Option<Ending>), VmError> {
        let mut live = self.spawn(plan)?;
        watch(&mut live.child, &live.log, self.limit, kill, &live.complaints)
    }

    pub(super) fn command(&self, plan: &Path, console: &str) -> Result<Command, VmError> {
        // Only reports QEMU if it is missing or too old.
        Qemu::find(Machine::Pc)?;
        let mut command = dying_with_us("qemu-system-x86_64");
        command.args(["-machine", "q35,hpet=off", "-cpu", "max,-rdrand,-rdseed", "-accel", "tcg"]);
        command.args(["-m", &self.memory_mib.to_string(), "-smp", &self.cpus.to_string()]);
        command.args(["-no-reboot", "-nodefaults", "-display", "none", "-monitor", "none", "-nic", "none"]);
        command.args(["-serial", &format!("file:{console}")]);
        let pflash = |path: &Path, more: &str| {
            let file = path.display().to_string().replace(',', ",,");
            ["-drive".to_owned(), format!("if=pflash,format=raw{more},file={file}")]
        };
        command.args(pflash(&self.firmware.code, ",readonly=on"));
        command.args(pflash(&self.variables(), ""));
        command.args(drive("disk", &self.disk(), "qcow2", "writethrough"));
        command.args(["-device", "virtio-blk-pci,drive=disk,bootindex=0"]);
        command.args(drive("steps", plan, "raw", "writethrough"));
        command.args(["-device", "virtio-blk-pci,drive=steps,serial=steps"]);
        command.args(&self.devices);
        Ok(command)
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk.qcow2")
    }

    fn variables(&self) -> PathBuf {
        self.folder.join("variables.fd")
    }
}

#[derive(Clone, Debug)]
pub struct DiskRun {
    pub boots: Vec<DiskBoot>,
    pub ending: Ending,
    /// Time from the start of the emulator to its end.
    pub lasted: Duration,
}
