//! A trial boot, a check, and the decision.

use super::{build, line, small};
use crate::plan::{Estimate, Situation, Source, Step};

/// After installing a distribution's package. The package manager owns its files and updates them, so this program does
/// not place, keep or remove them: the boot loader's own commands do.
pub fn of_package(at: &Situation) -> Vec<Step> {
    let image = at.board.pi.as_ref().and_then(|pi| pi.rt_image.clone());
    match image {
        Some(image) => pi(at, &format!("kernel={image}")),
        None => firmware(at),
    }
}

const OF_THE_LOADER: &str = "the package manager owns this kernel, so it is chosen by the boot loader's own commands; kernel deploy is for packages of ours";

pub fn of_built(at: &Situation, source: &Source) -> Vec<Step> {
    vec![deploy(at, source), tried(at), kept(at)]
}

/// `punctual kernel WORD …` on the machine that will run the kernel: this one, or over ssh if it was built elsewhere.
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
    let (why, risk) = match at.board.pi.is_some() {
        true => (
            "into folders of its own, with its device trees and overlays; tryboot.txt is read once: any reset returns to config.txt",
            "refused where it could not return by itself; early 4B boards need a writable EEPROM; with autoboot.txt tryboot chooses \
             a partition, and it is refused",
        ),
        false => (
            "into folders of its own, and the boot loader told for one boot: whatever restarts the machine returns to the old kernel",
            "refused where it could not return by itself: GRUB on LVM, RAID, btrfs or ZFS, no watchdog against an early hang \
             (--manual-recovery accepts that)",
        ),
    };
    words += " --reboot";
    let mut step = small("put it beside the running kernel, and one trial boot", vec![there(at, &words)], why, risk);
    step.time = Some(Estimate {
        minutes_min: 1,
        minutes_max: 5,
        basis: "GRUB guests came back in 64 to 77 s; boards were not timed",
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
        "keep it, or take it away",
        vec![there(at, "commit"), format!("{}   # every file as before", there(at, "rollback"))],
        "only what passed verify is kept; until then every reset brings the old kernel back",
        "the old kernel and its entry stay, also after a commit",
    )
}

fn pi(at: &Situation, setting: &str) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let trial = small(
        "one trial boot",
        vec![
            format!("sudo cp {folder}/config.txt {folder}/tryboot.txt"),
            format!("printf '\\n[all]\\n{setting}\\n' | sudo tee -a {folder}/tryboot.txt"),
            line("sudo reboot '0 tryboot'"),
        ],
        &format!("tryboot.txt is read once: any reset returns to config.txt; {OF_THE_LOADER}"),
        "a hang needs the watchdog or the plug (kernel_watchdog_timeout in tryboot.txt); early 4B boards need a writable EEPROM; \
         with autoboot.txt tryboot chooses a partition instead",
    );
    let commit = small(
        "keep it",
        vec![
            format!("printf '\\n[all]\\n{setting}\\n' | sudo tee -a {folder}/config.txt"),
            format!("sudo rm {folder}/tryboot.txt"),
        ],
        "only after the look: until then every reset brings the old kernel back",
        "taken back by deleting these lines, also with the card in another computer",
    );
    vec![trial, verify(at), commit]
}

fn firmware(at: &Situation) -> Vec<Step> {
    let trial = small(
        "one trial boot",
        vec![
            line("grep -E \"menuentry '\" /boot/grub/grub.cfg   # GRUB; other loaders have a menu of their own"),
            line("sudo grub-reboot 'ENTRY' && sudo reboot"),
        ],
        &format!(
            "grub-reboot chooses an entry for one boot; with panic=10 on its line a panic returns by itself; {OF_THE_LOADER}"
        ),
        "a kernel that hangs needs a watchdog or the power switch; on LVM, RAID or ZFS GRUB cannot write its environment and \
         boots the entry again",
    );
    let commit = small(
        "keep it",
        vec![line("sudo grub-set-default 'ENTRY'   # needs GRUB_DEFAULT=saved in /etc/default/grub")],
        "only after the look",
        "taken back with the old entry's name",
    );
    vec![trial, verify(at), commit]
}

/// For a kernel that was not deployed by this program: `kernel verify` has nothing to compare with.
pub fn verify(at: &Situation) -> Step {
    let mut commands = vec![
        line("uname -r && uname -v   # the second has the word PREEMPT_RT"),
        line("punctual audit"),
        line("sudo punctual prove --deadline 100us --duration 60s"),
    ];
    if at.board.pi.is_some() {
        commands.insert(0, line("lsusb; ls /dev/spidev* /dev/i2c-* /dev/gpiochip*; ip -br link"));
    }
    let mut step = small(
        "look",
        commands,
        "a name with -rt proves nothing: kernels called so have shipped without PREEMPT_RT",
        "",
    );
    step.time = Some(Estimate { minutes_min: 1, minutes_max: 2, basis: "the measurement takes 60 s" });
    step
}
