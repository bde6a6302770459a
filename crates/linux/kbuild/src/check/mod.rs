//! Checks that the contents of a package match its name. Each check is based on a fault of a kernel that was shipped or
//! booted: no real-time support in a kernel named -rt, silently dropped options, modules of another build, no drivers
//! for the board's keyboard or SPI.

mod banner;
mod modules;
mod needs;

pub use banner::{Banner, banner};
pub use modules::{Module, expected_vermagic, modules};

use crate::KbuildError;
use punctual_kernel::Board;
use punctual_kernel::config::{Options, of_config};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Pass,
    Fail,
    /// It could not be checked, which does not count as a pass.
    Unknown,
    Skip,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    pub id: String,
    pub outcome: Outcome,
    pub found: String,
    /// Command or advice that fixes the problem; empty if nothing has to be done.
    pub fix: String,
}

fn check(id: &str, outcome: Outcome, found: impl Into<String>, fix: &str) -> Check {
    let fix = if matches!(outcome, Outcome::Pass | Outcome::Skip) { String::new() } else { fix.to_owned() };
    Check { id: id.to_owned(), outcome, found: found.into(), fix }
}

#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// The expected output of `uname -r`.
    pub release: &'w str,
    /// Requested options; `None` if unknown.
    pub requested: Option<&'w Options>,
    pub board: Option<&'w Board>,
}

/// Checks the unpacked files of a package: `boot/vmlinuz-R`, `boot/config-R`, `lib/modules/R`.
pub fn package(root: &Path, wanted: &Wanted) -> Result<Vec<Check>, KbuildError> {
    let release = wanted.release;
    let image = root.join("boot").join(format!("vmlinuz-{release}"));
    let banner = banner(&fs::read(&image).map_err(KbuildError::file("read", &image))?);
    let path = root.join("boot").join(format!("config-{release}"));
    let config = of_config(&fs::read_to_string(&path).map_err(KbuildError::file("read", &path))?);
    let modules = modules(&root.join("lib/modules").join(release))?;
    Ok(vec![
        named(release, banner.as_ref()),
        real_time(wanted, banner.as_ref(), &config),
        requested(wanted, &config),
        modules::vermagic_check(release, &config, &modules),
        needs::check(wanted.board, &config, &modules),
    ])
}

fn named(release: &str, banner: Option<&Banner>) -> Check {
    const UNREAD: &str = "the image's compression is not supported here: boot it and check uname -r and uname -v, or set CONFIG_KERNEL_GZIP=y";
    match banner {
        None => check("release", Outcome::Unknown, "the image does not contain its version", UNREAD),
        Some(banner) if banner.release == release => check("release", Outcome::Pass, release, ""),
        Some(banner) => {
            let found = format!("the image is {}, the package {release}", banner.release);
            check("release", Outcome::Fail, found, "package image and modules of the same build")
        }
    }
}

fn is_named_rt(release: &str) -> bool {
    release
        .split(['-', '_', '+', '.'])
        .any(|word| word.strip_prefix("rt").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())))
}

/// Checks for real-time support in the image itself, because a configuration next to it may belong to another build.
fn real_time(wanted: &Wanted, banner: Option<&Banner>, config: &Options) -> Check {
    let id = "preempt-rt";
    let asked = |name: &str| wanted.requested.is_some_and(|all| all.get(name).is_some_and(|v| v.text() == "y"));
    let is_asked = asked("PREEMPT_RT") || asked("PREEMPT_RT_FULL");
    let on = |name: &str| config.get(name).is_some_and(|value| value.text() == "y");
    let configured = on("PREEMPT_RT") || on("PREEMPT_RT_FULL");
    if !is_asked && !is_named_rt(wanted.release) && !configured {
        return check(id, Outcome::Skip, "real-time support is neither requested nor part of the name", "");
    }
    const FIX: &str = "run punctual kernel configure with CONFIG_EXPERT=y and CONFIG_PREEMPT_RT=y, and build again";
    let Some(banner) = banner else {
        return check(id, Outcome::Unknown, "the image does not contain its version", "boot it and check uname -v");
    };
    match (banner.is_rt(), configured) {
        (true, true) => check(id, Outcome::Pass, banner.version.clone(), ""),
        (true, false) => check(id, Outcome::Fail, "the image is PREEMPT_RT, the configuration next to it is not", FIX),
        (false, _) => {
            let found = format!("{} is not a real-time kernel: uname -v will be `{}`", wanted.release, banner.version);
            check(id, Outcome::Fail, found, FIX)
        }
    }
}

fn requested(wanted: &Wanted, config: &Options) -> Check {
    let id = "requested";
    let Some(all) = wanted.requested else {
        let fix = "punctual kernel configure saves the requested options next to .config";
        return check(id, Outcome::Unknown, "the requested options are unknown", fix);
    };
    let got = |symbol: &str| config.get(symbol).map_or("n", |value| value.text());
    let is_same = |wanted: &str, got: &str| got == wanted || (wanted == "\"\"" && got == "n");
    let lost = all.iter().filter(|(symbol, value)| !is_same(value.text(), got(symbol)));
    let lost: Vec<String> = lost.map(|(s, value)| format!("CONFIG_{s}: requested {value}, is {}", got(s))).collect();
    match lost.as_slice() {
        [] => check(id, Outcome::Pass, format!("all {} requested options are set", all.len()), ""),
        lost => check(id, Outcome::Fail, lost.join("; "), "punctual kernel configure lists what each depends on"),
    }
}

#[cfg(test)]
mod tests;
