//! The Raspberry Pi's firmware. config.txt names cmdline.txt, which has one line; tryboot.txt replaces config.txt for
//! one boot.

mod config;
mod firmware;

pub use firmware::{PiBoot, PiStart, firmware_start};

use crate::current::Configured;
use crate::plan::{Plan, Stop, Trial};
use crate::read::{BootError, exists, hint, listed, names, required, running, unclear};
use crate::words::{is_space, rewrite, words};
use crate::{Change, length};
use config::{Config, is_plain};
use punctual_machine::Machine;
use punctual_model::{Argv, Edit};

/// Boot directories of Raspberry Pi OS 12 and Ubuntu; of earlier releases; of Fedora and openSUSE, where config.txt
/// starts U-Boot.
const FOLDERS: &[&str] = &["/boot/firmware", "/boot", "/boot/efi"];

const TRIAL: &str = "cmdline-punctual-trial.txt";
const MARK: &str = "# punctual: one trial boot; not read otherwise, may be deleted";

pub(crate) fn folder(view: &dyn Machine) -> Option<&'static str> {
    FOLDERS.iter().copied().find(|folder| exists(view, &format!("{folder}/config.txt")))
}

/// Returns what config.txt starts instead of Linux: U-Boot or EFI firmware; `None` if it starts Linux.
pub(crate) fn loads(view: &dyn Machine) -> Option<String> {
    let config = Config::read(view, folder(view)?, model(view).as_deref()).ok()?;
    let is_loader = |name: &&str| {
        let name = name.to_ascii_lowercase();
        name.contains("u-boot") || name.contains("uboot") || name.contains("efi")
    };
    let found = config.may_be("kernel").chain(config.may_be("armstub")).find(is_loader);
    found.map(str::to_owned)
}

fn model(view: &dyn Machine) -> Option<String> {
    hint(view, "/proc/device-tree/model").or_else(|| hint(view, "/sys/firmware/devicetree/base/model"))
}

struct Boot {
    folder: &'static str,
    config: Config,
    /// Prefix of the names of kernel, command line and device tree. It ends in `/` if it is a directory.
    prefix: String,
    path: String,
    line: String,
}

fn read(view: &dyn Machine) -> Result<Boot, BootError> {
    let folder = folder(view).ok_or_else(|| BootError::Missing { path: "/boot/firmware/config.txt".to_owned() })?;
    let config = Config::read(view, folder, model(view).as_deref())?;
    let prefix = prefix(view, folder, &config)?;
    let name = config.value("cmdline")?.unwrap_or("cmdline.txt");
    if !is_plain(name) {
        return Err(unclear(
            &format!("{folder}/config.txt"),
            format!("`cmdline={name}` is not a file name in the boot folder"),
        ));
    }
    let path = format!("{folder}/{prefix}{name}");
    let line = required(view, &path)?;
    one_line(&path, &line)?;
    Ok(Boot { folder, config, prefix, path, line })
}

/// Returns the prefix in effect. The firmware ignores a prefix under which the kernel or the device tree does not exist.
fn prefix(view: &dyn Machine, folder: &str, config: &Config) -> Result<String, BootError> {
    let Some(prefix) = config.value("os_prefix")?.filter(|prefix| !prefix.is_empty()) else { return Ok(String::new()) };
    let path = format!("{folder}/config.txt");
    if !is_plain(prefix) {
        return Err(unclear(&path, format!("`os_prefix={prefix}` points outside the boot folder")));
    }
    let (inner, start) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    // A recorded machine has no paths with a trailing slash.
    let there = listed(view, format!("{folder}/{inner}").trim_end_matches('/'))?;
    let rest = |name: &String| name.strip_prefix(start).map(str::to_owned);
    let behind: Vec<String> = there.iter().filter_map(rest).collect();
    let is_kernel = |name: &String| match config.value("kernel") {
        Ok(Some(kernel)) => name == kernel,
        _ => name.starts_with("kernel") && name.ends_with(".img"),
    };
    let has_tree = behind.iter().any(|name| name.ends_with(".dtb"));
    Ok(if has_tree && behind.iter().any(is_kernel) { prefix.to_owned() } else { String::new() })
}

