//! Checks that a configuration keeps the drivers of the machine's root disk, network cards and consoles.

mod disk;
mod table;

use super::{Check, Given, Outcome, check};
use crate::config::Options;
use punctual_machine::{Listing, Machine, parameters};
use table::{CONSOLES, NETWORK, option_of};

/// A driver that the machine uses.
pub(super) struct Needed {
    /// Name of the driver or console, as the machine shows it.
    pub name: String,
    /// Kernel options, any one of which builds the driver; `None` if they are unknown.
    pub any: Option<Vec<&'static str>>,
}

impl Needed {
    fn new(name: impl Into<String>, any: &[&'static str]) -> Needed {
        Needed { name: name.into(), any: Some(any.to_vec()) }
    }
}

const GIVE: &str =
    "configure first, then run it on the machine, or with its files (--root DIR), with --config build/.config";

pub fn checks(given: &Given) -> Vec<Check> {
    vec![
        judged(
            given,
            "root-disk",
            "a kernel without the driver for its root disk stops before init",
            disk::needed,
            true,
        ),
        judged(
            given,
            "network-card",
            "a kernel without the network card's driver cannot be reached over ssh",
            cards,
            true,
        ),
        judged(
            given,
            "machine-console",
            "a console whose driver is not built in shows nothing of a boot that fails",
            consoles,
            false,
        ),
    ]
}

fn judged(
    given: &Given,
    id: &'static str,
    why: &'static str,
    look: fn(&dyn Machine) -> Result<Vec<Needed>, String>,
    may_be_module: bool,
) -> Check {
    let (Some(options), Some(target)) = (given.config, given.target) else {
        return check(id, why, Outcome::Unknown, "configuration or machine is not given", GIVE);
    };
    let needed = match look(target) {
        Err(error) => return check(id, why, Outcome::Unknown, error, "compare manually: lsmod on the machine"),
        Ok(needed) if needed.is_empty() => return check(id, why, Outcome::Skip, "the machine has no such driver", ""),
        Ok(needed) => needed,
    };
    let of = |value: &str| named(&needed, options, value);
    let (off, modules, unknown) = (of("n"), of("m"), named_unknown(&needed));
    if !off.is_empty() {
        let fix = format!("punctual kernel configure --config RUNNING, or set them in a fragment: {}", off.join(", "));
        return check(id, why, Outcome::Fail, format!("off, but in use: {}", off.join(", ")), &fix);
    }
    if !unknown.is_empty() {
        let found = format!("the option of the driver {} is unknown", unknown.join(", "));
        return check(
            id,
            why,
            Outcome::Unknown,
            found,
            "search for it: grep -r 'MODULE_ALIAS\\|\\.name' drivers, or modinfo on the machine",
        );
    }
    if !modules.is_empty() && !may_be_module {
        return check(id, why, Outcome::Warn, format!("modules: {}", modules.join(", ")), "set them to y, not m");
    }
    if id == "root-disk" && !modules.is_empty() && given.board.pi.is_some() {
        let found = format!("modules: {}", modules.join(", "));
        return check(id, why, Outcome::Warn, found, "set them to y, or boot the kernel with its own initramfs");
    }
    let names: Vec<&str> = needed.iter().map(|n| n.name.as_str()).collect();
    check(id, why, Outcome::Pass, format!("in it: {}", names.join(", ")), "")
}

fn best<'n>(needed: &'n Needed, options: &Options) -> Option<(&'n str, &'n [&'static str], &'static str)> {
    let any = needed.any.as_deref()?;
    let value = |name: &&str| options.get(*name).map_or("n", |value| value.text());
    let has = |wanted: &str| any.iter().any(|name| value(name) == wanted);
    let found = if has("y") {
        "y"
    } else if has("m") {
        "m"
    } else {
        "n"
    };
    Some((&needed.name, any, found))
}

/// Lists the drivers whose option has the value `value` in the configuration, as `CONFIG_OPTION (driver)`.
fn named(needed: &[Needed], options: &Options, value: &str) -> Vec<String> {
    let all = needed.iter().filter_map(|n| best(n, options)).filter(|(.., found)| *found == value);
    all.map(|(name, any, _)| format!("CONFIG_{} ({name})", any.join(" or CONFIG_"))).collect()
}

fn named_unknown(needed: &[Needed]) -> Vec<String> {
    needed.iter().filter(|n| n.any.is_none()).map(|n| n.name.clone()).collect()
}

/// Reads DRIVER from the device's uevent (drivers/base/core.c, dev_uevent).
fn driver(view: &dyn Machine, device: &str) -> Option<String> {
    let read = view.read(&format!("{device}/uevent"));
    read.text()?.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned)
}

/// Returns drivers of the network interfaces that have a device.
fn cards(view: &dyn Machine) -> Result<Vec<Needed>, String> {
    const NETS: &str = "/sys/class/net";
    let names = match view.list(NETS) {
        Listing::Known(names) => names,
        other => return Err(format!("{NETS} cannot be listed: {other:?}")),
    };
    let mut all: Vec<Needed> = Vec::new();
    for name in names {
        let device = format!("{NETS}/{name}/device");
        let Some(driver) = driver(view, &device) else { continue };
        if !all.iter().any(|n| n.name == driver) {
            all.push(Needed { any: option_of(NETWORK, &driver), name: driver });
        }
    }
    Ok(all)
}

/// Returns drivers of the consoles in use (/proc/consoles) or, if that file cannot be read, of those on the command
/// line.
fn consoles(view: &dyn Machine) -> Result<Vec<Needed>, String> {
    let registered = view.read("/proc/consoles");
    let names: Vec<String> = match registered.text() {
        Some(text) => text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect(),
        None => {
            let line = view.read("/proc/cmdline");
            let line = line.text().ok_or("neither /proc/consoles nor /proc/cmdline can be read")?;
            let words = parameters(line);
            let values = words.iter().filter_map(|word| word.strip_prefix("console="));
            values.filter_map(|value| Some(value.split(',').next()?.to_owned())).collect()
        }
    };
    let needed = |name: String| {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Needed { any: CONSOLES.iter().find(|(start, _)| *start == kind).map(|(_, any)| any.to_vec()), name }
    };
    Ok(names.into_iter().filter(|name| !matches!(name.as_str(), "null" | "ttynull")).map(needed).collect())
}

/// Returns the options of all console drivers in the table, any one of which provides a console.
pub(super) fn console_options() -> impl Iterator<Item = &'static str> {
    CONSOLES.iter().flat_map(|(_, any)| any.iter().copied())
}

#[cfg(test)]
mod tests;
