//! Opens GPIO chips, and finds lines by name.

use crate::error::GpioError;
use punctual_uapi::gpio::{self, ChipInfo, LineInfo, LineRequest, USED};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs;
use std::path::{Path, PathBuf};

/// An open GPIO chip.
#[derive(Debug)]
pub struct Chip {
    fd: OwnedFd,
    path: PathBuf,
    info: ChipInfo,
}

/// A line found by name.
#[derive(Debug)]
pub struct LineAt {
    /// The chip of the line.
    pub chip: Chip,
    /// Offset of the line on its chip.
    pub offset: u32,
}

impl Chip {
    /// Opens the device of a chip, for example `/dev/gpiochip0`.
    ///
    /// # Errors
    /// The device does not exist, cannot be opened, or is not a GPIO chip.
    pub fn open(path: &Path) -> Result<Chip, GpioError> {
        let failed = |errno: Errno| GpioError::Open { path: path.to_owned(), source: errno.into() };
        // Without O_NONBLOCK, opening a FIFO at this path would block.
        let fd = open(path, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()).map_err(failed)?;
        let info = gpio::chip_info(&fd);
        let info = info.map_err(|e| GpioError::Open { path: path.to_owned(), source: e.source })?;
        Ok(Chip { fd, path: path.to_owned(), info })
    }

    /// Finds and opens a chip by device, name or label.
    ///
    /// # Errors
    /// No chip matches, or it cannot be opened.
    pub fn find(wanted: &str) -> Result<Chip, GpioError> {
        if wanted.starts_with('/') {
            return Chip::open(Path::new(wanted));
        }
        let (mut names, mut refused) = (Vec::new(), None);
        for path in devices(Path::new("/dev")) {
            match Chip::open(&path) {
                Ok(chip) if chip.info.name == wanted || chip.info.label == wanted => return Ok(chip),
                Ok(chip) => names.push(format!("{} ({})", chip.info.name, chip.info.label)),
                Err(e) => refused = refused.or(Some(e)),
            }
        }
        let none = || GpioError::NoChip { wanted: wanted.to_owned(), there: list(&names) };
        Err(refused.unwrap_or_else(none))
    }

    /// Returns the name, label and number of lines of the chip.
    pub fn info(&self) -> &ChipInfo {
        &self.info
    }

    /// Returns the path of the chip's device.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kernel's information on a line.
    ///
    /// # Errors
    /// There is no such line, or the chip was removed.
    pub fn line(&self, offset: u32) -> Result<LineInfo, GpioError> {
        self.has(offset)?;
        gpio::line_info(&self.fd, offset).map_err(|e| GpioError::of_call(offset, e))
    }

    /// Returns the kernel's information on all lines.
    ///
    /// # Errors
    /// The chip was removed.
    pub fn lines(&self) -> Result<Vec<LineInfo>, GpioError> {
        (0..self.info.lines).map(|offset| self.line(offset)).collect()
    }

    pub(crate) fn request(&self, wanted: &LineRequest<'_>) -> Result<OwnedFd, GpioError> {
        self.has(wanted.offset)?;
        let (chip, offset) = (self.info.name.clone(), wanted.offset);
        gpio::request(&self.fd, wanted).map_err(|e| match e.errno().map(Errno::from_raw_os_error) {
            Some(Errno::BUSY) => GpioError::Busy { chip, offset, consumer: self.consumer(offset) },
            Some(Errno::NXIO | Errno::OPNOTSUPP) => GpioError::NoInterrupt { chip, offset, source: e },
            _ => GpioError::of_call(offset, e),
        })
    }

    fn has(&self, offset: u32) -> Result<(), GpioError> {
        if offset < self.info.lines {
            return Ok(());
        }
        let ChipInfo { name, lines, .. } = &self.info;
        Err(GpioError::Usage(format!("{name} has no line {offset}: it has {lines}, starting at 0")))
    }

    fn consumer(&self, offset: u32) -> String {
        match self.line(offset) {
            Ok(info) if info.flags & USED != 0 && !info.consumer.is_empty() => format!("`{}`", info.consumer),
            _ => "the kernel, or a program that gave no name".into(),
        }
    }
}

/// Opens all chips that the caller may access, ordered by number.
///
/// # Errors
/// The first error, if there are chips but none can be opened.
pub fn chips() -> Result<Vec<Chip>, GpioError> {
    let paths = devices(Path::new("/dev"));
    let (mut found, mut refused) = (Vec::new(), None);
    for path in paths {
        match Chip::open(&path) {
            Ok(chip) => found.push(chip),
            Err(e) => refused = refused.or(Some(e)),
        }
    }
    match refused {
        Some(e) if found.is_empty() => Err(e),
        _ => Ok(found),
    }
}

/// Finds a line by name on any chip.
///
/// # Errors
/// No line has that name, or several have it: the kernel does not enforce unique names (gpio_name_to_desc,
/// drivers/gpio/gpiolib.c).
pub fn find_line(name: &str) -> Result<LineAt, GpioError> {
    let (mut found, mut names): (Vec<LineAt>, Vec<String>) = (Vec::new(), Vec::new());
    for chip in chips()? {
        names.push(chip.info.name.clone());
        let line = chip.lines()?.into_iter().find(|line| !name.is_empty() && line.name == name);
        found.extend(line.map(|line| LineAt { chip, offset: line.offset }));
    }
    if let [first, second, ..] = found.as_slice() {
        let (a, b) = (&first.chip.info.name, &second.chip.info.name);
        return Err(GpioError::Usage(format!(
            "{a} and {b} both have a line named `{name}`: give chip and offset instead"
        )));
    }
    found.pop().ok_or_else(|| GpioError::NoLine { wanted: name.to_owned(), on: list(&names) })
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Returns the devices named gpiochipN below `dev`, ordered by number.
fn devices(dev: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dev).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("gpiochip")?.parse().ok()?;
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["gpiochip10", "gpiochip2", "gpiochip", "gpiochipx", "gpio0"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = devices(folder.path());
        let names: Vec<_> = found.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["gpiochip2", "gpiochip10"]);
        assert!(devices(Path::new("/nowhere")).is_empty());
    }

    #[test]
    fn what_is_no_chip_is_said_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gpiochip0");
        let missing = Chip::open(&file).unwrap_err().to_string();
        assert!(missing.contains("gpiochip0") && missing.contains("list the chips"), "{missing}");
        fs::write(&file, "").unwrap();
        let text = Chip::find(file.to_str().unwrap()).unwrap_err().to_string();
        assert!(text.contains("check that it is a GPIO chip"), "{text}");
    }
}
