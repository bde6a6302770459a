use crate::apt::{self, Apt};
use crate::arch::Arch;
use crate::cache::Cache;
use crate::error::VmError;
use crate::newest::newest;
use flate2::read::GzDecoder;
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSpec {
    /// The distribution's newest kernel: `rt`, `stock`, `rt@6.12`.
    Newest {
        rt: bool,
        series: Option<String>,
    },
    Package(String),
    Deb(PathBuf),
    /// An image file: bzImage, Image, Image.gz or vmlinuz.
    Image(PathBuf),
    BuildFolder(PathBuf),
}

impl FromStr for KernelSpec {
    type Err = VmError;

    fn from_str(text: &str) -> Result<KernelSpec, VmError> {
        let (kind, series) = match text.split_once('@') {
            Some((kind, series)) => (kind, Some(series.to_owned())),
            None => (text, None),
        };
        let path = Path::new(text);
        match kind {
            "" => Err(VmError::Usage("the name of the kernel is empty: write for example rt, stock, or a file".into())),
            "rt" | "stock" => Ok(KernelSpec::Newest { rt: kind == "rt", series }),
            _ if path.is_dir() => Ok(KernelSpec::BuildFolder(path.into())),
            _ if path.is_file() && text.ends_with(".deb") => Ok(KernelSpec::Deb(path.into())),
            _ if path.is_file() => Ok(KernelSpec::Image(path.into())),
            _ if text.contains('/') => Err(VmError::NoKernel(format!("no file or folder {text}"))),
            _ => Ok(KernelSpec::Package(text.to_owned())),
        }
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelSpec::Newest { rt, series } => {
                f.write_str(if *rt { "rt" } else { "stock" })?;
                series.as_ref().map_or(Ok(()), |s| write!(f, "@{s}"))
            }
            KernelSpec::Package(name) => f.write_str(name),
            KernelSpec::Deb(path) | KernelSpec::Image(path) | KernelSpec::BuildFolder(path) => {
                write!(f, "{}", path.display())
            }
        }
    }
}

/// A kernel on this machine's disk.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Name for display: the package and its version, or the file.
    pub name: String,
    /// The image that QEMU boots.
    pub image: PathBuf,
    pub arch: Arch,
    /// Output of `uname -r`, if known before booting.
    pub release: Option<String>,
    pub modules: Option<PathBuf>,
    pub device_trees: Option<PathBuf>,
    pub config: Option<PathBuf>,
}

impl Kernel {
    /// Finds a kernel and downloads it if necessary. `arch` selects among packages; a file has its own architecture.
    ///
    /// # Errors
    /// There is no such kernel, no network, or no space in the cache.
    pub fn resolve(spec: &KernelSpec, arch: Arch, cache: &Cache) -> Result<Kernel, VmError> {
        match spec {
            KernelSpec::Newest { rt, series } => {
                let names = Apt::open(cache, arch)?.names("linux-image-")?;
                let name = newest(&names, arch, *rt, series.as_deref()).ok_or_else(|| {
                    VmError::NoKernel(format!(
                        "the distribution has no kernel `{spec}` for {arch}: give a package or a file"
                    ))
                })?;
                of_package(name, arch, cache, 0)
            }
            KernelSpec::Package(name) => of_package(name, arch, cache, 0),
            KernelSpec::Deb(path) => of_deb(path, cache),
            KernelSpec::Image(path) => of_image(path),
            KernelSpec::BuildFolder(path) => of_build(path),
        }
    }
}

/// Returns the path of the distribution's static BusyBox.
///
/// # Errors
/// There is no network, or no apt.
pub fn busybox(arch: Arch, cache: &Cache) -> Result<PathBuf, VmError> {
    package_file("busybox-static", arch, "bin/busybox", cache)
}

/// Returns the cached path of a package's file; `file` is its path in the package. Downloads the package if it is not
/// in the cache.
pub(crate) fn package_file(package: &str, arch: Arch, file: &str, cache: &Cache) -> Result<PathBuf, VmError> {
    let folder = package_folder(package, arch, cache)?;
    let path = folder.join(file);
    match path.is_file() {
        true => Ok(path),
        false => Err(VmError::NoKernel(format!("the package {package} has no {file}"))),
    }
}

