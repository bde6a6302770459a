//! Identifies the disk of a directory, and limits the amount written to it.

use crate::LoadError;
use crate::counter::{Counter, Source};
use crate::mounts::Mount;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

const LARGEST: u64 = 64 * MIB;
const SMALLEST: u64 = MIB;

/// Returns the size of a scratch file if `free` of `total` bytes are free: at most 64 MiB and 5 % of the free space.
///
/// 5 % of the file system, but at least 64 MiB and at most 1 GiB, stay free.
pub(crate) fn scratch_size(folder: &Path, free: u64, total: u64) -> Result<u64, LoadError> {
    let kept = (total / 20).clamp(64 * MIB, 1024 * MIB);
    let size = (free / 20).min(LARGEST).min(free.saturating_sub(kept));
    if size >= SMALLEST {
        return Ok(size / SMALLEST * SMALLEST);
    }
    Err(LoadError::Refused(format!(
        "{} has only {} of {} MiB free, and {} MiB must stay free: free space (`df -h`) or choose another \
         folder with --scratch DIR",
        folder.display(),
        free / MIB,
        total / MIB,
        kept / MIB,
    )))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    Device(u32, u32),
    /// The directory is on a block device that cannot be identified; the text describes it.
    Unclear(String),
    Elsewhere(String),
}

/// Returns the disk that contains a file with this st_dev. `device_of` returns the number of the device that a device
/// node represents, or otherwise of the device that contains the path.
pub(crate) fn disk_of(
    device: (u32, u32),
    mounts: &[Mount],
    known: impl Fn((u32, u32)) -> bool,
    device_of: impl Fn(&str) -> Option<(u32, u32)>,
) -> Disk {
    if known(device) {
        return Disk::Device(device.0, device.1);
    }
    let Some(mount) = mounts.iter().rfind(|m| m.device == device) else {
        return Disk::Unclear("an unknown filesystem".into());
    };
    let kind = mount.kind.as_str();
    if ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"].contains(&kind) {
        return Disk::Elsewhere(format!("{kind}, which is memory"));
    }
    if kind.starts_with("nfs")
        || kind.starts_with("fuse.")
        || ["cifs", "smb3", "9p", "virtiofs", "ceph", "afs"].contains(&kind)
    {
        return Disk::Elsewhere(format!("{kind}, which is not a disk of this machine"));
    }
    let upper = mount.options.split(',').find_map(|o| o.strip_prefix("upperdir="));
    let below = upper.or(mount.source.starts_with("/dev/").then_some(mount.source.as_str()));
    match below.and_then(device_of).filter(|d| known(*d)) {
        Some((major, minor)) => Disk::Device(major, minor),
        None => Disk::Unclear(kind.into()),
    }
}

/// Describes the disk of a directory, for example `ext4 on vda1`.
///
/// # Errors
/// The directory is not on a disk of this machine (the text states where), or cannot be read.
pub fn storage(folder: &Path) -> Result<String, String> {
    let meta = std::fs::metadata(folder).map_err(|e| e.to_string())?;
    let (device, mounts) = (numbers(meta.dev()), crate::mounts::own());
    let kind = mounts.iter().rfind(|m| m.device == device).map_or("an unknown filesystem", |m| m.kind.as_str());
    match disk_of(device, &mounts, is_counted, device_of) {
        Disk::Device(major, minor) => Ok(format!("{kind} on {}", name((major, minor)))),
        Disk::Unclear(_) => Ok(format!("{kind}, on an unknown disk")),
        Disk::Elsewhere(what) => Err(what),
    }
}

/// Returns the number of the device that a device node represents, or otherwise of the device that contains the path.
pub(crate) fn device_of(path: &str) -> Option<(u32, u32)> {
    let meta = std::fs::metadata(path).ok()?;
    let is_device = meta.mode() & 0o170_000 == 0o060_000;
    Some(numbers(if is_device { meta.rdev() } else { meta.dev() }))
}

