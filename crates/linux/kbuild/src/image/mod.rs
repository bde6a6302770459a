//! Writes a card image for a Raspberry Pi: a boot partition and a root partition with BusyBox, created without root
//! privileges.
//!
//! The image is for a first boot and a check; a distribution's card gets the kernel from the package. Without the
//! firmware's files (`--firmware`) it boots only if the firmware is elsewhere: in QEMU, and on boards from the
//! Raspberry Pi 5 on, which have it in their EEPROM.

mod boot;
mod layout;
mod root;

pub use boot::{command_line, read};
pub use root::INIT;

use crate::KbuildError;
use crate::files::{aside, remove_folder};
use crate::package::Stage;
use layout::Layout;
use punctual_kernel::config::of_config;
use punctual_kernel::{Board, BootWay};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Job<'j> {
    pub stage: &'j Stage,
    pub board: &'j Board,
    /// A static BusyBox for the board's architecture.
    pub busybox: PathBuf,
    /// A folder with bootcode.bin, start*.elf, fixup*.dat and overlays/.
    pub firmware: Option<PathBuf>,
    /// A shell script, run as root at each boot.
    pub script: Option<PathBuf>,
    /// Date of the image's files in seconds since 1970.
    pub epoch: u64,
    pub path: PathBuf,
}

/// Drivers that must be built in, because the card has no initramfs; one of each group is needed.
const BUILT_IN: [&[&str]; 4] = [
    &["MMC_BLOCK"],
    &["EXT4_FS"],
    &["DEVTMPFS"],
    &["MMC_BCM2835", "MMC_SDHCI_IPROC", "MMC_BCM2835_SDHOST", "MMC_BCM2835_MMC", "MMC_SDHCI_BRCMSTB"],
];

/// Writes the image, which is complete or absent afterwards. Returns notes for the user.
///
/// # Errors
/// The board does not boot from a Raspberry Pi card, the kernel could not read its root, mke2fs is missing, or the disk
/// is full.
pub fn write(job: &Job, report: &mut dyn FnMut(&str)) -> Result<Vec<String>, KbuildError> {
    if job.board.boot != BootWay::RaspberryPi {
        let said = format!("{} does not boot from a Raspberry Pi card: omit --image", job.board.key);
        return Err(KbuildError::Usage(said));
    }
    bootable(job)?;
    let making = aside(&job.path);
    let scratch = super::files::aside(&job.path.with_extension("root"));
    let done = made(job, &making, &scratch, report);
    remove_folder(&scratch)?;
    if done.is_err() {
        // Removed, because an incomplete image might be written to a card.
        let _ = fs::remove_file(&making);
    }
    let notes = done?;
    fs::rename(&making, &job.path).map_err(KbuildError::file("rename", &making))?;
    Ok(notes)
}

fn made(job: &Job, making: &Path, scratch: &Path, report: &mut dyn FnMut(&str)) -> Result<Vec<String>, KbuildError> {
    report(&format!("writing {}", job.path.display()));
    let layout = Layout::usual();
    let disk = File::options().read(true).write(true).create(true).truncate(true).open(making);
    let disk = disk.map_err(KbuildError::file("make", making))?;
    layout.write(&disk).map_err(KbuildError::file("write", making))?;
    let files = boot::files(job)?;
    let notes = files.notes.clone();
    boot::write(&disk, &layout, &files).map_err(KbuildError::file("write", making))?;
    root::write(job, &layout, making, scratch)?;
    disk.sync_all().map_err(KbuildError::file("write", making))?;
    Ok(notes)
}

fn bootable(job: &Job) -> Result<(), KbuildError> {
    let path = job.stage.root.join(format!("boot/config-{}", job.stage.release));
    let options = of_config(&fs::read_to_string(&path).map_err(KbuildError::file("read", &path))?);
    let built_in = |name: &&str| options.get(*name).is_some_and(|value| value.text() == "y");
    let missing: Vec<String> =
        BUILT_IN.iter().filter(|group| !group.iter().any(&built_in)).map(|g| g.join(" or ")).collect();
    match missing.as_slice() {
        [] => Ok(()),
        missing => {
            let why = format!(
                "the card has no initramfs, but these drivers are not built in: {}; set them to y",
                missing.join(", ")
            );
            Err(KbuildError::bad(&path, why))
        }
    }
}
