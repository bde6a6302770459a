//! One boot to try, a look, and the decision.

use super::{line, small};
use crate::plan::{Situation, Step};

/// After a distribution's package.
pub fn of_package(at: &Situation) -> Vec<Step> {
    let image = at.board.pi.as_ref().and_then(|pi| pi.rt_image.clone());
    match image {
        Some(image) => pi(at, &format!("kernel={image}"), None),
        None => firmware(at),
    }
}

/// After a build.
pub fn of_built(at: &Situation) -> Vec<Step> {
    match &at.board.pi {
        Some(names) => {
            let folder = at.boot_folder.unwrap_or("/boot/firmware");
            let image = &names.image;
            let built = format!("build/arch/{}/boot/{}", at.board.arch.folder(), at.board.target);
            let copy = small(
                "copy it beside the running kernel",
                vec![
                    line("sudo cp -a stage/lib/modules/*-punctual-rt* /lib/modules/"),
                    format!("sudo mkdir {folder}/rt && sudo cp -r {folder}/overlays {folder}/rt/"),
                    format!("sudo cp {built} {folder}/rt/{image}"),
                    format!("find stage/dtbs -name '{}' -exec sudo cp {{}} {folder}/rt/ ';'", dtb(names)),
                    format!("sudo cp {folder}/cmdline.txt {folder}/rt/"),
                ],
                "the firmware ignores os_prefix=rt/ unless kernel and device tree are in it, and takes overlays from it only with \
                 overlays/README",
                "a full boot partition leaves half a kernel: look at df first; the running kernel's files are not touched",
            );
            let mut all = vec![copy];
            all.extend(pi(at, "os_prefix=rt/", Some(image)));
            all
        }
        None => firmware(at),
    }
}

fn dtb(names: &crate::PiNames) -> &str {
    names.dtbs.first().map_or("*.dtb", String::as_str)
}

fn pi(at: &Situation, setting: &str, image: Option<&String>) -> Vec<Step> {
    let folder = at.boot_folder.unwrap_or("/boot/firmware");
    let settings: Vec<String> =
        [Some(setting.to_owned()), image.map(|i| format!("kernel={i}"))].into_iter().flatten().collect();
    let words = settings.join("\\n");
    let trial = small(
        "one trial boot",
        vec![
            format!("sudo cp {folder}/config.txt {folder}/tryboot.txt"),
            format!("printf '\\n[all]\\n{words}\\n' | sudo tee -a {folder}/tryboot.txt"),
            line("sudo reboot '0 tryboot'"),
        ],
        "tryboot.txt is read once: any reset returns to config.txt",
        "a hang needs the watchdog or the plug (kernel_watchdog_timeout in tryboot.txt); early 4B boards need a writable EEPROM; \
         with autoboot.txt tryboot chooses a partition instead",
    );
    let commit = small(
        "keep it",
        vec![
            format!("printf '\\n[all]\\n{words}\\n' | sudo tee -a {folder}/config.txt"),
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
        "grub-reboot chooses an entry for one boot; with panic=10 on its line a panic returns by itself",
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
    step.time = Some(crate::plan::Estimate { minutes_min: 1, minutes_max: 2, basis: "the measurement takes 60 s" });
    step
}
