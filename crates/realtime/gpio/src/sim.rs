//! Simulated chips, for tests and development: gpio-sim (Documentation/admin-guide/gpio/gpio-sim.rst, CONFIG_GPIO_SIM).
//! They are created through configfs and removed when the [`SimChip`] is dropped. Needs root. Debian's kernels lack
//! gpio-sim: see docs/gpio-kernel.md.

use crate::chip::Chip;
use crate::error::GpioError;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The usual mount point of configfs.
const CONFIGFS: &str = "/sys/kernel/config";
const HINT: &str = "it needs root, a kernel with CONFIG_GPIO_SIM (modprobe gpio-sim) and configfs (mount -t configfs none /sys/kernel/config)";

/// A simulated chip. Dropping it removes it from the kernel; reading a line of it that is still open then fails.
#[derive(Debug)]
pub struct SimChip {
    device: PathBuf,
    lines: u32,
    live: bool,
    sysfs: PathBuf,
    pulls: Vec<File>,
    node: PathBuf,
}

impl SimChip {
    /// Creates a chip with one line per entry of `names` (an empty string creates a line without a name). `name` is the
    /// name of its folder in configfs.
    ///
    /// # Errors
    /// gpio-sim or configfs is missing, the caller is not root, or a chip of this name exists. A partially created chip
    /// is removed again.
    pub fn new(name: &str, names: &[&str]) -> Result<SimChip, GpioError> {
        let device = Path::new(CONFIGFS).join("gpio-sim").join(name);
        make(&device)?;
        let lines = names.len() as u32;
        // From here on Drop cleans up.
        let (sysfs, node) = (PathBuf::new(), PathBuf::new());
        let mut chip = SimChip { device, lines, live: false, sysfs, pulls: Vec::new(), node };
        chip.configure(names)?;
        put(&chip.device.join("live"), "1")?;
        chip.live = true;
        let device_name = get(&chip.device.join("dev_name"))?;
        let chip_name = get(&chip.bank().join("chip_name"))?;
        chip.sysfs = Path::new("/sys/devices/platform").join(device_name).join(&chip_name);
        chip.node = Path::new("/dev").join(chip_name);
        for offset in 0..lines {
            let path = chip.sysfs.join(format!("sim_gpio{offset}/pull"));
            let file = File::options().write(true).open(&path);
            chip.pulls.push(file.map_err(failed("open", &path))?);
        }
        Ok(chip)
    }

    fn configure(&self, names: &[&str]) -> Result<(), GpioError> {
        let bank = self.bank();
        make(&bank)?;
        put(&bank.join("num_lines"), &self.lines.to_string())?;
        for (offset, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let line = bank.join(format!("line{offset}"));
            make(&line)?;
            put(&line.join("name"), name)?;
        }
        Ok(())
    }

    fn bank(&self) -> PathBuf {
        self.device.join("bank0")
    }

    /// Returns the path of the chip's device.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Opens the chip's device.
    ///
    /// # Errors
    /// The device is missing in /dev, which needs devtmpfs or udev.
    pub fn open(&self) -> Result<Chip, GpioError> {
        Chip::open(&self.node)
    }

    /// Pulls a line up or down with one pwrite(2). This is an edge if it changes the level and no program drives the
    /// line. The interrupt is raised on this CPU before the call returns (irq_work; drivers/gpio/gpio-sim.c,
    /// kernel/irq/irq_sim.c).
    ///
    /// # Errors
    /// There is no such line, or the write failed.
    pub fn pull(&self, offset: u32, up: bool) -> Result<(), GpioError> {
        let none = || GpioError::Usage(format!("the simulated chip has no line {offset}: it has {}", self.lines));
        let file = self.pulls.get(offset as usize).ok_or_else(none)?;
        let word: &[u8] = if up { b"pull-up" } else { b"pull-down" };
        let path = || self.sysfs.join(format!("sim_gpio{offset}/pull"));
        file.write_all_at(word, 0).map_err(|e| failed("write", &path())(e))
    }

    /// Returns the level of a line: the value to which a program drives it, or, if none does, its simulated pull.
    ///
    /// # Errors
    /// There is no such line, or its value cannot be read.
    pub fn value(&self, offset: u32) -> Result<bool, GpioError> {
        Ok(get(&self.sysfs.join(format!("sim_gpio{offset}/value")))? == "1")
    }
}

impl Drop for SimChip {
    /// Removes the chip. Errors are ignored, since they cannot be reported here; a folder that remains in configfs
    /// shows that one occurred.
    fn drop(&mut self) {
        self.pulls.clear();
        if self.live {
            let _ = fs::write(self.device.join("live"), "0");
        }
        let bank = self.bank();
        for offset in 0..self.lines {
            let _ = fs::remove_dir(bank.join(format!("line{offset}")));
        }
        let _ = fs::remove_dir(&bank);
        let _ = fs::remove_dir(&self.device);
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GpioError {
    let path = path.to_owned();
    move |source| GpioError::Sim { what, path, source, hint: HINT }
}

fn make(path: &Path) -> Result<(), GpioError> {
    fs::create_dir(path).map_err(failed("make", path))
}

fn put(path: &Path, text: &str) -> Result<(), GpioError> {
    fs::write(path, text).map_err(failed("write", path))
}

fn get(path: &Path) -> Result<String, GpioError> {
    Ok(fs::read_to_string(path).map_err(failed("read", path))?.trim().to_owned())
}
