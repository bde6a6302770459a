//! The disk image: a small Debian with GRUB, PREEMPT_RT and stock kernels, built from packages without privileges.
//!
//! The packages are unpacked into a folder and packed into an ext4 partition. Whatever needs root, devices or other
//! file systems (initramfs, loader, menu) is done by the packages' own programs in a guest that mounts the disk.

use super::host;
use super::partitions::Layout;
use crate::apt::Apt;
use crate::arch::Arch;
use crate::boot::boot;
use crate::cache::Cache;
use crate::error::VmError;
use crate::guest::Guest;
use crate::kernel::{Kernel, unpacked};
use crate::machine::Machine;
use crate::newest::newest;
use crate::tools;
use flate2::Crc;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CONFIGURE: &str = include_str!("configure.sh");
const INIT: &str = include_str!("init.sh");
const FEATURES: &str = include_str!("mke2fs.conf");
const DISK: &str = "disk.img";

const ESP_MIB: u64 = 40;
const ROOT_MIB: u64 = 1536;
/// Time limit of the guest that finishes the image: two initramfs archives and the loader, emulated.
const FINISHING: Duration = Duration::from_secs(1200);

pub(super) const PACKAGES: [&str; 14] = [
    "usr-is-merged",
    "usrmerge-",
    "mount",
    "kmod",
    "udev",
    "initramfs-tools",
    "e2fsprogs",
    "dosfstools",
    "fdisk",
    "mawk",
    "busybox-static",
    "grub-common",
    "grub2-common",
    "grub-efi-amd64-bin",
];
/// Modules loaded in the guest that finishes the image.
const MODULES: [&str; 9] = [
    "virtio_pci",
    "virtio_blk",
    "crc32c_generic",
    "crc32c_intel",
    "libcrc32c",
    "ext4",
    "vfat",
    "nls_cp437",
    "nls_ascii",
];

/// A disk image that boots through UEFI and GRUB; read-only once it is built.
#[derive(Clone, Debug)]
pub struct DiskImage {
    disk: PathBuf,
    /// Packages of the kernels, PREEMPT_RT first.
    pub kernels: [String; 2],
    /// Time that building the image took; `None` if the image was in the cache.
    pub made_in: Option<Duration>,
}

impl DiskImage {
    /// Builds an image of the machine's own Debian release for a PC: the essential packages, GRUB, initramfs-tools, and
    /// the newest PREEMPT_RT and stock kernels. The image is cached; a newer version of a package causes a new image to
    /// be built.
    ///
    /// # Errors
    /// Something is not installed here (the error names the package), there is no network, or the guest that finishes
    /// the image fails.
    pub fn debian(cache: &Cache) -> Result<DiskImage, VmError> {
        host::can_build()?;
        let begun = Instant::now();
        let apt = Apt::open(cache, Arch::Amd64)?;
        let kernels = kernels(&apt)?;
        let packages: Vec<&str> = PACKAGES.into_iter().chain(kernels.iter().map(String::as_str)).collect();
        let files = apt.closure(&packages)?;
        let name = format!("disk-debian-amd64-{:08x}", key(&files));
        let mut made = false;
        let folder = cache.folder(&name, |folder| {
            made = true;
            make(folder, &apt, &packages, cache)
        })?;
        Ok(DiskImage { disk: folder.join(DISK), kernels, made_in: made.then(|| begun.elapsed()) })
    }

    /// Returns the path of the raw image.
    pub fn path(&self) -> &Path {
        &self.disk
    }

    /// Returns the number of bytes allocated for the image file, which is sparse.
    pub fn bytes(&self) -> Result<u64, VmError> {
        self.disk.metadata().map(|meta| meta.blocks() * 512).map_err(VmError::file("read", &self.disk))
    }
}

fn kernels(apt: &Apt) -> Result<[String; 2], VmError> {
    let names = apt.names("linux-image-")?;
    let find = |rt: bool| {
        let missing = || VmError::NoKernel(format!("the distribution has no kernel with PREEMPT_RT {rt} for amd64"));
        newest(&names, Arch::Amd64, rt, None).map(str::to_owned).ok_or_else(missing)
    };
    Ok([find(true)?, find(false)?])
}

/// Returns a checksum of the list of packages in the image.
fn key(files: &[String]) -> u32 {
    let mut sum = Crc::new();
    for text in files.iter().map(String::as_str).chain([CONFIGURE, INIT, FEATURES]) {
        sum.update(text.as_bytes());
    }
    sum.update(&[ESP_MIB as u8, (ROOT_MIB >> 5) as u8]);
    sum.sum()
}

fn make(folder: &Path, apt: &Apt, packages: &[&str], cache: &Cache) -> Result<(), VmError> {
    let (packed, root) = (folder.join("packages"), folder.join("root"));
    apt.download_closure(packages, &packed)?;
    skeleton(&root)?;
    let entries = fs::read_dir(&packed).map_err(VmError::file("read", &packed))?;
    for deb in entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "deb")) {
        unpack(&deb, &root)?;
    }
    add(&root, "usr/sbin/init", INIT)?;
    add(&root, "usr/sbin/lab-configure", CONFIGURE)?;
    let disk = folder.join(DISK);
    format(folder, &disk, &root)?;
    finish(&disk, stock_kernel(&root)?, cache)?;
    for done in [&packed, &root] {
        fs::remove_dir_all(done).map_err(VmError::file("remove", done))?;
    }
    Ok(())
}

