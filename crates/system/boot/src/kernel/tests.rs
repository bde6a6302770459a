use super::*;
use crate::{PiBoot, detect, firmware_start};
use punctual_machine::{Overlay, Read, Recorded};
use std::collections::BTreeMap;

fn kernel() -> NewKernel {
    NewKernel {
        release: "6.12.9-rt1".into(),
        folder: "punctual/6.12.9-rt1".into(),
        image: "vmlinuz".into(),
        initrd: Some("initrd.img".into()),
        mark: "abc123".into(),
        ..NewKernel::default()
    }
}

fn machine(files: &[(&str, &str)]) -> Recorded {
    let mut machine = Recorded::default();
    for (name, text) in files {
        machine.set(name, Read::Known(text.as_bytes().to_vec()));
    }
    machine
}

fn with(edits: &[Edit]) -> Overlay {
    let read = |edit: &Edit| edit.new.clone().map_or(Read::Absent, Read::Known);
    Overlay::new(edits.iter().map(|e| (e.path.display().to_string(), read(e))).collect::<BTreeMap<_, _>>())
}

fn text(edits: &[Edit], path: &str) -> String {
    let edit = edits.iter().find(|edit| edit.path.ends_with(path)).unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(edit.new.clone().unwrap()).unwrap()
}

const MENU: &str = "if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\nfi\n\
    menuentry 'Debian' --class debian $menuentry_id_option 'simple' {\n\tinsmod ext2\n\techo 'Loading 6.1'\n\
    \tlinux\t/vmlinuz-6.1 root=/dev/sda1 ro quiet\n\tinitrd\t/initrd.img-6.1\n}\nsource $prefix/custom.cfg\n";

fn grub(kind: &str, device: &str) -> Recorded {
    let mounts = format!("20 1 8:1 / / rw - {kind} {device} rw\n");
    machine(&[
        ("/boot/grub/grub.cfg", MENU),
        ("/boot/vmlinuz-6.1", "x"),
        ("/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=quiet\n"),
        ("/etc/os-release", "ID=debian\n"),
        ("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 ro quiet\n"),
        ("/proc/self/mountinfo", &mounts),
    ])
}

#[test]
fn grub_boots_the_new_kernel_once_and_the_old_menu_stays() {
    let view = grub("ext4", "/dev/sda1");
    let chain = detect(&view).unwrap();
    let trial = kernel_trial(&view, &chain, &kernel()).unwrap();
    let custom = text(&trial.edits, "custom.cfg");
    assert!(custom.contains("linux\t/punctual/6.12.9-rt1/vmlinuz root=/dev/sda1 ro quiet panic=10 "), "{custom}");
    assert!(custom.contains("\n\tinitrd\t/punctual/6.12.9-rt1/initrd.img\n") && !custom.contains("6.1\n"), "{custom}");
    assert!(custom.contains("punctual.trial=abc123") && !custom.contains("set default"), "{custom}");
    assert!(trial.unattended && trial.arm.is_some() && trial.edits.len() == 1);
}

#[test]
fn grubs_kept_kernel_is_the_default_unless_another_was_chosen() {
    let view = grub("ext4", "/dev/sda1");
    let chain = detect(&view).unwrap();
    let trial = kernel_trial(&view, &chain, &kernel()).unwrap();
    let over = with(&trial.edits);
    let kept = kernel_kept(&over.over(&view), &chain, &kernel()).unwrap();
    let custom = text(&kept, "custom.cfg");
    assert!(custom.contains("if [ -z \"${boot_once}\" ]; then\n\tset default=punctual-kernel\nfi\n"), "{custom}");
    for word in ["punctual.trial", "panic=", "punctual-trial"] {
        assert!(!custom.contains(word), "{word}: {custom}");
    }
    let over = with(&kept);
    let next = NewKernel { release: "6.13".into(), folder: "punctual/6.13".into(), ..kernel() };
    let custom = text(&kernel_trial(&over.over(&view), &chain, &next).unwrap().edits, "custom.cfg");
    assert!(custom.contains("punctual/6.12.9-rt1/vmlinuz") && custom.contains("punctual/6.13/vmlinuz"), "{custom}");
}

#[test]
fn a_menu_that_could_not_forget_the_entry_is_refused() {
    for (kind, device) in
        [("btrfs", "/dev/sda1"), ("ext4", "/dev/mapper/vg-root"), ("zfs", "rpool"), ("ext4", "/dev/md0")]
    {
        let view = grub(kind, device);
        let refused = kernel_trial(&view, &detect(&view).unwrap(), &kernel()).unwrap_err();
        assert!(refused.why.contains("could not reset"), "{refused:?}");
    }
}

#[test]
fn names_that_a_loader_reads_otherwise_are_refused() {
    let view = grub("ext4", "/dev/sda1");
    let chain = detect(&view).unwrap();
    for folder in ["a b", "../x", "a;b", "", "/x", "a/$b"] {
        let bad = NewKernel { folder: folder.into(), ..kernel() };
        assert!(kernel_trial(&view, &chain, &bad).is_err(), "{folder}");
    }
    let bad = NewKernel { add: vec!["two words".into()], ..kernel() };
    assert!(kernel_trial(&view, &chain, &bad).is_err());
}

