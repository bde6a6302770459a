//! `cargo xtask release`: writes programs, packages, archives, bills of materials and checksums to dist/.

use super::{PROGRAMS, STAGE, archive, copy, files, make, package, remove, sbom, write};
use crate::{cross, root, target_dir};
use std::process::Command;

/// Builds everything for the targets. Removes an earlier release from dist/ first.
pub fn run(wanted: &str) -> Result<(), String> {
    let dist = root().join("dist");
    remove(&dist)?;
    make(&dist)?;
    for target in cross::wanted(wanted) {
        let deb = package(target)?;
        println!("{}", deb.display());
        let built = target_dir().join(target.triple).join("dist");
        for program in PROGRAMS.map(cross::program) {
            copy(&built.join(program), &dist.join(format!("{program}-{}-{}", env!("CARGO_PKG_VERSION"), target.name)))?;
        }
        let archive = dist.join(format!("punctual-{}-{}.tar.gz", env!("CARGO_PKG_VERSION"), target.name));
        archive::write(&root().join(STAGE), &archive, archive::epoch()?)?;
        println!("{}", archive.display());
        let bill = sbom::bill(target)?;
        write(&dist.join(format!("punctual-{}-{}.cdx.json", env!("CARGO_PKG_VERSION"), target.name)), &bill)?;
    }
    checksums(&dist)
}

/// Writes checksums in the format of sha256sum(1). `sha256sum --check SHA256SUMS` checks them.
fn checksums(dist: &std::path::Path) -> Result<(), String> {
    let all = files(dist)?;
    let names = all.iter().filter_map(|path| path.file_name());
    let done = Command::new("sha256sum").args(names).current_dir(dist).output();
    let done = done.map_err(|e| format!("sha256sum (coreutils): {e}"))?;
    if !done.status.success() {
        return Err(format!("sha256sum: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    write(&dist.join("SHA256SUMS"), &String::from_utf8_lossy(&done.stdout))?;
    println!("{}", dist.join("SHA256SUMS").display());
    Ok(())
}
