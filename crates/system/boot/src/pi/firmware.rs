//! A model of the documented rules by which the Raspberry Pi's firmware boots. Plans and tests use it without a board.
//!
//! The rules, from "config.txt" and "tryboot" in the Raspberry Pi documentation
//! (https://www.raspberrypi.com/documentation/computers/config_txt.html, boot options):
//! - a trial boot reads tryboot.txt instead of config.txt; the boot after any reset reads config.txt;
//! - `os_prefix` is put in front of the names of kernel, device tree and command line, but ignored if kernel or
//!   device tree do not exist with it;
//! - overlays are read from `os_prefix` + `overlay_prefix` only if a README exists there, otherwise from
//!   `overlay_prefix`;
//! - `initramfs NAME followkernel` names a file; `auto_initramfs=1` chooses the file that corresponds to the kernel:
//!   `initramfs8` for `kernel8.img`.

use super::config::Config;
use super::{model, prefix};
use crate::read::{BootError, exists, unclear};
use punctual_machine::Machine;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PiBoot {
    /// Any boot except a trial boot; also the boot after a trial boot.
    Ordinary,
    /// The boot after `reboot '0 tryboot'`.
    Trial,
}

/// The files that the firmware loads, relative to the boot directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PiStart {
    pub settings: &'static str,
    /// Path of the kernel, which may not exist (see [`PiStart::has_kernel`]).
    pub kernel: String,
    pub has_kernel: bool,
    /// The prefix in effect; empty if none is set, or if it is ignored.
    pub prefix: String,
    /// True if a prefix is ignored because kernel or device tree do not exist with it.
    pub prefix_ignored: bool,
    pub overlays: String,
    pub cmdline: String,
    pub initramfs: Option<String>,
}

/// Returns the files that the firmware loads from `folder` on a board whose default kernel is `usual` (for example
/// `kernel8.img`).
///
/// # Errors
/// A file cannot be read, or the result depends on a condition that is not known: a pin, a display, a partition.
pub fn firmware_start(view: &dyn Machine, folder: &str, boot: PiBoot, usual: &str) -> Result<PiStart, BootError> {
    let is_trial = boot == PiBoot::Trial;
    let settings = if is_trial { "tryboot.txt" } else { "config.txt" };
    if is_trial && exists(view, &format!("{folder}/autoboot.txt")) {
        return Err(unclear(
            &format!("{folder}/autoboot.txt"),
            "tryboot uses it to choose a partition and does not read tryboot.txt",
        ));
    }
    let config = Config::read_file(view, folder, settings, is_trial, model(view).as_deref())?;
    let set = config.value("os_prefix")?.is_some_and(|text| !text.is_empty());
    let prefix = prefix(view, folder, &config)?;
    let name = config.value("kernel")?.unwrap_or(usual).to_owned();
    let overlay = config.value("overlay_prefix")?.unwrap_or("overlays/").to_owned();
    let own = format!("{prefix}{overlay}");
    let has_own = !prefix.is_empty() && exists(view, &format!("{folder}/{own}README"));
    let kernel = format!("{prefix}{name}");
    Ok(PiStart {
        settings,
        has_kernel: exists(view, &format!("{folder}/{kernel}")),
        prefix_ignored: set && prefix.is_empty(),
        overlays: if has_own { own } else { overlay },
        cmdline: format!("{prefix}{}", config.value("cmdline")?.unwrap_or("cmdline.txt")),
        initramfs: initramfs(view, folder, &config, &prefix, &name)?,
        kernel,
        prefix,
    })
}