pub(crate) fn package_folder(package: &str, arch: Arch, cache: &Cache) -> Result<PathBuf, VmError> {
    let apt = Apt::open(cache, arch)?;
    let version = apt.version(package)?.ok_or_else(|| {
        let hint = "see apt-cache search linux-image, or write rt, stock or the path of a file";
        VmError::NoKernel(format!("the distribution has no package `{package}` for {arch}: {hint}"))
    })?;
    let name = format!("{package}_{}_{arch}", version.replace([':', '/'], "_"));
    cache.folder(&name, |folder| {
        let deb = apt.download(package, folder)?;
        let needs = apt::field(&deb, "Depends")?;
        apt::unpack(&deb, folder)?;
        fs::remove_file(&deb).map_err(VmError::file("remove", &deb))?;
        let note = folder.join(".depends");
        fs::write(&note, needs).map_err(VmError::file("write", &note))
    })
}

fn of_package(package: &str, arch: Arch, cache: &Cache, depth: u32) -> Result<Kernel, VmError> {
    let folder = package_folder(package, arch, cache)?;
    if let Some(image) = image_below(&folder.join("boot")) {
        let mut kernel = unpacked(&folder, image, package)?;
        if kernel.modules.is_none() {
            kernel.modules = split_modules(&kernel, arch, cache);
        }
        return Ok(kernel);
    }
    // This is a metapackage: follow its dependency to the kernel.
    let needs = fs::read_to_string(folder.join(".depends")).unwrap_or_default();
    let next = needs.split(',').filter_map(|n| n.split_whitespace().next()).find(|n| n.starts_with("linux-image-"));
    match next {
        Some(next) if depth < 3 => of_package(next, arch, cache, depth + 1),
        _ => Err(VmError::NoKernel(format!("the package {package} contains no kernel image"))),
    }
}

/// Finds the modules on Ubuntu, which has them in a separate package.
fn split_modules(kernel: &Kernel, arch: Arch, cache: &Cache) -> Option<PathBuf> {
    let release = kernel.release.as_ref()?;
    let folder = package_folder(&format!("linux-modules-{release}"), arch, cache).ok()?;
    Some(folder.join("lib/modules").join(release)).filter(|p| p.is_dir())
}

fn of_deb(path: &Path, cache: &Cache) -> Result<Kernel, VmError> {
    let meta = path.metadata().map_err(VmError::file("read", path))?;
    let changed = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("file-{stem}-{}-{}", meta.len(), changed.map_or(0, |d| d.as_nanos()));
    let folder = cache.folder(&name, |folder| apt::unpack(path, folder))?;
    match image_below(&folder.join("boot")) {
        Some(image) => unpacked(&folder, image, &stem),
        None => Err(VmError::NoKernel(format!("{} contains no kernel image below /boot", path.display()))),
    }
}

fn image_below(boot: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(boot).ok()?;
    let images = entries.flatten().map(|e| e.path());
    images.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("vmlinu"))).max()
}

pub(crate) fn unpacked(folder: &Path, image: PathBuf, name: &str) -> Result<Kernel, VmError> {
    let release = image.file_name().and_then(|n| n.to_str()?.split_once('-').map(|(_, release)| release.to_owned()));
    let below = |parts: &[&str]| {
        let path = parts.iter().fold(folder.to_owned(), |path, part| path.join(part));
        Some(path).filter(|p| p.exists())
    };
    let release_text = release.clone().unwrap_or_default();
    Ok(Kernel {
        name: name.to_owned(),
        arch: arch_of(&image)?,
        modules: below(&["lib/modules", &release_text]).or_else(|| below(&["usr/lib/modules", &release_text])),
        device_trees: below(&["usr/lib", &format!("linux-image-{release_text}")]),
        config: below(&["boot", &format!("config-{release_text}")]),
        image,
        release,
    })
}

