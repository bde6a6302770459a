//! Steps for a trial boot, a check, and the decision to keep the kernel or not.

use super::{build, line, owned, small};
use crate::plan::{Estimate, Loader, Situation, Source, Step};
use punctual_boot::Kind;

pub fn of_built(at: &Situation, source: &Source) -> Vec<Step> {
    // If the loader was not examined, it may be one of these.
    let is_known = match at.loader.kind() {
        Some(Kind::GrubDebian) => !owned::is_suse(at),
        Some(Kind::RaspberryPi | Kind::Extlinux) => true,
        _ => at.loader == Loader::NotLooked,
    };
    if is_known { vec![deploy(at, source), tried(at), kept(at)] } else { by_hand(at) }
}

/// Returns manual steps for loaders that `kernel deploy` does not support and refuses.
fn by_hand(at: &Situation) -> Vec<Step> {
    let loader = at.loader.said().unwrap_or_default();
    let is_installable = matches!(at.loader.kind(), Some(Kind::GrubBls | Kind::SystemdBoot));
    if !is_installable || !build::is_native(at) {
        let why =
            format!("kernel deploy does not support the way this machine boots ({loader}), and neither does this plan");
        let risk = match at.loader.is_image() {
            true => "the kernel is part of the system's image: a custom kernel needs a new image",
            false => {
                "the package contains the kernel, its modules and device trees (tar -t); for their location see the \
                 documentation of the system and its loader; keep the running kernel's files"
            }
        };
        let mut step = small("install it beside the running kernel, manually", Vec::new(), &why, risk);
        step.time = None;
        step.disk_mb = None;
        return vec![step, verify(at)];
    }
    let folder = build::BUILD;
    let commands = vec![
        format!("sudo make -C {} O=\"$PWD/{folder}\" INSTALL_MOD_STRIP=1 modules_install", build::SOURCE),
        format!(
            "sudo kernel-install add \"$(cat {folder}/include/config/kernel.release)\" \"$PWD/{folder}/$(make -s -C {} O=\"$PWD/{folder}\" image_name)\"",
            build::SOURCE
        ),
    ];
    let why = format!(
        "kernel deploy does not support {loader}; kernel-install(8) creates the initramfs and the entry, as for the system's own kernels"
    );
    let mut step = small(
        "install it beside the running kernel",
        commands,
        &why,
        "it may become the default immediately: the next step checks that",
    );
    step.time = None;
    step.disk_mb = None;
    std::iter::once(step).chain(owned::of_loader(at)).collect()
}

/// Returns a `punctual kernel` command on the target machine: local, or over ssh if the kernel was built elsewhere.
fn there(at: &Situation, words: &str) -> String {
    match build::is_native(at) {
        true => format!("sudo punctual kernel {words}"),
        false => format!("punctual kernel {words} --target ssh://USER@HOST --binary PUNCTUAL-FOR-THE-TARGET"),
    }
}

fn deploy(at: &Situation, source: &Source) -> Step {
    let is_pi_tree = matches!(source, Source::PiTree { .. } | Source::PiTreePatched { .. });
    let fiq = match at.board.usb_dwc_otg && is_pi_tree {
        true => " --append dwc_otg.fiq_enable=0 --append dwc_otg.fiq_fsm_enable=0",
        false => "",
    };
    let mut words = format!("deploy {}{fiq}", build::packaged(at));
    let is_extlinux = at.loader.kind() == Some(Kind::Extlinux);
    if is_extlinux {
        words += " --manual-recovery";
    }
    let (why, risk) = match at.board.pi.is_some() {
        _ if is_extlinux => (
            "uses separate folders and a separate label in extlinux.conf; U-Boot cannot boot a label once, so the trial is selected \
             in its menu on the console: --manual-recovery confirms that someone is present",
            "refused if u-boot-update writes extlinux.conf (package u-boot-menu): then install the .deb of kernel package, \
             which u-boot-update finds",
        ),
        true => (
            "uses separate folders, with its device trees and overlays; tryboot.txt is read once: any reset returns to config.txt",
            "refused if the machine could not return automatically; early 4B boards need a writable EEPROM; with autoboot.txt, tryboot selects a partition, so this is refused as well",
        ),
        false => (
            "uses separate folders and arms the boot loader for one boot: any restart returns to the old kernel",
            "refused if the machine could not return automatically: GRUB on LVM, RAID, btrfs or ZFS, no watchdog against an early hang \
             (--manual-recovery accepts that)",
        ),
    };
    words += " --reboot";
    let mut step = small("install it beside the running kernel, and boot it once", vec![there(at, &words)], why, risk);
    step.time = Some(Estimate {
        minutes_min: 1,
        minutes_max: 5,
        basis: "guests with GRUB rebooted in 64 to 77 s; boards were not timed",
    });
    step.disk_mb = None;
    step
}

fn tried(at: &Situation) -> Step {
    let prove = match build::is_native(at) {
        true => line("sudo punctual prove --deadline 100us --duration 60s"),
        false => line(
            "punctual prove --target ssh://USER@HOST --binary PUNCTUAL-FOR-THE-TARGET --deadline 100us --duration 60s",
        ),
    };
    let mut step = small(
        "verify",
        vec![there(at, "verify --deadline 100us"), prove],
        "release, PREEMPT_RT by uname -v (a name with -rt proves nothing), modules, and every USB, HID, SPI, I2C, GPIO and network \
         device that was there before; then a longer run under load",
        "without a commit the guard returns to the old kernel 10 minutes after the trial's start",
    );
    step.time = Some(Estimate { minutes_min: 1, minutes_max: 2, basis: "the measurements take 65 s" });
    step
}

fn kept(at: &Situation) -> Step {
    small(
        "keep it, or remove it",
        vec![there(at, "commit"), format!("{}   # every file as before", there(at, "rollback"))],
        "only a kernel that passed verify is kept; until then every reset returns to the old kernel",
        "the old kernel and its entry stay, even after a commit",
    )
}

/// Returns a manual check of a kernel that was not deployed by this program, for which `kernel verify` therefore has
/// nothing to compare with.
pub fn verify(at: &Situation) -> Step {
    let mut commands = vec![
        line("uname -r && uname -v   # the second line must contain PREEMPT_RT"),
        line("punctual audit"),
        line("sudo punctual prove --deadline 100us --duration 60s"),
    ];
    if at.board.pi.is_some() {
        commands.insert(0, line("lsusb; ls /dev/spidev* /dev/i2c-* /dev/gpiochip*; ip -br link"));
    }
    let mut step =
        small("check it", commands, "a name with -rt proves nothing: such kernels have shipped without PREEMPT_RT", "");
    step.time = Some(Estimate { minutes_min: 1, minutes_max: 2, basis: "the measurement takes 60 s" });
    step
}