fn pi(config: &str) -> Recorded {
    let model = "Raspberry Pi 4 Model B Rev 1.4";
    let folder = "/boot/firmware/punctual-rt";
    machine(&[
        ("/boot/firmware/config.txt", config),
        ("/boot/firmware/cmdline.txt", "console=tty1 root=/dev/mmcblk0p2 rootwait\n"),
        ("/boot/firmware/kernel8.img", "x"),
        ("/boot/firmware/initramfs8", "x"),
        ("/boot/firmware/bcm2711-rpi-4-b.dtb", "x"),
        ("/boot/firmware/overlays/README", "x"),
        ("/proc/device-tree/model", model),
        ("/proc/cmdline", "console=tty1 root=/dev/mmcblk0p2 rootwait\n"),
        (&format!("{folder}/kernel8.img"), "x"),
        (&format!("{folder}/bcm2711-rpi-4-b.dtb"), "x"),
        (&format!("{folder}/overlays/README"), "x"),
    ])
}

fn pi_kernel() -> NewKernel {
    NewKernel { folder: "punctual-rt".into(), image: "kernel8.img".into(), initrd: None, ..kernel() }
}

#[test]
fn the_firmware_starts_the_trial_once_and_the_old_kernel_else() {
    for config in ["auto_initramfs=1\n", "arm_64bit=1\n[pi4]\nauto_initramfs=1", ""] {
        let view = pi(config);
        let chain = detect(&view).unwrap();
        let before = firmware_start(&view, "/boot/firmware", PiBoot::Ordinary, "kernel8.img").unwrap();
        let trial = kernel_trial(&view, &chain, &pi_kernel()).unwrap();
        let over = with(&trial.edits);
        let over = over.over(&view);
        let tried = firmware_start(&over, "/boot/firmware", PiBoot::Trial, "kernel8.img").unwrap();
        assert_eq!((tried.kernel.as_str(), tried.prefix_ignored), ("punctual-rt/kernel8.img", false), "{config}");
        assert_eq!((tried.initramfs, tried.cmdline.as_str()), (None, "punctual-rt/cmdline.txt"));
        assert_eq!(tried.overlays, "punctual-rt/overlays/");
        assert_eq!(firmware_start(&over, "/boot/firmware", PiBoot::Ordinary, "kernel8.img").unwrap(), before);
        assert!(text(&trial.edits, "tryboot.txt").ends_with("kernel_watchdog_timeout=60\n"));
        assert!(text(&trial.edits, "punctual-rt/cmdline.txt").contains(" panic=10 "));
    }
}

#[test]
fn the_firmware_starts_the_kept_kernel_with_a_line_without_the_trial() {
    let view = pi("auto_initramfs=1\n");
    let chain = detect(&view).unwrap();
    let mut edits = kernel_trial(&view, &chain, &pi_kernel()).unwrap().edits;
    let over = with(&edits);
    edits.extend(kernel_kept(&over.over(&view), &chain, &pi_kernel()).unwrap());
    let over = with(&edits);
    let over = over.over(&view);
    let start = firmware_start(&over, "/boot/firmware", PiBoot::Ordinary, "kernel8.img").unwrap();
    assert_eq!((start.kernel.as_str(), start.initramfs), ("punctual-rt/kernel8.img", None));
    let line = over.read("/boot/firmware/punctual-rt/cmdline.txt").text().unwrap().to_owned();
    assert_eq!(line, "console=tty1 root=/dev/mmcblk0p2 rootwait");
    let again = kernel_kept(&over, &chain, &pi_kernel()).unwrap();
    assert_eq!(text(&again, "firmware/config.txt"), text(&edits, "firmware/config.txt"));
}

#[test]
fn extlinux_needs_somebody_at_the_console() {
    let conf = "DEFAULT main\nTIMEOUT 30\nLABEL main\n  MENU LABEL Main\n  LINUX /boot/Image\n  INITRD /boot/initrd\n  \
        FDT /boot/board.dtb\n  APPEND root=/dev/mmcblk0p1 rw\n";
    let view = machine(&[("/boot/extlinux/extlinux.conf", conf), ("/proc/cmdline", "root=/dev/mmcblk0p1 rw\n")]);
    let chain = detect(&view).unwrap();
    let trial = kernel_trial(&view, &chain, &kernel()).unwrap();
    let file = text(&trial.edits, "extlinux.conf");
    assert!(!trial.unattended && file.starts_with(conf), "{file}");
    assert!(
        file.contains("LINUX /boot/punctual/6.12.9-rt1/vmlinuz\n      INITRD /boot/punctual/6.12.9-rt1/initrd.img\n")
    );
    assert!(file.matches("FDT /boot/board.dtb").count() == 2 && file.contains("punctual.trial=abc123"), "{file}");
    let kept = text(&kernel_kept(&view, &chain, &kernel()).unwrap(), "extlinux.conf");
    assert!(kept.starts_with("DEFAULT punctual-kernel\n") && !kept.contains("punctual.trial"), "{kept}");
}