/// Creates the root's folders; those that are merged into /usr are links (hier(7); Debian 12 and later).
pub(super) fn skeleton(root: &Path) -> Result<(), VmError> {
    for name in ["bin", "sbin", "lib", "lib64"] {
        let folder = root.join("usr").join(name);
        fs::create_dir_all(&folder).map_err(VmError::file("make", &folder))?;
        let link = root.join(name);
        symlink(format!("usr/{name}"), &link).map_err(VmError::file("make", &link))?;
    }
    for name in ["proc", "sys", "dev", "run", "tmp", "root", "etc"] {
        let folder = root.join(name);
        fs::create_dir_all(&folder).map_err(VmError::file("make", &folder))?;
    }
    Ok(())
}

/// Unpacks a package and keeps links to folders as dpkg does; `dpkg-deb -x` would replace them with folders.
pub(super) fn unpack(deb: &Path, root: &Path) -> Result<(), VmError> {
    let remedy = "install it: apt-get install dpkg tar";
    let mut source = Command::new("dpkg-deb");
    let source = source.arg("--fsys-tarfile").arg(deb).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut source = source.spawn().map_err(VmError::file("run", "dpkg-deb"))?;
    let mut tar = Command::new("tar");
    tar.args(["-x", "--keep-directory-symlink", "-f", "/dev/stdin", "-C"]).arg(root);
    let done = match source.stdout.take() {
        Some(pipe) => tools::fed(&mut tar, pipe.into(), remedy),
        None => Ok(()),
    };
    let status = punctual_watchdog::wait(&mut source, "dpkg-deb", punctual_watchdog::PROGRAMS)
        .map_err(VmError::file("wait for", "dpkg-deb"))?;
    match status.success() {
        true => done,
        false => Err(VmError::Damaged(format!("{}: dpkg-deb ended with {status}", deb.display()))),
    }
}

fn add(root: &Path, path: &str, content: &str) -> Result<(), VmError> {
    let path = root.join(path);
    fs::write(&path, content).map_err(VmError::file("write", &path))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(VmError::file("write", &path))
}

fn format(folder: &Path, disk: &Path, root: &Path) -> Result<(), VmError> {
    let features = folder.join("mke2fs.conf");
    fs::write(&features, FEATURES).map_err(VmError::file("write", &features))?;
    let layout = Layout::of(ESP_MIB, ROOT_MIB);
    let file = File::create(disk).map_err(VmError::file("make", disk))?;
    layout.write(&file).map_err(VmError::file("write", disk))?;
    let mut mkfs = host::command("mkfs.ext4");
    mkfs.env("MKE2FS_CONFIG", &features).args(["-q", "-F", "-L", "root", "-d"]).arg(root);
    mkfs.arg("-E").arg(format!("offset={}", layout.root)).arg(disk).arg(format!("{}k", layout.root_bytes() / 1024));
    tools::output(&mut mkfs, "install it: apt-get install e2fsprogs").map(drop)
}

/// Returns the stock one of the two kernels, which boots faster here.
fn stock_kernel(root: &Path) -> Result<Kernel, VmError> {
    let boot = root.join("boot");
    let entries = fs::read_dir(&boot).map_err(VmError::file("read", &boot))?;
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let images = entries.flatten().map(|e| e.path()).filter(|p| name(p).starts_with("vmlinuz-"));
    let image = images.filter(|p| !name(p).contains("-rt-")).max();
    let image = image.ok_or_else(|| VmError::NoKernel("no stock kernel came with the packages".into()))?;
    unpacked(root, image, "stock")
}

fn finish(disk: &Path, kernel: Kernel, cache: &Cache) -> Result<(), VmError> {
    let script = "set -e\nmount -t ext4 /dev/vda2 /mnt\nfor f in dev proc sys; do mount --bind /$f /mnt/$f; done\n\
                  mount -t tmpfs tmp /mnt/tmp\nmount -t tmpfs run /mnt/run\n\
                  chroot /mnt /usr/sbin/lab-configure\nrm /mnt/usr/sbin/lab-configure\n\
                  umount /mnt/tmp /mnt/run /mnt/dev /mnt/proc /mnt/sys\numount /mnt\n";
    let mut guest = Guest::new(Machine::Pc, kernel, script);
    guest.memory_mib = 1024;
    guest.images = vec![disk.to_owned()];
    guest.modules = MODULES.map(str::to_owned).to_vec();
    guest.limit = FINISHING;
    let done = boot(&guest, cache, None)?;
    match done.exit_code {
        0 => Ok(()),
        code => {
            let said = tools::last_lines(&done.console, 20);
            Err(VmError::Failed {
                program: "lab-configure in the guest".into(),
                status: format!("exit code {code}"),
                said,
            })
        }
    }
}
