//! Copies the kernel's files beside existing files: under a temporary name, then synced and renamed. Existing files are
//! not touched.

use crate::error::{DeployError, errno, file};
use crate::guard_files;
use crate::package::{Package, files};
use crate::programs;
use crate::record::{Record, sync_folder};
use crate::site::Site;
use punctual_model::Argv;
use rustix::fs::{Mode, OFlags, open, syncfs};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn modules_folder(release: &str) -> PathBuf {
    Path::new("/lib/modules").join(release)
}

fn aside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.punctual"))
}

/// Copies everything that the record lists. After an interruption, [`remove`] removes what was copied.
///
/// # Errors
/// Any failure; a partial copy is never booted.
pub(crate) fn place(site: &Site, record: &Record, package: &Package, program: &Path) -> Result<(), DeployError> {
    let modules = modules_folder(&record.release);
    let boot = site.at(&record.boot_folder);
    copy_program(site, program)?;
    for parent in &record.parents {
        fs::create_dir_all(site.at(parent)).map_err(file("make", parent))?;
    }
    let (new_modules, new_boot) = (site.at(aside(&modules)), aside(&boot));
    copy_tree(&package.modules, &new_modules)?;
    fill_boot(record, package, &new_boot)?;
    sync(&new_modules)?;
    settle(&new_modules, &site.at(&modules))?;
    for path in &record.files {
        let (to, new) = (site.at(path), aside(&site.at(path)));
        fs::copy(new_boot.join("config"), &new).map_err(file("write", &new))?;
        settle(&new, &to)?;
    }
    if is_live(site) {
        programs::run(&Argv::new(["depmod", &record.release]))?;
    }
    if let Some(name) = &record.initrd {
        make_initramfs(site, record, &new_boot.join(name))?;
    }
    sync(&site.at(&modules))?;
    sync(&new_boot)?;
    settle(&new_boot, &boot)
}

pub(crate) fn is_live(site: &Site) -> bool {
    site.root == Path::new("/")
}

fn settle(from: &Path, to: &Path) -> Result<(), DeployError> {
    // rename(2) would replace an empty folder that someone has created meanwhile.
    if to.symlink_metadata().is_ok() {
        return Err(DeployError::Refused(format!(
            "{} was created in the meantime: it is not overwritten",
            to.display()
        )));
    }
    fs::rename(from, to).map_err(file("rename", from))?;
    to.parent().map_or(Ok(()), sync_folder)
}

fn sync(folder: &Path) -> Result<(), DeployError> {
    let fd = open(folder, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).map_err(errno("open", folder))?;
    syncfs(&fd).map_err(errno("sync", folder))
}

fn copy_program(site: &Site, program: &Path) -> Result<(), DeployError> {
    let to = site.at(guard_files::PROGRAM);
    if program == to {
        return Ok(());
    }
    let new = to.with_extension("new");
    fs::copy(program, &new).map_err(file("copy", program))?;
    fs::rename(&new, &to).map_err(file("rename", &new))
}

/// Copies regular files with their modes. Links (`build`, `source`) point into the build machine and are skipped.
fn copy_tree(from: &Path, to: &Path) -> Result<(), DeployError> {
    for path in files(from)? {
        let target = to.join(path.strip_prefix(from).unwrap_or(&path));
        let folder = target.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(file("make", folder))?;
        fs::copy(&path, &target).map_err(file("write", &target))?;
    }
    fs::create_dir_all(to).map_err(file("make", to))
}

fn fill_boot(record: &Record, package: &Package, to: &Path) -> Result<(), DeployError> {
    fs::create_dir_all(to).map_err(file("make", to))?;
    let trees = record.trees.as_ref().map_or(to.to_owned(), |name| to.join(name));
    let copy = |from: &Path, target: PathBuf| {
        let folder = target.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(file("make", folder))?;
        fs::copy(from, &target).map(drop).map_err(file("write", &target))
    };
    copy(&package.image, to.join(image_name(record)))?;
    for (from, name) in [(&package.config, "config"), (&package.map, "System.map")] {
        from.iter().try_for_each(|from| copy(from, to.join(name)))?;
    }
    for tree in &package.trees {
        copy(tree, trees.join(tree.file_name().unwrap_or_default()))?;
    }
    for overlay in &package.overlays {
        copy(overlay, to.join("overlays").join(overlay.file_name().unwrap_or_default()))?;
    }
    let readme = to.join("overlays/README");
    if !package.overlays.is_empty() && !readme.exists() {
        // Without this file the firmware would use the overlays of the other kernel.
        fs::write(&readme, "punctual: overlays of this kernel\n").map_err(file("write", &readme))?;
    }
    Ok(())
}

pub(crate) fn image_name(record: &Record) -> &str {
    if let Some(name) = &record.image {
        name
    } else if record.trees.is_none() && record.boot_folder.parent() != Some(Path::new("/boot/punctual")) {
        crate::pi::KERNEL8
    } else {
        "vmlinuz"
    }
}

fn make_initramfs(site: &Site, record: &Record, to: &Path) -> Result<(), DeployError> {
    let configuration = site.store().folder().join("initramfs");
    let _ = fs::remove_dir_all(&configuration);
    guard_files::initramfs_configuration(site, &configuration, record.watchdog.as_deref())?;
    if !is_live(site) {
        return fs::write(to, "generated on the running machine only\n").map_err(file("write", to));
    }
    let (folder, out) = (configuration.display().to_string(), to.display().to_string());
    programs::run(&Argv::new(["mkinitramfs", "-d", &folder, "-o", &out, &record.release])).map(drop)
}

/// Removes what [`place`] copied, completely or partly. Idempotent.
pub(crate) fn remove(site: &Site, record: &Record) -> Result<(), DeployError> {
    for folder in &record.folders {
        for path in [site.at(folder), aside(&site.at(folder))] {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file("remove", &path)(error)),
                _ => {}
            }
        }
    }
    for path in record.files.iter().map(|path| site.at(path)) {
        for path in [aside(&path), path] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(file("remove", &path)(error)),
                _ => {}
            }
        }
    }
    for parent in record.parents.iter().rev() {
        // The directory may contain other files by now.
        let _ = fs::remove_dir(site.at(parent));
    }
    let above = record.folders.iter().filter_map(|folder| folder.parent()).map(|above| site.at(above));
    above.filter(|above| above.is_dir()).try_for_each(|above| sync_folder(&above))
}
