//! A trial of a kernel that a package manager owns: it updates and removes the files, so the boot loader's own commands
//! choose it, and this program does not.

use super::trial::verify;
use super::{line, small};
use crate::plan::{Situation, Step};
use punctual_boot::Kind;

const OF_THE_LOADER: &str = "the package manager owns this kernel, so it is chosen by the boot loader's own commands; kernel deploy is for packages of ours";
const HANG: &str = "a kernel that hangs needs a watchdog or the power switch";

/// Before the package is installed.
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
    small("keep it", commands, "only after the look", risk)
}

/// SUSE's programs and folder are called grub2.
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
            line("grep GRUB_DEFAULT /etc/default/grub   # has to be saved: else set it"),
            format!("sudo {regenerate} && sudo {name}-set-default 'SUBMENU>ENTRY OF THE RUNNING KERNEL'"),
            format!("sudo {name}-reboot 'SUBMENU>ENTRY' && sudo reboot"),
        ],
        &format!(
            "{name}-reboot chooses an entry for one boot; one inside a submenu (Advanced options …) is named with it, SUBMENU>ENTRY, \
             else GRUB takes its first entry; a new kernel may sort first and be the default since its installation, so the running one \
             is made the default before; with panic=10 on its line a panic returns automatically; {OF_THE_LOADER}"
        ),
        &format!("{HANG}; on LVM, RAID, btrfs or ZFS GRUB cannot write its environment and boots the entry again"),
    );
    let kept = keep(vec![format!("sudo {name}-set-default 'SUBMENU>ENTRY'")], "taken back with the old entry's name");
    (trial, kept)
}

fn grub_bls() -> (Step, Step) {
    let trial = small(
        "one trial boot",
        vec![
            line(
                "sudo grubby --set-default=/boot/vmlinuz-$(uname -r)   # a new kernel may be the default since its installation",
            ),
            line("sudo grubby --info=ALL | grep -E '^(kernel|id)='   # RELEASE and ID of the new kernel"),
            line("sudo grub2-reboot ID && sudo reboot"),
        ],
        &format!(
            "each kernel has an entry in /boot/loader/entries; grub2-reboot chooses one for one boot, which needs GRUB_DEFAULT=saved in \
             /etc/default/grub (the installer's); {OF_THE_LOADER}"
        ),
        &format!(
            "{HANG}; where /boot is on LVM, RAID or btrfs GRUB cannot write its environment and boots the entry again"
        ),
    );
    let kept = keep(
        vec![line("sudo grubby --set-default=/boot/vmlinuz-RELEASE")],
        "taken back with the old kernel's file; a later update may make its own kernel the default (DEFAULTKERNEL in \
         /etc/sysconfig/kernel)",
    );
    (trial, kept)
}

fn systemd_boot() -> (Step, Step) {
    let trial = small(
        "one trial boot",
        vec![line("bootctl list   # id of the new kernel's entry"), line("sudo bootctl set-oneshot ID && sudo reboot")],
        &format!("set-oneshot chooses an entry for one boot (bootctl(1)); {OF_THE_LOADER}"),
        &format!(
            "{HANG}; a kernel without EFI runtime services (efi=noruntime, usual with PREEMPT_RT) cannot set it: then the menu"
        ),
    );
    let kept = keep(vec![line("sudo bootctl set-default ID")], "taken back with the old entry's id");
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
            "the loader takes no label for one boot: the trial is chosen by hand on the console, while DEFAULT stays the old kernel's \
             (the installation may have changed it: set it back first); {OF_THE_LOADER}"
        ),
        &format!(
            "{HANG}; without a console there is no trial: DEFAULT decides, and a kernel that does not start needs its card or disk in \
                  another computer"
        ),
    );
    let is_jetson = system(at) == "jetson-linux";
    let command = match is_jetson {
        true => format!("sudo sed -i 's/^DEFAULT .*/DEFAULT LABEL/' {path}   # LABEL: the new kernel's"),
        false => format!(
            "sudo nano {path}   # DEFAULT LABEL; where u-boot-update writes the file: U_BOOT_DEFAULT in /etc/default/u-boot, then sudo u-boot-update"
        ),
    };
    (trial, keep(vec![command], "taken back with the old label"))
}

fn unknown(at: &Situation) -> (Step, Step) {
    let loader = at.loader.said().unwrap_or_else(|| "the machine was not looked at".to_owned());
    let trial = small(
        "one trial boot",
        vec![line("sudo reboot   # and choose the new kernel in the boot loader's menu")],
        &format!(
            "the boot loader is {loader}; how it is told to start a kernel once is not known here; {OF_THE_LOADER}"
        ),
        &format!(
            "{HANG}; whether the old kernel is still the default is for the loader's configuration to say: look before the reboot"
        ),
    );
    let kept = keep(Vec::new(), "as the loader's documentation has it");
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

/// Debian's package raspi-firmware writes config.txt anew when a kernel is installed (its hook
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
            "Debian's raspi-firmware copies a new kernel to {folder} and names it in config.txt; its kernels do not pass `0 tryboot` on to the \
             firmware, as those of Raspberry Pi OS do: there is no trial for one boot; both kernels have to be in {folder}, else stop"
        ),
        &format!(
            "a kernel that does not start: {folder}/config.txt.before goes back as config.txt, with the card or disk in another computer"
        ),
    );
    let kept = small(
        "keep it, or take it away",
        vec![format!(
            "sudo cp {folder}/config.txt.before {folder}/config.txt   # the old kernel again, at the next boot"
        )],
        "only after the look",
        "later kernels are named by raspi-firmware in their turn (KERNEL in /etc/default/raspi-firmware)",
    );
    vec![boot, verify(at), kept]
}

/// Ubuntu's flash-kernel copies the newest kernel over the one that the firmware starts.
fn flash_kernel(at: &Situation) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let boot = small(
        "the first boot",
        vec![
            format!("ls -l {folder}/vmlinuz* {folder}/*/vmlinuz*   # what the installation has written"),
            line("sudo reboot"),
        ],
        "flash-kernel has put the new kernel in the place of the old one in the firmware's folder: there is no trial for one boot",
        "a kernel that does not start: the files of /boot/firmware.before go back, with the card or disk in another computer",
    );
    let kept = small(
        "keep it, or take it away",
        vec![line(
            "sudo pro disable realtime-kernel   # then boot the old kernel: sudo flash-kernel --force $(linux-version list | grep -v realtime | tail -n 1)",
        )],
        "only after the look",
        "the old kernel's package stays installed",
    );
    vec![boot, verify(at), kept]
}
