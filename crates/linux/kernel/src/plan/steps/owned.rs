//! A trial of a kernel that a package manager owns: it updates and removes the files, so the kernel is selected by the
//! boot loader's commands and not by this program.

use super::trial::verify;
use super::{line, small};
use crate::plan::{Situation, Step};
use punctual_boot::Kind;

const OF_THE_LOADER: &str = "the package manager owns this kernel, so it is selected with the boot loader's own commands; kernel deploy is for packages built by punctual";
const HANG: &str = "if the kernel hangs, only a watchdog or the power switch helps";

/// Returns commands to run before the package is installed.
pub fn before(at: &Situation) -> Vec<String> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    match (at.board.pi.is_some(), system(at)) {
        (true, "debian") => vec![format!("sudo cp {folder}/config.txt {folder}/config.txt.before")],
        (true, "ubuntu") => {
            vec![format!("sudo cp -a {folder} /boot/firmware.before   # flash-kernel replaces files there")]
        }
        _ => Vec::new(),
    }
}

pub fn of_package(at: &Situation) -> Vec<Step> {
    let image = at.board.pi.as_ref().and_then(|pi| pi.rt_image.clone());
    match (at.board.pi.is_some(), system(at), image) {
        (true, "raspberry-pi-os", Some(image)) if is_firmware(at) => pi_os(at, &format!("kernel={image}")),
        (true, "debian", _) if is_firmware(at) => raspi_firmware(at),
        (true, "ubuntu", _) if is_firmware(at) => flash_kernel(at),
        _ => of_loader(at),
    }
}

fn system(at: &Situation) -> &str {
    at.system.as_ref().map_or("", |system| system.id.as_str())
}

fn is_firmware(at: &Situation) -> bool {
    at.loader.kind() == Some(Kind::RaspberryPi)
}

pub fn of_loader(at: &Situation) -> Vec<Step> {
    let (trial, kept) = match at.loader.kind() {
        Some(Kind::GrubDebian) => grub(at),
        Some(Kind::GrubBls) => grub_bls(),
        Some(Kind::SystemdBoot) => systemd_boot(),
        Some(Kind::Extlinux) => extlinux(at),
        _ => unknown(at),
    };
    vec![trial, verify(at), kept]
}

fn keep(commands: Vec<String>, risk: &str) -> Step {
    small("keep it", commands, "only after the check", risk)
}

/// Returns true if the programs and the folder are called grub2, as on SUSE.
pub fn is_suse(at: &Situation) -> bool {
    let is = |id: &str| at.system.as_ref().is_some_and(|system| system.is_like(id));
    ["suse", "opensuse", "sles", "sled"].into_iter().any(is)
}

fn grub(at: &Situation) -> (Step, Step) {
    let is_suse = is_suse(at);
    let name = if is_suse { "grub2" } else { "grub" };
    let regenerate =
        if is_suse { "grub2-mkconfig -o /boot/grub2/grub.cfg" } else { "grub-mkconfig -o /boot/grub/grub.cfg" };
    let trial = small(
        "one trial boot",
        vec![
            format!(
                "sudo grep -E \"^\\s*(menuentry|submenu) '\" /boot/{name}/grub.cfg   # titles of both kernels, and the submenu above them"
            ),
            line("grep GRUB_DEFAULT /etc/default/grub   # must be GRUB_DEFAULT=saved; if not, set it"),
            format!("sudo {regenerate} && sudo {name}-set-default 'SUBMENU>ENTRY OF THE RUNNING KERNEL'"),
            format!("sudo {name}-reboot 'SUBMENU>ENTRY' && sudo reboot"),
        ],
        &format!(
            "{name}-reboot selects an entry for one boot; an entry inside a submenu (Advanced options …) is given as SUBMENU>ENTRY, \
             otherwise GRUB uses its first entry; a new kernel may sort first and become the default when installed, so the running one is made the default beforehand; with panic=10 on its command line, a panic returns automatically; {OF_THE_LOADER}"
        ),
        &format!("{HANG}; on LVM, RAID, btrfs or ZFS GRUB cannot write its environment and boots the same entry again"),
    );
    let kept = keep(
        vec![format!("sudo {name}-set-default 'SUBMENU>ENTRY'")],
        "to undo it, run the command with the title of the old entry",
    );
    (trial, kept)
}

fn grub_bls() -> (Step, Step) {
    let trial = small(
        "one trial boot",
        vec![
            line(
                "sudo grubby --set-default=/boot/vmlinuz-$(uname -r)   # a new kernel may have become the default when installed",
            ),
            line("sudo grubby --info=ALL | grep -E '^(kernel|id)='   # RELEASE and ID of the new kernel"),
            line("sudo grub2-reboot ID && sudo reboot"),
        ],
        &format!(
            "each kernel has an entry in /boot/loader/entries; grub2-reboot selects one for one boot, which needs GRUB_DEFAULT=saved in \
             /etc/default/grub (the installer's setting); {OF_THE_LOADER}"
        ),
        &format!(
            "{HANG}; if /boot is on LVM, RAID or btrfs, GRUB cannot write its environment and boots the same entry again"
        ),
    );
    let kept = keep(
        vec![line("sudo grubby --set-default=/boot/vmlinuz-RELEASE")],
        "to undo it, run the command with the file of the old kernel in /boot; a later update may make the kernel that it \
         installs the default (UPDATEDEFAULT and DEFAULTKERNEL in /etc/sysconfig/kernel)",
    );
    (trial, kept)
}

