use super::{Check, Given, Outcome, check};
use punctual_machine::{Listing, Machine, Read, parameter};

/// Size in bytes of a kernel, device trees and overlays.
const BOOT_NEEDED: u64 = 64 << 20;
const GIVE: &str = "run it on the board, or use its files with --root DIR";
const FOLDERS: [&str; 2] = ["/boot/firmware", "/boot"];

pub fn checks(given: &Given) -> Vec<Check> {
    vec![usb(given), initramfs(given), modules(given), age(given), room(given)]
}

/// Reads a file from the first of the Raspberry Pi's boot folders that contains it. Returns `None` if none contains it,
/// and `Err` if it cannot be read.
fn boot_file(target: &dyn Machine, name: &str) -> Result<Option<String>, String> {
    for folder in FOLDERS {
        let path = format!("{folder}/{name}");
        match target.read(&path) {
            Read::Known(bytes) => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Read::Absent => {}
            other => return Err(format!("{path} cannot be read: {other:?}")),
        }
    }
    Ok(None)
}

fn usb(given: &Given) -> Check {
    let (id, why) =
        ("dwc-otg-fiq", "the FIQ of the downstream USB driver dwc_otg has locked up and delayed RT kernels");
    if !given.board.usb_dwc_otg {
        return check(id, why, Outcome::Skip, "the board has a different USB controller", "");
    }
    let fix = "add to the line in cmdline.txt: dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0 (USB then costs CPU time: 8000 \
               interrupts a second)";
    let Some(target) = given.target else {
        return check(id, why, Outcome::Unknown, "the board was not examined", GIVE);
    };
    match boot_file(target, "cmdline.txt") {
        Err(error) => check(id, why, Outcome::Unknown, error, GIVE),
        Ok(None) => check(id, why, Outcome::Unknown, "cmdline.txt was not found", GIVE),
        Ok(Some(line)) => {
            let off = |name: &str| parameter(&line, name).as_deref() == Some("0");
            match off("dwc_otg.fiq_enable") && off("dwc_otg.fiq_fsm_enable") {
                true => check(id, why, Outcome::Pass, "both are off", ""),
                false => check(id, why, Outcome::Warn, "it is not disabled in cmdline.txt", fix),
            }
        }
    }
}

fn initramfs(given: &Given) -> Check {
    let (id, why) = (
        "initramfs",
        "the modules in an initramfs are for one kernel: another kernel finds neither card nor root file system",
    );
    if given.board.pi.is_none() {
        return check(id, why, Outcome::Skip, "the kernel's package creates an initramfs", "");
    }
    let Some(target) = given.target else {
        return check(id, why, Outcome::Unknown, "the board was not examined", GIVE);
    };
    let text = match boot_file(target, "config.txt") {
        Err(error) => return check(id, why, Outcome::Unknown, error, GIVE),
        Ok(None) => return check(id, why, Outcome::Unknown, "config.txt was not found", GIVE),
        Ok(Some(text)) => text,
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    if let Some(fixed) = lines().find(|line| line.starts_with("initramfs ")) {
        let fix = "sudo update-initramfs -c -k RELEASE, and give its file in tryboot.txt";
        return check(id, why, Outcome::Warn, format!("config.txt has `{fixed}` for every kernel"), fix);
    }
    match lines().any(|line| line == "auto_initramfs=1") {
        true => check(
            id,
            why,
            Outcome::Warn,
            "auto_initramfs=1 uses the file named after the kernel, if there is one",
            "sudo update-initramfs -c -k RELEASE, copied next to the kernel: kernel8.img uses initramfs8",
        ),
        false => check(id, why, Outcome::Pass, "none is configured", ""),
    }
}

fn modules(given: &Given) -> Check {
    let (id, why) = ("own-modules", "modules built for another kernel or page size do not load");
    let Some(target) = given.target else {
        return check(id, why, Outcome::Unknown, "the board was not examined", GIVE);
    };
    let pages = given.board.page_kib;
    match target.list("/var/lib/dkms") {
        Listing::Absent => check(id, why, Outcome::Pass, "no dkms modules", ""),
        Listing::Known(names) => {
            let named: Vec<&str> = names
                .iter()
                .map(String::as_str)
                .filter(|n| !n.starts_with('.') && *n != "mok.key" && *n != "mok.pub")
                .collect();
            match named.is_empty() {
                true => check(id, why, Outcome::Pass, "no dkms modules", ""),
                false => check(
                    id,
                    why,
                    Outcome::Warn,
                    format!("dkms has {} (the default kernel has {pages} KiB pages)", named.join(", ")),
                    "install the new kernel's headers (make bindeb-pkg creates them), then: sudo dkms autoinstall -k RELEASE",
                ),
            }
        }
        other => check(id, why, Outcome::Unknown, format!("/var/lib/dkms: {other:?}"), "dkms status"),
    }
}

fn age(given: &Given) -> Check {
    let (id, why) = ("board-age", "a kernel older than the board has no driver for its USB or network");
    let pi = given.board.pi.as_ref().map(|pi| pi.since);
    let Some(since) = [pi, given.board.mainline.as_ref().map(|m| m.since)].into_iter().flatten().min() else {
        return check(id, why, Outcome::Unknown, "the age of the board is unknown", "");
    };
    match given.series.or(given.tree.map(|tree| tree.series)) {
        None => check(id, why, Outcome::Unknown, "no series is given", "give it with --series X.Y, or --tree DIR"),
        Some(series) if series >= since => {
            if let Some(known) = crate::plan::trouble(given.board, series) {
                let fix = format!("punctual kernel plan --board {}", given.board.key);
                return check(id, why, Outcome::Warn, known, &fix);
            }
            check(id, why, Outcome::Pass, format!("{series}; the board is supported since {since}"), "")
        }
        Some(series) => {
            let fix = format!("punctual kernel plan --board {} --series {since}", given.board.key);
            check(id, why, Outcome::Fail, format!("{series}, but the board is supported only since {since}"), &fix)
        }
    }
}

fn room(given: &Given) -> Check {
    let (id, why) = ("boot-room", "an incomplete kernel on a full boot partition does not start");
    match given.boot_free_bytes {
        None => check(id, why, Outcome::Unknown, "the boot partition was not examined", "df -h /boot /boot/firmware"),
        Some(free) => {
            let outcome = if free >= BOOT_NEEDED { Outcome::Pass } else { Outcome::Fail };
            let found = format!("{:.0} MB free, 67 MB needed for a second kernel", free as f64 / 1e6);
            check(
                id,
                why,
                outcome,
                found,
                "remove an old kernel: dpkg -l 'linux-image-*', then sudo apt-get purge NAME",
            )
        }
    }
}
