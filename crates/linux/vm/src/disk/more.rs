use super::image::{DiskImage, PACKAGES, skeleton, unpack};
use crate::apt::Apt;
use crate::arch::Arch;
use crate::cache::Cache;
use crate::error::VmError;
use crate::tools;
use flate2::Crc;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKED: &str = "packages.tar";

impl DiskImage {
    /// Builds a tar archive of packages and all their dependencies, without those in every image. Unpacked at the root
    /// of a guest, it adds their files and runs none of their scripts. The archive is cached; a newer version of a
    /// package causes a new archive to be built.
    ///
    /// # Errors
    /// Something is not installed here (the error names the package), or there is no network.
    pub fn more(cache: &Cache, packages: &[&str]) -> Result<PathBuf, VmError> {
        let apt = Apt::open(cache, Arch::Amd64)?;
        let there = apt.closure(&PACKAGES)?;
        let all: Vec<&str> = PACKAGES.iter().chain(packages).copied().collect();
        let files: Vec<String> = apt.closure(&all)?.into_iter().filter(|file| !there.contains(file)).collect();
        let mut sum = Crc::new();
        files.iter().for_each(|file| sum.update(file.as_bytes()));
        let folder = cache.folder(&format!("packages-amd64-{:08x}", sum.sum()), |folder| make(folder, &apt, &files))?;
        Ok(folder.join(PACKED))
    }
}

fn make(folder: &Path, apt: &Apt, files: &[String]) -> Result<(), VmError> {
    let root = folder.join("root");
    skeleton(&root)?;
    for package in files.iter().filter_map(|file| file.split('_').next()) {
        let at = folder.join(package);
        fs::create_dir_all(&at).map_err(VmError::file("make", &at))?;
        unpack(&apt.download(package, &at)?, &root)?;
        fs::remove_dir_all(&at).map_err(VmError::file("remove", &at))?;
    }
    // The links to the merged directories are omitted, because they are in use where the archive is unpacked.
    let mut tar = Command::new("tar");
    tar.args(["--owner=0", "--group=0", "-cf"]).arg(folder.join(PACKED)).arg("-C").arg(&root).args(["usr", "etc"]);
    tools::output(&mut tar, "install it: apt-get install tar")?;
    fs::remove_dir_all(&root).map_err(VmError::file("remove", &root))
}
