//! The root file system: BusyBox, the kernel's modules, and an init script that loads the drivers of the detected
//! hardware. mke2fs(8) packs a folder without root privileges; debugfs(8) then sets the owners.

use super::Job;
use super::layout::Layout;
use crate::KbuildError;
use crate::files::{below, make_folder, remove_folder, replace};
use punctual_kernel::programs::{last_lines, run};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// The script started by BusyBox's init.
pub const INIT: &str = include_str!("rcS");
const TABLE: &str = "::sysinit:/etc/init.d/rcS\n::askfirst:-/bin/sh\n::ctrlaltdel:/bin/busybox reboot\n::shutdown:/bin/busybox umount -a -r\n";
/// A fixed UUID, so that the same files give the same file system.
const IDENTITY: &str = "70756e63-7475-416c-8000-000000000002";
const REMEDY: &str = "apt-get install e2fsprogs";
/// Names of BusyBox programs that scripts use before BusyBox's own links exist.
const NAMES: [&str; 4] = ["bin/sh", "sbin/init", "bin/mount", "sbin/modprobe"];

/// Creates the tree of files in `scratch` and packs it into the second partition.
pub fn write(job: &Job, layout: &Layout, disk: &Path, scratch: &Path) -> Result<(), KbuildError> {
    remove_folder(scratch)?;
    tree(job, scratch)?;
    let kib = (layout.disk - layout.root) / 1024;
    let mut mkfs = system("mke2fs");
    mkfs.args(["-q", "-F", "-t", "ext4", "-L", "root", "-U", IDENTITY, "-d"]).arg(scratch).arg("-E");
    mkfs.arg(format!("offset={},root_owner=0:0,hash_seed={IDENTITY}", layout.root)).arg(disk).arg(format!("{kib}k"));
    mkfs.env("SOURCE_DATE_EPOCH", job.epoch.to_string()).env("E2FSPROGS_FAKE_TIME", job.epoch.to_string());
    done(&mut mkfs, b"", disk)?;
    owned_by_root(job, layout, disk, scratch)
}

fn tree(job: &Job, root: &Path) -> Result<(), KbuildError> {
    for name in [
        "bin",
        "sbin",
        "usr/bin",
        "usr/sbin",
        "dev",
        "proc",
        "sys",
        "run",
        "tmp",
        "root",
        "mnt",
        "etc/init.d",
        "lib/modules",
    ] {
        make_folder(&root.join(name))?;
    }
    program(&job.busybox, &root.join("bin/busybox"))?;
    for name in NAMES {
        let path = root.join(name);
        symlink("/bin/busybox", &path).map_err(KbuildError::file("make", &path))?;
    }
    replace(&root.join("etc/inittab"), TABLE.as_bytes())?;
    replace(&root.join("etc/init.d/rcS"), INIT.as_bytes())?;
    executable(&root.join("etc/init.d/rcS"))?;
    if let Some(script) = &job.script {
        program(script, &root.join("etc/punctual-boot"))?;
    }
    let modules = Path::new("lib/modules").join(&job.stage.release);
    let from = job.stage.root.join(&modules);
    let files = if from.is_dir() { below(&from)? } else { Vec::new() };
    for path in files {
        let (from, to) = (from.join(&path), root.join(&modules).join(&path));
        make_folder(to.parent().unwrap_or(root))?;
        fs::copy(&from, &to).map_err(KbuildError::file("copy", &from))?;
    }
    Ok(())
}

fn program(from: &Path, to: &Path) -> Result<(), KbuildError> {
    fs::copy(from, to).map_err(KbuildError::file("copy", from))?;
    executable(to)
}

fn executable(path: &Path) -> Result<(), KbuildError> {
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(KbuildError::file("change", path))
}

/// Sets the owners to root, because mke2fs gives the files to the calling user.
fn owned_by_root(job: &Job, layout: &Layout, disk: &Path, root: &Path) -> Result<(), KbuildError> {
    let meta = root.metadata().map_err(KbuildError::file("read", root))?;
    if (meta.uid(), meta.gid()) == (0, 0) {
        return Ok(());
    }
    let mut names = std::collections::BTreeSet::new();
    for path in below(root)? {
        names.extend(path.ancestors().filter(|p| !p.as_os_str().is_empty()).map(Path::to_owned));
    }
    for name in ["dev", "proc", "sys", "run", "tmp", "root", "mnt", "usr/bin", "usr/sbin", "usr"] {
        names.insert(name.into());
    }
    let mut words = String::new();
    for name in names {
        for field in ["uid", "gid"] {
            words += &format!("set_inode_field \"/{}\" {field} 0\n", name.display());
        }
    }
    let mut debugfs = system("debugfs");
    debugfs.args(["-w", "-f", "-"]).arg(format!("{}?offset={}", disk.display(), layout.root));
    done(debugfs.env("E2FSPROGS_FAKE_TIME", job.epoch.to_string()), words.as_bytes(), disk)
}

/// Returns a command for a program whose folder may be missing from the search path of an ordinary user.
fn system(name: &str) -> Command {
    let places = ["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).join(name));
    Command::new(places.into_iter().find(|path| path.is_file()).unwrap_or_else(|| name.into()))
}

fn done(command: &mut Command, input: &[u8], disk: &Path) -> Result<(), KbuildError> {
    let ran = run(command, input, REMEDY)?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(KbuildError::Failed {
            what: format!("{} for {}", command.get_program().to_string_lossy(), disk.display()),
            status: ran.status.to_string(),
            said: last_lines(&ran.said(), 3),
            next: "free some space: df -h".to_owned(),
        }),
    }
}
