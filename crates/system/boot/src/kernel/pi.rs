//! The Raspberry Pi's firmware: `os_prefix` in tryboot.txt for one boot, or in config.txt permanently.
//!
//! [`crate::firmware_start`], a model of the firmware's rules, checks what will boot.

use super::{NewKernel, PI_WATCHDOG_S};
use crate::Change;
use crate::pi::{folder, line, one_line};
use crate::plan::{Refusal, Trial};
use crate::read::{BootError, exists, required, text};
use crate::words::{rewrite, words};
use punctual_machine::Machine;
use punctual_model::{Argv, Edit};

const MARK: &str = "# punctual: kernel ";

pub fn trial(view: &dyn Machine, kernel: &NewKernel) -> Result<Trial, Refusal> {
    let stop = |error: BootError| Refusal::new(error.to_string());
    let folder = folder(view).ok_or_else(|| Refusal::new("config.txt was not found"))?;
    if exists(view, &format!("{folder}/autoboot.txt")) {
        return Err(Refusal::new(
            "autoboot.txt exists: tryboot then chooses a partition and does not read tryboot.txt",
        ));
    }
    let config = required(view, &format!("{folder}/config.txt")).map_err(stop)?;
    if config.lines().any(|line| line.trim().eq_ignore_ascii_case("[tryboot]")) {
        return Err(Refusal::new(
            "config.txt has a [tryboot] section that punctual did not write and that would apply to the trial boot",
        ));
    }
    let path = format!("{folder}/tryboot.txt");
    if text(view, &path).map_err(stop)?.is_some_and(|old| !old.contains("# punctual: ")) {
        return Err(Refusal::by_hand(
            format!("{path} already exists and was not written by punctual"),
            format!("mv {path} {path}.before"),
        ));
    }
    let line = cmdline(view, &kernel.once())?;
    let watchdog = format!("kernel_watchdog_timeout={PI_WATCHDOG_S}\n");
    Ok(Trial {
        words: words(&line),
        edits: vec![
            Edit::write(format!("{folder}/{}/cmdline.txt", kernel.folder), line),
            Edit::write(path, settings(&config, kernel) + &watchdog),
        ],
        // The trial is selected by the argument of the reboot command.
        arm: None,
        reboot: Argv::new(["reboot", "0 tryboot"]),
        unattended: true,
        fallback: format!(
            "any reset returns to config.txt; a panic resets after 10 s; the firmware's watchdog resets after {PI_WATCHDOG_S} s \
             unless the kernel takes it over"
        ),
        visible: "/proc/device-tree/chosen/bootloader/tryboot is 1".to_owned(),
    })
}

pub fn kept(view: &dyn Machine, kernel: &NewKernel) -> Result<Vec<Edit>, Refusal> {
    let stop = |error: BootError| Refusal::new(error.to_string());
    let folder = folder(view).ok_or_else(|| Refusal::new("config.txt was not found"))?;
    let path = format!("{folder}/config.txt");
    let config = required(view, &path).map_err(stop)?;
    let line = cmdline(view, &kernel.for_good())?;
    Ok(vec![
        Edit::write(format!("{folder}/{}/cmdline.txt", kernel.folder), line),
        Edit::remove(format!("{folder}/tryboot.txt")),
        // Written last, because from then on the new kernel boots by default, and its command line must exist.
        Edit::write(path, settings(&config, kernel)),
    ])
}

/// Returns the settings without an older block that punctual wrote, followed by the settings that start the new kernel.
fn settings(config: &str, kernel: &NewKernel) -> String {
    let old = config.find(&format!("\n[all]\n{MARK}")).and_then(|at| config.get(..at)).unwrap_or(config);
    let end = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    // The block must be last, because the last value counts.
    let initramfs = match &kernel.initrd {
        Some(name) => format!("auto_initramfs=0\ninitramfs {name} followkernel\n"),
        None => "auto_initramfs=0\n".to_owned(),
    };
    format!(
        "{old}{end}\n[all]\n{MARK}{}\nos_prefix={}/\nkernel={}\ncmdline=cmdline.txt\n{initramfs}",
        kernel.release, kernel.folder, kernel.image
    )
}

/// Returns the default command line with the change applied. It is read without punctual's prefix, so it is the old
/// kernel's command line.
fn cmdline(view: &dyn Machine, change: &Change) -> Result<String, Refusal> {
    let (path, line) = line(view).map_err(|error| Refusal::new(error.to_string()))?;
    one_line(&path, &line).map_err(|error| Refusal::new(error.to_string()))?;
    let old: Vec<String> = words(&line).into_iter().filter(|word| !word.starts_with("punctual.trial=")).collect();
    rewrite(&format!("{}\n", old.join(" ")), change).map_err(|why| Refusal::new(why.word()))
}