fn initramfs(
    view: &dyn Machine,
    folder: &str,
    config: &Config,
    prefix: &str,
    kernel: &str,
) -> Result<Option<String>, BootError> {
    if let Some(line) = config.value("initramfs")? {
        return Ok(line.split_whitespace().next().map(|name| format!("{prefix}{name}")));
    }
    if config.value("auto_initramfs")? != Some("1") {
        return Ok(None);
    }
    let Some(rest) = kernel.strip_prefix("kernel") else { return Ok(None) };
    let name = format!("initramfs{}", rest.strip_suffix(".img").unwrap_or(rest));
    Ok(exists(view, &format!("{folder}/{prefix}{name}")).then(|| format!("{prefix}{name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_machine::{Read, Recorded};

    fn card(files: &[(&str, &str)]) -> Recorded {
        let mut machine = Recorded::default();
        let usual = [("kernel8.img", "x"), ("initramfs8", "x"), ("bcm2711-rpi-4-b.dtb", "x"), ("overlays/README", "x")];
        for (name, text) in usual.iter().chain(files) {
            machine.set(&format!("/b/{name}"), Read::Known(text.as_bytes().to_vec()));
        }
        machine.set("/proc/device-tree/model", Read::Known(b"Raspberry Pi 4 Model B Rev 1.4".to_vec()));
        machine
    }

    fn start(files: &[(&str, &str)], boot: PiBoot) -> Result<PiStart, BootError> {
        firmware_start(&card(files), "/b", boot, "kernel8.img")
    }

    const CONFIG: (&str, &str) = ("config.txt", "auto_initramfs=1\n");
    const TRYBOOT: (&str, &str) = ("tryboot.txt", "auto_initramfs=1\n[all]\nos_prefix=rt/\n");

    #[test]
    fn a_trial_is_for_one_boot_and_a_reset_returns() {
        let files =
            [CONFIG, TRYBOOT, ("rt/kernel8.img", "x"), ("rt/bcm2711-rpi-4-b.dtb", "x"), ("rt/overlays/README", "x")];
        let trial = start(&files, PiBoot::Trial).unwrap();
        assert_eq!((trial.settings, trial.kernel.as_str(), trial.has_kernel), ("tryboot.txt", "rt/kernel8.img", true));
        assert_eq!((trial.overlays.as_str(), trial.cmdline.as_str()), ("rt/overlays/", "rt/cmdline.txt"));
        // There is no initramfs with this prefix, so none is loaded.
        assert_eq!(trial.initramfs, None);
        let after = start(&files, PiBoot::Ordinary).unwrap();
        assert_eq!((after.settings, after.kernel.as_str()), ("config.txt", "kernel8.img"));
        assert_eq!(after.initramfs.as_deref(), Some("initramfs8"));
    }

    #[test]
    fn a_prefix_without_kernel_or_device_tree_starts_the_old_kernel() {
        for missing in [&[("rt/kernel8.img", "x")][..], &[("rt/bcm2711-rpi-4-b.dtb", "x")], &[]] {
            let files: Vec<(&str, &str)> = [CONFIG, TRYBOOT].iter().chain(missing).copied().collect();
            let trial = start(&files, PiBoot::Trial).unwrap();
            assert!(trial.prefix_ignored && trial.kernel == "kernel8.img", "{trial:?}");
            assert_eq!(trial.initramfs.as_deref(), Some("initramfs8"));
        }
    }

    #[test]
    fn a_prefix_may_be_the_beginning_of_names() {
        let files = [("config.txt", "os_prefix=rt-\n"), ("rt-kernel8.img", "x"), ("rt-bcm2711-rpi-4-b.dtb", "x")];
        let start = start(&files, PiBoot::Ordinary).unwrap();
        assert_eq!(
            (start.kernel.as_str(), start.has_kernel, start.overlays.as_str()),
            ("rt-kernel8.img", true, "overlays/")
        );
    }

    #[test]
    fn overlays_follow_the_prefix_only_with_a_readme() {
        let files =
            [CONFIG, TRYBOOT, ("rt/kernel8.img", "x"), ("rt/bcm2711-rpi-4-b.dtb", "x"), ("rt/overlays/spi.dtbo", "x")];
        assert_eq!(start(&files, PiBoot::Trial).unwrap().overlays, "overlays/");
    }

    #[test]
    fn sections_hold_for_their_board_and_boot() {
        let text = "[pi5]\nkernel=five.img\n[tryboot]\nkernel=trial.img\n[all]\ninitramfs own.gz followkernel\n";
        let ordinary = start(&[("config.txt", text)], PiBoot::Ordinary).unwrap();
        assert_eq!((ordinary.kernel.as_str(), ordinary.initramfs.as_deref()), ("kernel8.img", Some("own.gz")));
        let trial = start(&[CONFIG, ("tryboot.txt", text)], PiBoot::Trial);
        // [pi5] and [tryboot] are of different kinds, so both must apply.
        assert_eq!(trial.unwrap().kernel, "kernel8.img");
        let alone = start(&[CONFIG, ("tryboot.txt", "[tryboot]\nkernel=trial.img\n")], PiBoot::Trial).unwrap();
        assert_eq!((alone.kernel.as_str(), alone.has_kernel), ("trial.img", false));
    }

    #[test]
    fn what_cannot_be_known_is_an_error() {
        assert!(matches!(start(&[CONFIG], PiBoot::Trial), Err(BootError::Missing { .. })));
        assert!(start(&[CONFIG, TRYBOOT, ("autoboot.txt", "[all]\n")], PiBoot::Trial).is_err());
        assert!(start(&[("config.txt", "[gpio4=1]\nkernel=x.img\n")], PiBoot::Ordinary).is_err());
    }
}
