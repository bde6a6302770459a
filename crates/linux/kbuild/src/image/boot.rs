//! The partition from which the firmware boots: FAT, with config.txt, cmdline.txt, the kernel and the device trees.

use super::Job;
use super::layout::{Layout, SECTOR, root_name};
use crate::KbuildError;
use crate::files::below;
use crate::package::is_of_board;
use fatfs::{Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Model filters of config.txt, and the device tree to set with device_tree= in each: mainline names the files
/// differently from what the firmware looks for. Later sections override earlier ones (https://www.raspberrypi.com/documentation/computers/config_txt.html#model-filters).
const MAINLINE: [(&str, &str); 9] = [
    ("pi3", "bcm2837-rpi-3-b.dtb"),
    ("pi3+", "bcm2837-rpi-3-b-plus.dtb"),
    ("pi02", "bcm2837-rpi-zero-2-w.dtb"),
    ("cm3", "bcm2837-rpi-cm3-io3.dtb"),
    ("pi4", "bcm2711-rpi-4-b.dtb"),
    ("pi400", "bcm2711-rpi-400.dtb"),
    ("cm4", "bcm2711-rpi-cm4-io.dtb"),
    ("pi5", "bcm2712-rpi-5-b.dtb"),
    ("pi2", "bcm2836-rpi-2-b.dtb"),
];
/// Firmware files that boards before the Raspberry Pi 5 need on the card.
const FIRMWARE: [&str; 6] = ["bootcode.bin", "start.elf", "fixup.dat", "start4.elf", "fixup4.dat", "overlays/README"];

/// Contents of the boot partition's files by name, and messages for the user.
pub struct Files {
    pub all: BTreeMap<String, Vec<u8>>,
    pub notes: Vec<String>,
}

/// Returns the kernel command line, with a serial console.
pub fn command_line() -> String {
    format!("console=serial0,115200 console=tty1 root={} rootfstype=ext4 rootwait fsck.repair=no", root_name())
}

pub fn files(job: &Job) -> Result<Files, KbuildError> {
    let release = &job.stage.release;
    let mut all = BTreeMap::new();
    let mut notes = Vec::new();
    let read = |path: &Path| fs::read(path).map_err(KbuildError::file("read", path));
    let names =
        job.board.pi.as_ref().ok_or_else(|| KbuildError::Usage(format!("{} has no image name", job.board.key)))?;
    all.insert(names.image.clone(), read(&job.stage.root.join(format!("boot/vmlinuz-{release}")))?);
    let folder = job.stage.root.join(format!("usr/lib/linux-image-{release}"));
    let mut trees = Vec::new();
    for path in below_or_none(&folder)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = match path.starts_with("overlays") {
            true => format!("overlays/{file}"),
            false if is_of_board(&path, job.board) => file,
            false => continue,
        };
        if !name.starts_with("overlays/") {
            trees.push(name.clone());
        }
        all.insert(name, read(&folder.join(&path))?);
    }
    if trees.is_empty() {
        let why = format!(
            "no device tree for {} was found: build `dtbs` with the options of its architecture",
            job.board.key
        );
        return Err(KbuildError::bad(&folder, why));
    }
    match &job.firmware {
        Some(firmware) => add_firmware(firmware, &mut all)?,
        None => notes.push(
            "it lacks the firmware's files, which boards before the Raspberry Pi 5 need: --firmware DIR (Debian: package \
             raspi-firmware, folder /usr/lib/raspi-firmware)"
                .to_owned(),
        ),
    }
    all.insert("config.txt".to_owned(), config(job, &names.image, &trees).into_bytes());
    all.insert("cmdline.txt".to_owned(), (command_line() + "\n").into_bytes());
    Ok(Files { all, notes })
}

fn below_or_none(folder: &Path) -> Result<Vec<std::path::PathBuf>, KbuildError> {
    if folder.is_dir() { below(folder) } else { Ok(Vec::new()) }
}

