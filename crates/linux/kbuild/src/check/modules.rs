//! Checks that each module belongs to this kernel, which refuses modules with another vermagic
//! (kernel/module/version.c).

use super::{Check, Outcome};
use crate::KbuildError;
use crate::files::below;
use punctual_kernel::config::Options;
use punctual_kernel::programs::run;
use std::fs;
use std::path::Path;
use std::process::Command;

const TAG: &[u8] = b"\0vermagic=";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Module name, with `_` where the file name has `-`.
    pub name: String,
    pub vermagic: Option<String>,
}

/// Returns all modules below `lib/modules/RELEASE`; empty if the folder does not exist.
pub fn modules(folder: &Path) -> Result<Vec<Module>, KbuildError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for path in below(folder)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((stem, packing)) = file.split_once(".ko") else { continue };
        let Some(bytes) = unpacked(&folder.join(&path), packing)? else { continue };
        all.push(Module { name: stem.replace('-', "_"), vermagic: vermagic(&bytes) });
    }
    Ok(all)
}

fn unpacked(path: &Path, packing: &str) -> Result<Option<Vec<u8>>, KbuildError> {
    let program = match packing {
        "" => return fs::read(path).map(Some).map_err(KbuildError::file("read", path)),
        ".xz" => "xz",
        ".zst" => "zstd",
        ".gz" => "gzip",
        _ => return Ok(None),
    };
    let ran = run(Command::new(program).arg("-dc").arg(path), b"", "apt-get install xz-utils zstd gzip")?;
    match ran.status.success() {
        true => Ok(Some(ran.stdout)),
        false => Err(KbuildError::bad(path, format!("{program} cannot unpack it: {}; package it again", ran.stderr))),
    }
}

fn vermagic(object: &[u8]) -> Option<String> {
    let at = object.windows(TAG.len()).position(|window| window == TAG)? + TAG.len();
    let text: Vec<u8> = object[at..].iter().take_while(|b| **b != 0).copied().collect();
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Returns the start of the vermagic for a configuration (include/linux/vermagic.h); the rest depends on the
/// architecture.
pub fn expected_vermagic(release: &str, config: &Options) -> String {
    let on = |name: &str| config.get(name).is_some_and(|value| value.text() == "y");
    // PREEMPT_BUILD came with 5.14; before that PREEMPT selected full preemption.
    let is_preempt = (on("PREEMPT_BUILD") || on("PREEMPT")) && !on("PREEMPT_RT");
    let mut words = vec![release];
    let parts = [
        (on("SMP"), "SMP"),
        (on("PREEMPT_RT"), "preempt_rt"),
        (is_preempt, "preempt"),
        (on("MODULE_UNLOAD"), "mod_unload"),
        (on("MODVERSIONS"), "modversions"),
    ];
    words.extend(parts.into_iter().filter(|(is_on, _)| *is_on).map(|(_, word)| word));
    words.join(" ")
}

pub(super) fn vermagic_check(release: &str, config: &Options, modules: &[Module]) -> Check {
    let expected = expected_vermagic(release, config);
    let fits = |module: &&Module| {
        let rest = module.vermagic.as_deref().and_then(|magic| magic.strip_prefix(&expected));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let strange: Vec<&Module> = modules.iter().filter(|module| !fits(module)).collect();
    let wanted = config.values().filter(|value| value.text() == "m").count();
    if let Some(first) = strange.first() {
        let magic = first.vermagic.as_deref().unwrap_or("no vermagic");
        let found = format!(
            "{} of {} modules are for another kernel: {} has `{magic}`, expected `{expected}`",
            strange.len(),
            modules.len(),
            first.name
        );
        return super::check(
            "vermagic",
            Outcome::Fail,
            found,
            "make modules_install of the same build, into an empty folder",
        );
    }
    if modules.is_empty() && wanted > 0 {
        let found = format!("{wanted} options are m, but the package has no modules");
        return super::check("vermagic", Outcome::Fail, found, "package the modules too (kernel package does so)");
    }
    super::check("vermagic", Outcome::Pass, format!("{} modules, `{expected}`", modules.len()), "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_kernel::config::of_config;

    #[test]
    fn the_expected_vermagic_follows_the_configuration() {
        let rt = of_config("CONFIG_SMP=y\nCONFIG_PREEMPT_RT=y\nCONFIG_MODULE_UNLOAD=y\n");
        assert_eq!(expected_vermagic("6.12.9-x", &rt), "6.12.9-x SMP preempt_rt mod_unload");
        let stock = of_config("CONFIG_PREEMPT_BUILD=y\nCONFIG_MODVERSIONS=y\n");
        assert_eq!(expected_vermagic("6.12.9", &stock), "6.12.9 preempt modversions");
        // The patch of 4.19 adds no word to the vermagic; CONFIG_PREEMPT is enabled with it.
        let classic = of_config("CONFIG_SMP=y\nCONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT_FULL=y\nCONFIG_MODULE_UNLOAD=y\n");
        assert_eq!(
            expected_vermagic("4.19.127-rt55-punctual-rt", &classic),
            "4.19.127-rt55-punctual-rt SMP preempt mod_unload"
        );
        assert_eq!(vermagic(b"\x7fELF\0vermagic=6.12.9 preempt \0license=GPL\0").unwrap(), "6.12.9 preempt");
        assert_eq!(vermagic(b"\x7fELF"), None);
    }
}