fn of_image(path: &Path) -> Result<Kernel, VmError> {
    let arch = arch_of(path)?;
    Ok(Kernel {
        name: path.display().to_string(),
        image: path.to_owned(),
        arch,
        release: x86_release(path),
        modules: None,
        device_trees: None,
        config: None,
    })
}

fn of_build(folder: &Path) -> Result<Kernel, VmError> {
    let images = ["arch/x86/boot/bzImage", "arch/arm64/boot/Image", "arch/arm64/boot/Image.gz"];
    let image = images.iter().map(|i| folder.join(i)).find(|p| p.is_file()).ok_or_else(|| {
        VmError::NoKernel(format!(
            "{} contains none of {}: build the kernel first",
            folder.display(),
            images.join(", ")
        ))
    })?;
    let arch = arch_of(&image)?;
    let release = fs::read_to_string(folder.join("include/config/kernel.release")).ok().map(|r| r.trim().to_owned());
    Ok(Kernel {
        name: folder.display().to_string(),
        image,
        arch,
        release,
        modules: Some(folder.to_owned()),
        device_trees: Some(folder.join("arch/arm64/boot/dts")).filter(|p| p.is_dir()),
        config: Some(folder.join(".config")).filter(|p| p.is_file()),
    })
}

fn arch_of(image: &Path) -> Result<Arch, VmError> {
    let file = File::open(image).map_err(VmError::file("read", image))?;
    let mut head = Vec::new();
    file.take(4096).read_to_end(&mut head).map_err(VmError::file("read", image))?;
    if head.starts_with(&[0x1f, 0x8b]) {
        let mut inner = vec![0; 1024];
        let read = GzDecoder::new(&head[..]).read(&mut inner).unwrap_or(0);
        inner.truncate(read);
        head = inner;
    }
    Arch::of_image(&head).ok_or_else(|| {
        VmError::NoKernel(format!("{} is not a kernel image for x86-64 or arm64 (bzImage, Image)", image.display()))
    })
}

/// Returns the version string of a bzImage: its offset, minus 0x200, is at 0x20e (Documentation/arch/x86/boot.rst).
fn x86_release(image: &Path) -> Option<String> {
    let mut file = File::open(image).ok()?;
    let mut head = [0; 0x210];
    file.read_exact(&mut head).ok()?;
    if Arch::of_image(&head) != Some(Arch::Amd64) {
        return None;
    }
    let at = u64::from(u16::from_le_bytes([head[0x20e], head[0x20f]])) + 0x200;
    file.seek(SeekFrom::Start(at)).ok()?;
    let mut text = Vec::new();
    file.take(128).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.split([' ', '\0']).next().filter(|r| !r.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_in_five_ways() {
        let folder = tempfile::tempdir().unwrap();
        let deb = folder.path().join("k.deb");
        fs::write(&deb, "").unwrap();
        let parse = |text: &str| text.parse::<KernelSpec>();
        assert_eq!(parse("rt@6.12").unwrap(), KernelSpec::Newest { rt: true, series: Some("6.12".into()) });
        assert_eq!(parse("stock").unwrap(), KernelSpec::Newest { rt: false, series: None });
        assert_eq!(parse("linux-image-rt-amd64").unwrap(), KernelSpec::Package("linux-image-rt-amd64".into()));
        assert_eq!(parse(deb.to_str().unwrap()).unwrap(), KernelSpec::Deb(deb));
        assert!(matches!(parse(folder.path().to_str().unwrap()).unwrap(), KernelSpec::BuildFolder(_)));
        assert!(matches!(parse("/nowhere/vmlinuz"), Err(VmError::NoKernel(_))));
        assert!(parse("").is_err());
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vmlinuz");
        for content in [&b""[..], b"\x1f\x8b\x08\0\0", b"#!/bin/sh\n"] {
            fs::write(&file, content).unwrap();
            let error = of_image(&file).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains("not a kernel image"), "{error}");
        }
        assert!(of_build(folder.path()).unwrap_err().to_string().contains("build the kernel first"));
    }
}
