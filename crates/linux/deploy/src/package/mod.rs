//! A kernel package: a folder, a tarball with manifest.json, or a .deb. It is checked before any of it is used.

mod arch;
mod manifest;
mod unpack;
mod vermagic;

pub use arch::arch_of_image;
pub use manifest::Manifest;
pub(crate) use vermagic::rt_option;
pub use vermagic::{Magic, wrong_modules};

use crate::error::{DeployError, file};
use crate::hash;
use punctual_kernel::config::of_config;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of a package that contain modules.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];
/// Names of kernel images in boot/; `-RELEASE` may follow.
const IMAGES: [&str; 6] = ["vmlinuz", "vmlinux", "Image", "zImage", "kernel8.img", "kernel"];

#[derive(Debug)]
pub struct Package {
    pub source: PathBuf,
    /// Output of `uname -r`; the name of the only modules folder.
    pub release: String,
    /// Output of `uname -v`, if the manifest has it.
    pub version: Option<String>,
    /// The architecture as in `uname -m`, from the image; `None` if the format of the image is unknown.
    pub arch: Option<&'static str>,
    pub image: PathBuf,
    pub config: Option<PathBuf>,
    pub map: Option<PathBuf>,
    pub modules: PathBuf,
    /// Device trees, `*.dtb`.
    pub trees: Vec<PathBuf>,
    /// Overlays, `*.dtbo`, and their README.
    pub overlays: Vec<PathBuf>,
    /// Checksum of the whole content; it distinguishes packages of the same release.
    pub sum: String,
    pub bytes: u64,
    /// Directory of the unpacked package; removed on drop.
    _unpacked: Option<tempfile::TempDir>,
}

impl Package {
    /// Opens a package, unpacking it if necessary below `staging`, which is on the target file system.
    ///
    /// # Errors
    /// It is not a kernel package, does not match its manifest, or cannot be read.
    pub fn open(source: &Path, staging: &Path) -> Result<Package, DeployError> {
        let (root, unpacked) = match source.is_dir() {
            true => (source.to_owned(), None),
            false => {
                let folder = unpack::unpack(source, staging)?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        let bad = |what: String| DeployError::Package { path: source.to_owned(), what };
        let all = files(&root)?;
        let manifest = manifest::read(&root)?.map(|found| found.check(&root, &all, source)).transpose()?;
        let (release, modules) = modules(&root).map_err(bad)?;
        if let Some(said) = manifest.as_ref().map(|m| &m.release).filter(|said| **said != release) {
            return Err(bad(format!("manifest.json names {said}, but its modules are for {release}")));
        }
        let image = image(&root, &release).map_err(bad)?;
        let named = |name: &str| {
            let path = root.join("boot").join(format!("{name}-{release}"));
            path.is_file().then_some(path)
        };
        let with = |end: &str| all.iter().filter(|path| path.to_string_lossy().ends_with(end)).cloned().collect();
        let mut overlays: Vec<PathBuf> = with(".dtbo");
        overlays.extend(with("overlays/README"));
        let sum = sum(&root, &all)?;
        Ok(Package {
            source: source.to_owned(),
            arch: arch_of_image(&image)?,
            bytes: all.iter().filter_map(|path| fs::metadata(path).ok()).map(|meta| meta.len()).sum(),
            config: named("config"),
            map: named("System.map"),
            trees: with(".dtb"),
            version: manifest.and_then(|m| m.version),
            overlays,
            release,
            image,
            modules,
            sum,
            _unpacked: unpacked,
        })
    }

    /// Returns the kernel configuration; its keys lack the prefix `CONFIG_`.
    pub fn options(&self) -> Result<Option<punctual_kernel::config::Options>, DeployError> {
        let Some(path) = &self.config else { return Ok(None) };
        fs::read_to_string(path).map(|text| Some(of_config(&text))).map_err(file("read", path))
    }
}

/// Returns every regular file, sorted; links and devices are left out.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, DeployError> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(file("list", &folder))? {
            let entry = entry.map_err(file("list", &folder))?;
            match entry.file_type().map_err(file("look at", &entry.path()))? {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn modules(root: &Path) -> Result<(String, PathBuf), String> {
    let mut found = Vec::new();
    for folder in MODULES.map(|name| root.join(name)) {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    match found.as_slice() {
        [one] => {
            let release = one.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match punctual_kernel::Release::of_uname(&release) {
                Some(_) => Ok((release, one.clone())),
                None => Err(format!("lib/modules/{release} is not a kernel release")),
            }
        }
        [] => Err("it has no lib/modules/RELEASE: give the package of the kernel itself (linux-image-…)".to_owned()),
        several => Err(format!("it has modules of {} kernels: deploy one kernel at a time", several.len())),
    }
}

fn image(root: &Path, release: &str) -> Result<PathBuf, String> {
    let boot = root.join("boot");
    let names = IMAGES.iter().flat_map(|name| [format!("{name}-{release}"), (*name).to_owned()]);
    names
        .map(|name| boot.join(name))
        .chain([root.join("usr/lib/modules").join(release).join("vmlinuz")])
        .find(|path| path.is_file())
        .ok_or_else(|| format!("it has no boot/vmlinuz-{release}"))
}

fn sum(root: &Path, all: &[PathBuf]) -> Result<String, DeployError> {
    let mut text = String::new();
    for path in all {
        let name = path.strip_prefix(root).unwrap_or(path);
        text += &format!("{} {}\n", hash::of_file(path)?, name.display());
    }
    Ok(hash::of_bytes(text.as_bytes()))
}

#[cfg(test)]
mod tests;