fn add_firmware(folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) -> Result<(), KbuildError> {
    let is_firmware = |path: &Path| {
        let name = path.display().to_string();
        let ends = [".elf", ".dat", ".bin", ".dtbo"];
        FIRMWARE.contains(&name.as_str()) || ends.iter().any(|end| name.ends_with(end))
    };
    let found: Vec<_> = below_or_none(folder)?.into_iter().filter(|path| is_firmware(path)).collect();
    if !found.iter().any(|path| path.extension().is_some_and(|end| end == "elf")) {
        let why = "it contains no start*.elf: give the folder of the firmware with --firmware, or omit the option";
        return Err(KbuildError::bad(folder, why));
    }
    for path in found {
        let whole = folder.join(&path);
        let bytes = fs::read(&whole).map_err(KbuildError::file("read", &whole))?;
        // Files built with the kernel take precedence.
        all.entry(path.display().to_string()).or_insert(bytes);
    }
    Ok(())
}

fn config(job: &Job, image: &str, trees: &[String]) -> String {
    let mut text = format!("# {} by punctual\n", job.stage.release);
    if job.board.machines.iter().any(|machine| machine == "aarch64") {
        text += "arm_64bit=1\n";
    }
    text += &format!("kernel={image}\nenable_uart=1\n");
    for (model, tree) in MAINLINE.iter().filter(|(_, tree)| trees.iter().any(|name| name == tree)) {
        text += &format!("\n[{model}]\ndevice_tree={tree}\n");
    }
    text + "\n[all]\n"
}

pub fn write(disk: &File, layout: &Layout, files: &Files) -> io::Result<()> {
    let part = || Part { disk, start: layout.boot, length: layout.root - layout.boot, at: 0 };
    let options = FormatVolumeOptions::new()
        .fat_type(FatType::Fat32)
        .bytes_per_cluster(SECTOR as u32)
        .volume_id(0x7075_6e63)
        .volume_label(*b"BOOT       ");
    fatfs::format_volume(part(), options)?;
    let system = FileSystem::new(part(), FsOptions::new().time_provider(&FIRST_DAY))?;
    for (name, bytes) in &files.all {
        let mut folder = system.root_dir();
        let mut words: Vec<&str> = name.split('/').collect();
        let file = words.pop().unwrap_or_default();
        for word in words {
            folder = folder.create_dir(word)?;
        }
        let mut file = folder.create_file(file)?;
        file.write_all(bytes)?;
        file.flush()?;
    }
    system.unmount()
}

/// Reads a file of an image's first partition.
///
/// # Errors
/// The image has no such partition or file.
pub fn read(image: &Path, name: &str) -> Result<Vec<u8>, KbuildError> {
    let disk = File::open(image).map_err(KbuildError::file("read", image))?;
    let layout = Layout::usual();
    let part = Part { disk: &disk, start: layout.boot, length: layout.root - layout.boot, at: 0 };
    let content = |part| -> io::Result<Vec<u8>> {
        let system = FileSystem::new(part, FsOptions::new().update_accessed_date(false))?;
        let mut bytes = Vec::new();
        system.root_dir().open_file(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    content(part).map_err(KbuildError::file("read", format!("{} of {}", name, image.display())))
}

/// The first day of FAT's calendar, so that the same files give the same file system.
#[derive(Debug)]
struct FirstDay;

static FIRST_DAY: FirstDay = FirstDay;

impl TimeProvider for FirstDay {
    fn get_current_date(&self) -> Date {
        Date { year: 1980, month: 1, day: 1 }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: self.get_current_date(), time: Time { hour: 0, min: 0, sec: 0, millis: 0 } }
    }
}

struct Part<'d> {
    disk: &'d File,
    start: u64,
    length: u64,
    at: u64,
}

impl Part<'_> {
    fn room(&self, wanted: usize) -> usize {
        wanted.min(usize::try_from(self.length.saturating_sub(self.at)).unwrap_or(usize::MAX))
    }
}

impl Read for Part<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let room = self.room(bytes.len());
        let read = std::os::unix::fs::FileExt::read_at(self.disk, &mut bytes[..room], self.start + self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Write for Part<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room(bytes.len());
        let written = std::os::unix::fs::FileExt::write_at(self.disk, &bytes[..room], self.start + self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Part<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
