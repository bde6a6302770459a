//! The distribution's kernel source, for kernels with options that its images lack.

use crate::apt::Apt;
use crate::arch::Arch;
use crate::cache::Cache;
use crate::error::VmError;
use crate::kernel::package_folder;
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PREFIX: &str = "linux-source-";
const XZ: &str = "install it: apt-get install tar xz-utils";

/// A source package, `linux-source-6.12`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    pub package: String,
    pub version: String,
    arch: Arch,
}

impl KernelSource {
    /// Returns the newest source package, or the newest of one series (`6.12`). Package lists older than a day are
    /// fetched again.
    ///
    /// # Errors
    /// The distribution has none, or there is no network or no apt.
    pub fn newest(series: Option<&str>, cache: &Cache) -> Result<KernelSource, VmError> {
        let arch = Arch::host().unwrap_or(Arch::Amd64);
        let apt = Apt::open(cache, arch)?;
        let package = newest(&apt.names(PREFIX)?, series);
        let found = match package {
            Some(package) => apt.version(&package)?.map(|version| KernelSource { package, version, arch }),
            None => None,
        };
        found.ok_or_else(|| {
            let wanted = series.map_or("linux-source-*".into(), |s| format!("{PREFIX}{s}"));
            VmError::NoKernel(format!("the distribution has no package {wanted}: see apt-cache search linux-source"))
        })
    }

    pub fn is_unpacked(&self, cache: &Cache) -> bool {
        cache.root().join(self.name()).is_dir()
    }

    /// Downloads the package (apt verifies its signature chain and checksum) and returns the tarball in it, about 150
    /// MB.
    ///
    /// # Errors
    /// There is no network, or no space.
    pub fn archive(&self, cache: &Cache) -> Result<PathBuf, VmError> {
        let package = package_folder(&self.package, self.arch, cache)?;
        let tar = package.join("usr/src").join(format!("{}.tar.xz", self.package));
        let lost = || VmError::NoKernel(format!("the package {} holds no usr/src/{0}.tar.xz", self.package));
        if tar.is_file() { Ok(tar) } else { Err(lost()) }
    }

    /// Downloads the package (apt verifies its signature chain and checksum), unpacks the tree in it, and returns the
    /// tree's folder: about 150 MB downloaded, 1.7 GB unpacked. Each finished step is kept; an interrupted step starts
    /// again.
    ///
    /// # Errors
    /// There is no network, no space, or no xz.
    pub fn unpack(&self, cache: &Cache) -> Result<PathBuf, VmError> {
        let folder = cache.folder(&self.name(), |folder| {
            let tar = self.archive(cache)?;
            tools::output(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(folder), XZ).map(drop)
        })?;
        tree_below(&folder)
    }

    fn name(&self) -> String {
        format!("{}_{}_tree", self.package, self.version.replace([':', '/'], "_"))
    }
}

/// Returns the folder that contains a kernel tree, recognised by its file Kbuild.
fn tree_below(folder: &Path) -> Result<PathBuf, VmError> {
    let entries = fs::read_dir(folder).map_err(VmError::file("read", folder))?;
    let found = entries.flatten().map(|e| e.path()).find(|path| path.join("Kbuild").is_file());
    found.ok_or_else(|| {
        VmError::NoKernel(format!("{} contains no kernel source: delete it and try again", folder.display()))
    })
}

/// Returns the newest package by its two numbers; `linux-source` itself and `linux-source-6.1-rt` do not name a series.
fn newest(names: &[String], series: Option<&str>) -> Option<String> {
    let numbers = |name: &String| {
        let (major, minor) = name.strip_prefix(PREFIX)?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let wanted = |name: &&String| series.is_none_or(|s| name.strip_prefix(PREFIX) == Some(s));
    let found = names.iter().filter(wanted).filter_map(|name| Some((numbers(name)?, name)));
    found.max().map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_series_is_by_number() {
        let names =
            ["linux-source-6.1", "linux-source-6.12", "linux-source-6.9", "linux-source-6.13-rt", "linux-source-x.y"];
        let names = names.map(String::from).to_vec();
        assert_eq!(newest(&names, None).unwrap(), "linux-source-6.12");
        assert_eq!(newest(&names, Some("6.1")).unwrap(), "linux-source-6.1");
        assert_eq!(newest(&names, Some("6.2")), None);
        assert_eq!(newest(&[], None), None);
    }

    #[test]
    fn a_tree_is_recognised_by_its_kbuild() {
        let folder = tempfile::tempdir().unwrap();
        assert!(tree_below(folder.path()).unwrap_err().to_string().contains("no kernel source"));
        let tree = folder.path().join("linux-source-6.12");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("Kbuild"), "").unwrap();
        assert_eq!(tree_below(folder.path()).unwrap(), tree);
    }
}
