use super::super::{Given, Outcome, preflight};
use crate::config::of_config;
use crate::host::Host;
use punctual_machine::Live;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const MOUNT: &str = "29 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Creates a disk with a partition in /sys, laid out as in sysfs: links from the classes to the device's folder.
fn disk(root: &Path, device: &str, drivers: &[(&str, &str)], disk: &str, part: &str, number: &str) {
    for (below, driver) in drivers {
        write(root, &format!("sys/devices/{below}/uevent"), &format!("DRIVER={driver}\n"));
    }
    let at = format!("sys/devices/{device}/block/{disk}");
    write(root, &format!("{at}/{part}/partition"), "2\n");
    symlink("../..", root.join(&at).join("device")).unwrap();
    for folder in ["sys/dev/block", "sys/class/block"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let up = format!("../../devices/{device}/block/{disk}");
    symlink(format!("{up}/{part}"), root.join("sys/dev/block").join(number)).unwrap();
    symlink(format!("{up}/{part}"), root.join("sys/class/block").join(part)).unwrap();
    symlink(&up, root.join("sys/class/block").join(disk)).unwrap();
}

fn sata(root: &Path) {
    let drivers = [("pci0/0000:00:17.0", "ahci"), ("pci0/0000:00:17.0/ata1/host0/target0/0:0", "sd")];
    disk(root, "pci0/0000:00:17.0/ata1/host0/target0/0:0", &drivers, "sda", "sda2", "8:2");
}

fn judged(root: &Path, board: &str, config: &str, id: &str) -> (Outcome, String) {
    let (options, host, target) = (of_config(config), Host::default(), Live::under(root));
    let given = Given {
        board: crate::board(board).unwrap(),
        series: None,
        host: &host,
        out: None,
        tree: None,
        patch: None,
        config: Some(&options),
        target: Some(&target),
        boot_free_bytes: None,
    };
    let found = preflight(&given).into_iter().find(|check| check.id == id).unwrap();
    (found.outcome, found.found)
}

#[test]
fn a_root_disk_is_followed_to_its_controller() {
    let root = tempfile::tempdir().unwrap();
    sata(root.path());
    write(root.path(), "proc/self/mountinfo", MOUNT);
    let with = |config: &str| judged(root.path(), "pc-amd64", config, "root-disk");
    let good = "CONFIG_EXT4_FS=y\nCONFIG_BLK_DEV_SD=m\nCONFIG_SATA_AHCI=m\n";
    assert_eq!(with(good), (Outcome::Pass, "in it: ext4, sd, ahci".to_owned()));
    let (outcome, found) = with("CONFIG_EXT4_FS=y\nCONFIG_BLK_DEV_SD=y\n");
    assert_eq!(outcome, Outcome::Fail);
    assert!(found.contains("CONFIG_SATA_AHCI (ahci)"), "{found}");
}

#[test]
fn layers_of_encryption_and_raid_are_needed_too() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    disk(root, "pci0/0000:01:00.0/nvme/nvme0", &[("pci0/0000:01:00.0", "nvme")], "nvme0n1", "nvme0n1p3", "259:3");
    for (name, uuid, below) in [("dm-1", "LVM-abc", "dm-0"), ("dm-0", "CRYPT-LUKS2-abc", "nvme0n1p3")] {
        write(root, &format!("sys/class/block/{name}/dm/uuid"), uuid);
        fs::create_dir_all(root.join(format!("sys/class/block/{name}/slaves/{below}"))).unwrap();
    }
    symlink("../../class/block/dm-1", root.join("sys/dev/block/253:1")).unwrap();
    write(root, "proc/self/mountinfo", "29 1 253:1 / / rw shared:1 - xfs /dev/mapper/vg-root rw\n");
    let all = ["XFS_FS", "BLK_DEV_DM", "DM_CRYPT", "BLK_DEV_NVME"];
    for missing in all {
        let config: String = all.iter().filter(|n| **n != missing).map(|n| format!("CONFIG_{n}=y\n")).collect();
        let (outcome, found) = judged(root, "pc-amd64", &config, "root-disk");
        assert!(outcome == Outcome::Fail && found.contains(missing), "{missing}: {found}");
    }
    let config: String = all.iter().map(|n| format!("CONFIG_{n}=y\n")).collect();
    assert_eq!(judged(root, "pc-amd64", &config, "root-disk").0, Outcome::Pass);
}

#[test]
fn what_is_not_known_is_no_pass() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let with = |config: &str, id| judged(root, "pc-amd64", config, id).0;
    let ids = ["root-disk", "network-card", "machine-console"];
    assert_eq!(ids.map(|id| with("CONFIG_A=y\n", id)), [Outcome::Unknown; 3]);
    write(root, "etc/fstab", "UUID=1 / ext4 defaults 0 1\n");
    assert_eq!(with("CONFIG_EXT4_FS=y\n", "root-disk"), Outcome::Unknown);
    write(root, "sys/class/net/eth0/device/uevent", "DRIVER=brand_new_nic\n");
    let (outcome, found) = judged(root, "pc-amd64", "CONFIG_A=y\n", "network-card");
    assert!(outcome == Outcome::Unknown && found.contains("brand_new_nic"), "{found}");
    write(root, "proc/self/mountinfo", "29 1 0:30 / / rw - zfs rpool/root rw\n");
    assert_eq!(with("CONFIG_EXT4_FS=y\n", "root-disk"), Outcome::Unknown);
}

#[test]
fn cards_and_consoles_are_those_in_use() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "sys/class/net/eth0/device/uevent", "DRIVER=igc\nPCI_ID=8086:15F2\n");
    fs::create_dir_all(root.join("sys/class/net/lo")).unwrap();
    write(root, "proc/cmdline", "root=/dev/sda2 console=ttyS0,115200 console=tty0\n");
    let with = |config: &str, id| judged(root, "pc-amd64", config, id).0;
    assert_eq!(with("CONFIG_IGC=m\n", "network-card"), Outcome::Pass);
    assert_eq!(with("CONFIG_IGB=m\n", "network-card"), Outcome::Fail);
    let both = "CONFIG_SERIAL_8250_CONSOLE=y\nCONFIG_VT_CONSOLE=y\n";
    assert_eq!(with(both, "machine-console"), Outcome::Pass);
    assert_eq!(with("CONFIG_VT_CONSOLE=y\n", "machine-console"), Outcome::Fail);
    write(root, "proc/consoles", "ttymxc0              -W- (EC p  )  207:16\n");
    assert_eq!(with(both, "machine-console"), Outcome::Fail);
    assert_eq!(with("CONFIG_SERIAL_IMX_CONSOLE=m\n", "machine-console"), Outcome::Warn);
    assert_eq!(with("CONFIG_SERIAL_IMX_CONSOLE=y\n", "machine-console"), Outcome::Pass);
}

#[test]
fn a_module_of_the_root_disk_needs_an_initramfs_on_a_raspberry_pi() {
    let root = tempfile::tempdir().unwrap();
    sata(root.path());
    write(root.path(), "proc/self/mountinfo", MOUNT);
    let config = "CONFIG_EXT4_FS=m\nCONFIG_BLK_DEV_SD=y\nCONFIG_SATA_AHCI=y\n";
    assert_eq!(judged(root.path(), "raspberry-pi-4-64", config, "root-disk").0, Outcome::Warn);
}
