//! Runs the commands that select a distribution's kernel for one boot on a small boot folder, and evaluates the model
//! of the firmware's rules to see what would start. No board is involved. Kernels built here are deployed by this
//! program: crates/linux/deploy/tests/it/pi.rs.

use punctual_boot::{PiBoot, PiStart, firmware_start};
use punctual_kernel::{Plan, Request, Situation, Source, plan};
use punctual_machine::Live;
use std::fs;
use std::path::Path;
use std::process::Command;

fn packaged(root: &Path) -> Plan {
    for (name, text) in [
        ("boot/firmware/config.txt", "arm_64bit=1\n[pi5]\nkernel=kernel_2712.img\n"),
        ("boot/firmware/cmdline.txt", "rootwait\n"),
        ("boot/firmware/kernel8.img", "old"),
        ("boot/firmware/kernel8_rt.img", "new"),
        ("boot/firmware/bcm2711-rpi-4-b.dtb", "tree"),
        ("boot/firmware/overlays/README", "overlays"),
        ("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n"),
        ("etc/rpi-issue", "Raspberry Pi reference\n"),
        ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
        ("proc/sys/kernel/arch", "aarch64\n"),
        ("proc/sys/kernel/osrelease", "6.12.25+rpt-rpi-v8\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT Debian\n"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let plan = plan(&Situation::of(&Live::under(root), None).unwrap(), &Request::default()).unwrap();
    assert!(matches!(plan.source, Source::Package { .. }), "{plan}");
    plan
}

/// Runs the commands of a step in the folder, as its owner, except for the reboot.
fn run(plan: &Plan, title: &str, root: &Path) {
    let step = plan.steps.iter().find(|step| step.title == title).unwrap_or_else(|| panic!("no step `{title}`"));
    let boot = root.join("boot/firmware").display().to_string();
    for command in step.commands.iter().filter(|c| !c.contains("reboot")) {
        let command = command.replace("sudo ", "").replace("/boot/firmware", &boot);
        let output = Command::new("sh").arg("-ec").arg(&command).current_dir(root).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn start(root: &Path, boot: PiBoot) -> PiStart {
    firmware_start(&Live::under(root), "/boot/firmware", boot, "kernel8.img").unwrap()
}

fn content(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join("boot/firmware").join(name)).unwrap()
}

#[test]
fn the_trial_starts_the_packages_kernel_once_and_keeping_it_starts_it_always() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let plan = packaged(root);
    run(&plan, "one trial boot", root);
    let trial = start(root, PiBoot::Trial);
    assert!(trial.has_kernel, "{trial:?}");
    assert_eq!((content(root, &trial.kernel).as_str(), trial.overlays.as_str()), ("new", "overlays/"));
    assert_eq!(content(root, &trial.cmdline), "rootwait\n");
    assert_eq!(content(root, &start(root, PiBoot::Ordinary).kernel), "old");

    run(&plan, "keep it", root);
    assert_eq!(content(root, &start(root, PiBoot::Ordinary).kernel), "new");
    assert!(!root.join("boot/firmware/tryboot.txt").exists());
    assert_eq!(content(root, "kernel8.img"), "old", "the old kernel stays");
}
