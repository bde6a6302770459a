//! A newer emulator from the distribution's backports, unpacked into the cache and not installed.

use crate::apt::{self, Apt};
use crate::arch::Arch;
use crate::cache::Cache;
use crate::error::VmError;
use crate::machine::Machine;
use std::fs;
use std::path::PathBuf;

const SUITE: &str = "-backports";
/// Packages with the emulator's keymaps and ROMs.
const WITH: [&str; 2] = ["qemu-system-common", "qemu-system-data"];

/// Returns the path of the emulator. Downloads about 13 MB, once for each version.
pub fn emulator(machine: Machine, since: (u32, u32), cache: &Cache) -> Result<PathBuf, VmError> {
    let facts = machine.facts();
    let arch = Arch::host().unwrap_or(Arch::Amd64);
    let apt = Apt::open_suite(cache, arch, SUITE)?;
    let version = apt.version(facts.package)?.ok_or_else(|| {
        VmError::Usage(format!(
            "the backports of this distribution have no {}: install a QEMU that supports {machine} ({}.{})",
            facts.package, since.0, since.1
        ))
    })?;
    let name = format!("{}_{}", facts.package, version.replace([':', '/'], "_"));
    let folder = cache.folder(&name, |folder| {
        for package in [facts.package].into_iter().chain(WITH) {
            let place = folder.join(package);
            fs::create_dir_all(&place).map_err(VmError::file("make", &place))?;
            apt::unpack(&apt.download(package, &place)?, folder)?;
            fs::remove_dir_all(&place).map_err(VmError::file("remove", &place))?;
        }
        Ok(())
    })?;
    Ok(folder.join("usr/bin").join(facts.emulator))
}