fn systemd_boot() -> (Step, Step) {
    let trial = small(
        "one trial boot",
        vec![line("bootctl list   # id of the new kernel's entry"), line("sudo bootctl set-oneshot ID && sudo reboot")],
        &format!("set-oneshot selects an entry for one boot (bootctl(1)); {OF_THE_LOADER}"),
        &format!(
            "{HANG}; a kernel without EFI runtime services (efi=noruntime, usual with PREEMPT_RT) cannot set it: use the menu instead"
        ),
    );
    let kept =
        keep(vec![line("sudo bootctl set-default ID")], "to undo it, run the command with the ID of the old entry");
    (trial, kept)
}

fn extlinux(at: &Situation) -> (Step, Step) {
    let path = "/boot/extlinux/extlinux.conf";
    let trial = small(
        "one trial boot",
        vec![
            format!("grep -iE '^ *(default|label|linux|initrd)' {path}   # the new kernel's label, and the default"),
            line("sudo reboot   # and choose the new kernel's label in the menu on the serial console"),
        ],
        &format!(
            "the loader cannot boot a label once: the trial is selected manually on the console, while DEFAULT stays the old kernel's \
             (the installation may have changed it: restore it first); {OF_THE_LOADER}"
        ),
        &format!(
            "{HANG}; without a console no trial is possible: DEFAULT decides, and a kernel that does not start must be repaired with its card or disk in \
                  another computer"
        ),
    );
    let is_jetson = system(at) == "jetson-linux";
    let command = match is_jetson {
        true => format!("sudo sed -i 's/^DEFAULT .*/DEFAULT LABEL/' {path}   # LABEL: the new kernel's"),
        false => format!(
            "sudo nano {path}   # DEFAULT LABEL; if u-boot-update writes the file: U_BOOT_DEFAULT in /etc/default/u-boot, then sudo u-boot-update"
        ),
    };
    (trial, keep(vec![command], "to undo it, use the old label"))
}

fn unknown(at: &Situation) -> (Step, Step) {
    let loader = at.loader.said().unwrap_or_else(|| "the machine was not examined".to_owned());
    let trial = small(
        "one trial boot",
        vec![line("sudo reboot   # and choose the new kernel in the boot loader's menu")],
        &format!("the boot loader is {loader}; how to boot a kernel once with it is unknown here; {OF_THE_LOADER}"),
        &format!(
            "{HANG}; the loader's configuration shows whether the old kernel is still the default: check before the reboot"
        ),
    );
    let kept = keep(Vec::new(), "see the loader's documentation");
    (trial, kept)
}

fn pi_os(at: &Situation, setting: &str) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let trial = small(
        "one trial boot",
        vec![
            format!("sudo cp {folder}/config.txt {folder}/tryboot.txt"),
            format!("printf '\\n[all]\\n{setting}\\n' | sudo tee -a {folder}/tryboot.txt"),
            line("sudo reboot '0 tryboot'"),
        ],
        &format!("tryboot.txt is read once: any reset returns to config.txt; {OF_THE_LOADER}"),
        "after a hang, only the watchdog (kernel_watchdog_timeout in tryboot.txt) or pulling the plug helps; early 4B boards need a writable EEPROM; \
         with autoboot.txt tryboot chooses a partition instead",
    );
    let commit = small(
        "keep it",
        vec![
            format!("printf '\\n[all]\\n{setting}\\n' | sudo tee -a {folder}/config.txt"),
            format!("sudo rm {folder}/tryboot.txt"),
        ],
        "only after the check: until then every reset returns to the old kernel",
        "to undo it, delete these lines, if necessary with the card in another computer",
    );
    vec![trial, verify(at), commit]
}

/// Returns steps for Debian's package raspi-firmware, which rewrites config.txt when a kernel is installed (its hook
/// /etc/kernel/postinst.d/z50-raspi-firmware).
fn raspi_firmware(at: &Situation) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let boot = small(
        "the first boot",
        vec![
            format!(
                "grep -E '^(kernel|initramfs)' {folder}/config.txt {folder}/config.txt.before; ls {folder}/vmlinuz-*"
            ),
            line("sudo reboot"),
        ],
        &format!(
            "Debian's raspi-firmware copies a new kernel to {folder} and names it in config.txt; its kernels do not pass `0 tryboot` to the \
             firmware, unlike those of Raspberry Pi OS: a trial for one boot is not possible; both kernels must be in {folder}, otherwise stop"
        ),
        &format!(
            "if the kernel does not start: copy {folder}/config.txt.before to config.txt, with the card or disk in another computer"
        ),
    );
    let kept = small(
        "keep it, or remove it",
        vec![format!(
            "sudo cp {folder}/config.txt.before {folder}/config.txt   # the old kernel again, at the next boot"
        )],
        "only after the check",
        "raspi-firmware also writes the names of later kernels (KERNEL in /etc/default/raspi-firmware)",
    );
    vec![boot, verify(at), kept]
}

/// Returns steps for Ubuntu's flash-kernel, which copies the newest kernel over the kernel that the firmware starts.
fn flash_kernel(at: &Situation) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let boot = small(
        "the first boot",
        vec![
            format!("ls -l {folder}/vmlinuz* {folder}/*/vmlinuz*   # what the installation has written"),
            line("sudo reboot"),
        ],
        "flash-kernel has replaced the old kernel in the firmware's folder: a trial for one boot is not possible",
        "if the kernel does not start: restore the files of /boot/firmware.before, with the card or disk in another computer",
    );
    let kept = small(
        "keep it, or remove it",
        vec![line(
            "sudo pro disable realtime-kernel   # then boot the old kernel: sudo flash-kernel --force $(linux-version list | grep -v realtime | tail -n 1)",
        )],
        "only after the check",
        "the old kernel's package stays installed",
    );
    vec![boot, verify(at), kept]
}
