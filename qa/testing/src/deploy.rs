//! Folders that represent machines, and packages for these.

use crate::fix::{Kernel, loaders};
use punctual_boot::{PiBoot, firmware_start};
use punctual_machine::Live;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub const GRUB: &str = "debian-12-grub";
pub const PI: &str = "pi-os-bookworm";

pub fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub fn machine(loader: &str, release: &str) -> (TempDir, Kernel, TempDir) {
    let root = loaders::bare(loader);
    let at = root.path();
    for folder in ["lib/modules/6.1.0-1", "boot", "etc", "usr/lib/systemd/system", "sys/bus/spi/devices/spi0.0"] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    write(at, "sys/bus/spi/devices/spi0.0/modalias", "spi:spidev\n");
    if loader == GRUB {
        // Creates the images listed in the menu, and the initramfs tools.
        let menu = fs::read_to_string(at.join("boot/grub/grub.cfg")).unwrap();
        let images = menu.lines().filter_map(|line| line.trim().strip_prefix("linux"));
        for image in images.filter_map(|rest| rest.split_whitespace().next()) {
            write(at, &format!("boot/{}", image.rsplit('/').next().unwrap()), "old kernel");
        }
        write(at, "etc/initramfs-tools/modules", "# none\n");
    } else {
        for name in ["kernel8.img", "bcm2711-rpi-4-b.dtb", "overlays/README"] {
            write(at, &format!("boot/firmware/{name}"), "old");
        }
        write(at, "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4");
    }
    let kernel = Kernel::under(at);
    runs(at, "6.1.0-1", "#1 SMP");
    (root, kernel, package(release))
}

fn runs(root: &Path, release: &str, version: &str) {
    write(root, "proc/sys/kernel/osrelease", format!("{release}\n"));
    write(root, "proc/sys/kernel/version", format!("{version}\n"));
}

/// Simulates another boot; if `id` is given, the trial boot with this ID.
pub fn boot_into(root: &Path, kernel: &Kernel, id: Option<&str>, release: &str, version: &str) {
    let number = kernel.boot.borrow().len();
    *kernel.boot.borrow_mut() = format!("boot-{}", "x".repeat(number));
    kernel.now_s.set(30);
    let line = fs::read_to_string(root.join("proc/cmdline")).unwrap();
    let mut words: Vec<String> =
        line.split_whitespace().filter(|w| !w.starts_with("punctual.")).map(str::to_owned).collect();
    words.extend(id.map(|id| format!("punctual.trial={id}")));
    write(root, "proc/cmdline", words.join(" ") + "\n");
    runs(root, release, version);
}

pub fn package(release: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write(at, &format!("boot/vmlinuz-{release}"), vec![7; 0x300]);
    write(at, &format!("boot/config-{release}"), "CONFIG_PREEMPT_RT=y\n");
    write(at, &format!("boot/System.map-{release}"), "0 T start\n");
    let module = format!("\x7fELF\0vermagic={release} SMP preempt_rt mod_unload \0");
    write(at, &format!("lib/modules/{release}/kernel/drivers/spi.ko"), module);
    write(at, "dtbs/bcm2711-rpi-4-b.dtb", "tree");
    write(at, "dtbs/overlays/spi.dtbo", "overlay");
    folder
}

/// Checks that the boot loader boots the old kernel if there is no trial.
pub fn boots_the_old_kernel(loader: &str, root: &Path) {
    if loader == PI {
        let start = firmware_start(&Live::under(root), "/boot/firmware", PiBoot::Ordinary, "kernel8.img").unwrap();
        assert_eq!((start.kernel.as_str(), start.has_kernel), ("kernel8.img", true));
        return;
    }
    let custom = fs::read_to_string(root.join("boot/grub/custom.cfg")).unwrap_or_default();
    assert!(!custom.contains("set default"), "{custom}");
    assert!(custom.matches("menuentry").count() == custom.matches("\n}\n").count(), "{custom}");
    // An armed trial must be complete.
    let env = fs::read_to_string(root.join("boot/grub/grubenv")).unwrap();
    assert!(!env.contains("next_entry=punctual") || root.join("boot/punctual").is_dir());
}
