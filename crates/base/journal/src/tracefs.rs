//! Locates tracefs: its mount point or, if there is none, a detached mount that is private to this process.
//!
//! It is in this crate because undo steps need it: a path through a private mount becomes invalid when the process
//! ends, so the steps store paths relative to tracefs. All mounts of tracefs show the same files (get_tree_single(), in
//! older kernels mount_single(), in fs/tracefs/inode.c).

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A mount that exists until its descriptor is closed (fsmount(2)).
struct Own {
    _mount: OwnedFd,
    root: PathBuf,
}

/// The private mount. It is created at most once and kept until the process ends, so that paths through it stay valid.
static OWN: OnceLock<Own> = OnceLock::new();

/// Returns the first readable mount point of tracefs in /proc/self/mounts; `None` if there is none.
pub fn mounted() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mount_points(&mounts).into_iter().map(PathBuf::from).find(|path| path.join("trace_clock").exists())
}

/// Returns the root of this process's private mount. It is a detached mount that the first call creates (fsopen(2),
/// fsmount(2); Linux 5.2 and later), so no mount table changes. The path is /proc/PID/fd/N, which children may use
/// while this process lives.
///
/// tracefs has a single superblock. If tracefs is mounted only in another mount namespace, the options of that mount
/// are reset, as by every mount(2) of tracefs. Since Linux 6.18, modes and groups are kept; kernels without the commit
/// "tracefs: Only clobber mode/uid/gid on remount if asked" reset them too.
///
/// # Errors
/// `EPERM`: the process lacks CAP_SYS_ADMIN. `ENOSYS`: the kernel is older than 5.2. `ENODEV`: the kernel has no
/// tracefs. It also fails if /proc is not mounted.
pub fn own() -> io::Result<&'static Path> {
    if OWN.get().is_none() {
        // If two threads race here, the loser's mount is closed again.
        let made = mount()?;
        OWN.get_or_init(|| made);
    }
    own_root().ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn mount() -> io::Result<Own> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    // The PID as this /proc shows it, which may belong to another PID namespace.
    let process = Path::new("/proc").join(fs::read_link("/proc/self")?);
    let root = process.join("fd").join(mount.as_raw_fd().to_string());
    Ok(Own { _mount: mount, root })
}

/// Returns the root of this process's private mount; `None` if there is none yet.
pub(crate) fn own_root() -> Option<&'static Path> {
    OWN.get().map(|own| own.root.as_path())
}

/// Returns the root of this process's private mount if there is one, otherwise the mount point of tracefs, otherwise
/// the root of a new private mount.
///
/// # Errors
/// See [`own`].
pub(crate) fn root() -> io::Result<PathBuf> {
    match own_root().map(Path::to_owned).or_else(mounted) {
        Some(root) => Ok(root),
        None => own().map(Path::to_owned),
    }
}

/// Returns the mount points of tracefs in the contents of /proc/PID/mounts, in which spaces are escaped as `\040`
/// (proc_pid_mounts(5)).
fn mount_points(mounts: &str) -> Vec<String> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.filter(|f| f.get(2) == Some(&"tracefs")).filter_map(|f| Some(f.get(1)?.replace("\\040", " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_by_type() {
        let mounts = "proc /proc proc rw 0 0\nt /a\\040b tracefs rw,relatime 0 0\nx /y ext4 rw 0 0\nbroken\n";
        assert_eq!(mount_points(mounts), ["/a b"]);
    }
}