pub(crate) fn one_line(path: &str, line: &str) -> Result<(), BootError> {
    let is_blank = |c: char| is_space(c) || c == '\u{feff}';
    let is_filled = |line: &&str| !line.trim_matches(is_blank).is_empty();
    let filled = line.lines().filter(is_filled).count();
    let is_first = line.lines().next().is_some_and(|first| is_filled(&first));
    match filled {
        0 => Ok(()),
        1 if is_first => Ok(()),
        1 => Err(unclear(path, "the command line is not in the first line, the only one the firmware passes")),
        n => Err(unclear(path, format!("has {n} lines, but the firmware passes only one: join them manually first"))),
    }
}

pub(crate) fn line(view: &dyn Machine) -> Result<(String, String), BootError> {
    read(view).map(|boot| (boot.path, boot.line))
}

pub(crate) fn current(view: &dyn Machine) -> Result<Configured, BootError> {
    let boot = read(view)?;
    let configured = words(&boot.line);
    Ok(Configured {
        next: Some(configured.clone()),
        configured,
        running: running(view),
        sources: vec![boot.path],
        notes: vec!["the firmware puts other parameters before these".to_owned()],
    })
}

pub(crate) fn change(view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
    let boot = read(view)?;
    let line = rewrite(&boot.line, change)?;
    let mut plan = Plan::words(words(&boot.line), words(&line));
    if line == boot.line {
        return Ok(plan);
    }
    plan.notes.extend(length::check(view, &plan.before, &plan.after)?);
    if boot.line.starts_with('\u{feff}') {
        plan = plan.note(format!("{} begins with a byte order mark, which becomes part of its first word", boot.path));
    }
    match trial(view, &boot, change) {
        Ok(trial) => plan.trial = Some(trial),
        Err(why) => plan = plan.note(format!("no trial boot: {why}")),
    }
    plan.edits.push(Edit::write(&boot.path, line));
    Ok(plan)
}

/// Plans a trial: after `reboot "0 tryboot"` the firmware reads tryboot.txt instead of config.txt, once (Raspberry Pi
/// documentation, "tryboot").
fn trial(view: &dyn Machine, boot: &Boot, change: &Change) -> Result<Trial, String> {
    let path = format!("{}/tryboot.txt", boot.folder);
    let there = names(view, boot.folder);
    if there.iter().any(|name| name == "autoboot.txt") {
        return Err("autoboot.txt exists: tryboot then chooses a partition and does not read tryboot.txt".to_owned());
    }
    if boot.config.has_tryboot {
        return Err(
            "config.txt has a [tryboot] section that punctual did not write and that would apply to the trial boot"
                .to_owned(),
        );
    }
    let old = crate::read::text(view, &path).map_err(|error| error.to_string())?;
    if old.is_some_and(|text| !text.contains(MARK)) {
        return Err(format!("{path} already exists and was not written by punctual"));
    }
    let line = rewrite(&boot.line, &crate::trial::as_trial(change)).map_err(|why| why.word())?;
    let config = &boot.config.text;
    let end = if config.is_empty() || config.ends_with('\n') { "" } else { "\n" };
    let tryboot = format!("{config}{end}\n[all]\n{MARK}\ncmdline={TRIAL}\n");
    Ok(Trial {
        words: words(&line),
        edits: vec![Edit::write(format!("{}/{}{TRIAL}", boot.folder, boot.prefix), line), Edit::write(path, tryboot)],
        // The trial is selected by the argument of the reboot command.
        arm: None,
        reboot: Argv::new(["reboot", "0 tryboot"]),
        unattended: true,
        fallback:
            "any reset returns to config.txt; a panic resets after 10 s (panic=10); a hang needs the hardware watchdog \
            or a power cycle"
                .to_owned(),
        visible: "/proc/device-tree/chosen/bootloader/tryboot is 1".to_owned(),
    })
}