pub(crate) fn numbers(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// Returns the name of a device as in sysfs.
fn name((major, minor): (u32, u32)) -> String {
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
    let name = link.and_then(|l| Some(l.file_name()?.to_str()?.to_string()));
    name.unwrap_or_else(|| format!("{major}:{minor}"))
}

/// Returns true if /proc/diskstats counts this device.
pub(crate) fn is_counted((major, minor): (u32, u32)) -> bool {
    major != 0 && Counter::new("", Source::DiskSectors(major, minor)).read().is_ok()
}

/// Returns a counter that must increase by at least half of the bytes that `unit` counts, and a note if it is
/// imprecise.
pub(crate) fn proof(disk: &Disk, folder: &Path, unit: usize) -> Result<(Counter, Option<String>), LoadError> {
    let (counter, note) = match disk {
        Disk::Device(major, minor) => {
            let what = format!("/proc/diskstats {} sectors written", name((*major, *minor)));
            (Counter::new(what, Source::DiskSectors(*major, *minor)), None)
        }
        Disk::Unclear(kind) => {
            let note = format!("{} is on {kind}: the writes of all disks together are counted", folder.display());
            (Counter::new("/proc/diskstats sectors written, all disks", Source::AllDiskSectors), Some(note))
        }
        Disk::Elsewhere(kind) => {
            return Err(LoadError::Refused(format!(
                "{} is on {kind}: writing to it does not load a disk; choose a folder on a disk with --scratch DIR (see \
                 `df -hT`)",
                folder.display()
            )));
        }
    };
    counter.read()?;
    Ok((counter.per_unit(unit, 0.5 / 512.0), note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_never_filled() {
        let size = |free, total| scratch_size(Path::new("/x"), free * MIB, total * MIB).map(|s| s / MIB);
        assert_eq!(size(100_000, 200_000).unwrap(), 64);
        assert_eq!(size(400, 1000).unwrap(), 20);
        assert_eq!(size(66, 1000).unwrap(), 2);
        assert!(size(64, 1000).unwrap_err().to_string().contains("--scratch"));
        assert_eq!(size(9_000, 200_000).unwrap(), 64);
        assert!(size(1_024, 200_000).is_err());
    }

    fn mounts(line: &str) -> Vec<Mount> {
        crate::mounts::parse(line)
    }

    #[test]
    fn filesystems_without_a_number_of_their_own() {
        let known = |d| d == (8, 1);
        let node = |path: &str| (path == "/dev/sda1" || path == "/var/upper").then_some((8, 1));
        let on = |line: &str| disk_of((0, 40), &mounts(line), known, node);
        assert_eq!(disk_of((8, 1), &[], known, node), Disk::Device(8, 1));
        assert_eq!(on("1 1 0:40 / / rw - btrfs /dev/sda1 rw"), Disk::Device(8, 1));
        assert_eq!(on("1 1 0:40 / / rw - overlay overlay rw,lowerdir=/a,upperdir=/var/upper"), Disk::Device(8, 1));
        assert_eq!(on("1 1 0:40 / / rw - overlay overlay rw,upperdir=/hidden"), Disk::Unclear("overlay".into()));
        assert_eq!(on("1 1 0:40 / / rw - zfs pool rw"), Disk::Unclear("zfs".into()));
        assert!(matches!(on("1 1 0:40 / / rw - tmpfs tmpfs rw"), Disk::Elsewhere(_)));
        assert!(matches!(on("1 1 0:40 / / rw - nfs4 host:/x rw"), Disk::Elsewhere(_)));
        assert!(matches!(on(""), Disk::Unclear(_)));
    }

    #[test]
    fn the_disk_of_a_folder_is_reported_or_why_not() {
        assert!(storage(Path::new("/")).map_or_else(|why| !why.is_empty(), |on| on.contains("on ")));
        assert!(storage(Path::new("/proc/self/nothing")).is_err_and(|why| why.contains("No such file")));
    }

    #[test]
    fn memory_is_no_disk() {
        let refused = proof(&Disk::Elsewhere("tmpfs, which is memory".into()), Path::new("/x"), 0).unwrap_err();
        assert!(refused.to_string().contains("--scratch DIR"));
    }
}
