//! Finds the drivers of the root file system: from the file system down to the controller.

use super::table::{BLOCK, BUSES, FILE_SYSTEMS, option_of};
use super::{Needed, driver};
use punctual_machine::{Listing, Machine, Read};

/// Maximum number of layers of device mapper and RAID, and of parents of a device.
const DEEPEST: usize = 12;

pub fn needed(view: &dyn Machine) -> Result<Vec<Needed>, String> {
    let (kind, number, device) =
        root(view).ok_or("the root file system is neither among the mounts nor in /etc/fstab")?;
    let mut all = vec![Needed { any: option_of(FILE_SYSTEMS, &kind), name: kind.clone() }];
    if matches!(kind.as_str(), "nfs" | "nfs4" | "overlay" | "9p" | "virtiofs" | "tmpfs" | "rootfs") {
        return match kind.as_str() {
            "overlay" | "tmpfs" | "rootfs" => Err(format!("the root is {kind}: the disk below it is unknown")),
            _ => Ok(all),
        };
    }
    let by_number = number.map(|number| format!("/sys/dev/block/{number}")).filter(|path| is_there(view, path));
    let by_name = || {
        mapped(view, &device).or_else(|| device.strip_prefix("/dev/").map(|name| format!("/sys/class/block/{name}")))
    };
    match by_number.or_else(by_name).filter(|path| is_there(view, path)) {
        Some(folder) => layer(view, &folder, DEEPEST, &mut all),
        None => all.extend(by_device_name(&device)?),
    }
    Ok(all)
}

fn is_there(view: &dyn Machine, folder: &str) -> bool {
    matches!(view.list(folder), Listing::Known(_))
}

/// Returns type, major:minor (none for a file system that spans devices) and source of the mount at `/`; the last mount
/// if several are stacked.
fn root(view: &dyn Machine) -> Option<(String, Option<String>, String)> {
    let mounts = view.read("/proc/self/mountinfo");
    let of_mounts = mounts.text().and_then(|text| text.lines().filter_map(mountinfo).next_back());
    of_mounts.or_else(|| {
        let table = view.read("/etc/fstab");
        table.text()?.lines().find_map(|line| {
            let mut fields = line.split_whitespace();
            let device = fields.next().filter(|field| !field.starts_with('#'))?.to_owned();
            (fields.next()? == "/").then_some(())?;
            Some((fields.next()?.to_owned(), None, device))
        })
    })
}

/// Parses `36 35 98:0 /root / opts shared:1 - ext4 /dev/sda1 rw` (proc_pid_mountinfo(5)).
fn mountinfo(line: &str) -> Option<(String, Option<String>, String)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let number = before.next()?.to_owned();
    (before.nth(1)? == "/").then_some(())?;
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    Some((kind, Some(number).filter(|number| !number.starts_with("0:")), after.next()?.to_owned()))
}

/// Resolves `/dev/mapper/NAME`, a link to `/dev/dm-N`, through /sys.
fn mapped(view: &dyn Machine, device: &str) -> Option<String> {
    let name = device.strip_prefix("/dev/mapper/")?;
    let Listing::Known(disks) = view.list("/sys/class/block") else { return None };
    let is_it = |disk: &&String| view.read(&format!("/sys/class/block/{disk}/dm/name")).text() == Some(name);
    disks.iter().find(is_it).map(|disk| format!("/sys/class/block/{disk}"))
}

/// Adds the drivers of a block device: those of the devices it consists of, if any, otherwise those of its hardware.
fn layer(view: &dyn Machine, folder: &str, depth: usize, all: &mut Vec<Needed>) {
    if let Some(uuid) = view.read(&format!("{folder}/dm/uuid")).text() {
        all.push(Needed::new("device mapper", &["BLK_DEV_DM"]));
        let target = uuid.split('-').next().unwrap_or_default();
        match target {
            "CRYPT" => all.push(Needed::new("dm-crypt", &["DM_CRYPT"])),
            "mpath" => all.push(Needed::new("dm-multipath", &["DM_MULTIPATH"])),
            // Linear targets are part of the device mapper itself.
            "LVM" | "part1" | "part2" | "part3" => {}
            other => all.push(Needed { name: format!("device mapper target {other}"), any: None }),
        }
    }
    if let Some(level) = view.read(&format!("{folder}/md/level")).text() {
        let option: &[&str] = match level {
            "raid0" => &["MD_RAID0"],
            "raid1" => &["MD_RAID1"],
            "raid10" => &["MD_RAID10"],
            "raid4" | "raid5" | "raid6" => &["MD_RAID456"],
            _ => &["BLK_DEV_MD"],
        };
        all.push(Needed::new(format!("md {level}"), option));
    }
    // A partition's disk is the folder above.
    let is_partition = matches!(view.read(&format!("{folder}/partition")), Read::Known(_));
    let disk = if is_partition { format!("{folder}/..") } else { folder.to_owned() };
    let below = match view.list(&format!("{disk}/slaves")) {
        Listing::Known(names) if depth > 0 => names,
        _ => Vec::new(),
    };
    for name in &below {
        layer(view, &format!("/sys/class/block/{name}"), depth - 1, all);
    }
    if below.is_empty() {
        hardware(view, &format!("{disk}/device"), all);
    }
}

/// Adds the drivers of a device and of its parents.
fn hardware(view: &dyn Machine, device: &str, all: &mut Vec<Needed>) {
    let before = all.len();
    let mut at = device.to_owned();
    for _ in 0..DEEPEST {
        if let Some(name) = driver(view, &at).filter(|name| !BUSES.contains(&name.as_str()))
            && !all.iter().any(|n| n.name == name)
        {
            all.push(Needed { any: option_of(BLOCK, &name), name });
        }
        at += "/..";
    }
    if all.len() == before {
        all.push(Needed { name: format!("of {device}"), any: None });
    }
}

/// Determines the drivers from the device name alone, for use when /sys is not among the files.
fn by_device_name(device: &str) -> Result<Vec<Needed>, String> {
    let name = device.strip_prefix("/dev/").unwrap_or_default();
    let families: [(&str, &[&str]); 5] = [
        ("nvme", &["BLK_DEV_NVME"]),
        ("mmcblk", &["MMC_BLOCK"]),
        ("vd", &["VIRTIO_BLK"]),
        ("xvd", &["XEN_BLKDEV_FRONTEND"]),
        ("sd", &["BLK_DEV_SD"]),
    ];
    match families.iter().find(|(start, _)| name.starts_with(start)) {
        Some((family, any)) => {
            let controller = Needed { name: format!("controller of {device} (no /sys)"), any: None };
            let is_whole = *family == "nvme" || *family == "xvd";
            let disk = Needed::new(*family, any);
            Ok(if is_whole { vec![disk] } else { vec![disk, controller] })
        }
        None => Err(format!("the root is {device}, but /sys, which describes it, is not among the files")),
    }
}
