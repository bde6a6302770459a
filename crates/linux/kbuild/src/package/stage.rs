//! The files of a kernel as Debian installs them, so that its tools find them:
//!
//! ```text
//! boot/vmlinuz-R, boot/config-R, boot/System.map-R
//! lib/modules/R/
//! usr/lib/linux-image-R/    device trees
//! ```

use super::empty;
use crate::KbuildError;
use crate::build::{Job as Build, State, has_dtbs, has_modules, image, make};
use crate::files::{below, make_folder, remove_folder};
use punctual_kernel::programs::{last_lines, run};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug)]
pub struct Stage {
    /// The folder that represents `/`.
    pub root: PathBuf,
    /// Output of `uname -r`.
    pub release: String,
}

impl Stage {
    /// Installs a finished build into a folder below `into`.
    pub(super) fn make(
        state: &State,
        release: &str,
        build: &Path,
        into: &Path,
        report: &mut dyn FnMut(&str),
    ) -> Result<Stage, KbuildError> {
        let root = into.join("stage");
        let making = empty(&root)?;
        let job = of_state(state, build);
        files(&job, &making, release)?;
        let path = |below: &str| making.join(below).display().to_string();
        if has_modules(&job) {
            let words = [format!("INSTALL_MOD_PATH={}", path("")), "INSTALL_MOD_STRIP=1".to_owned()];
            installed(&job, "modules_install", &words)?;
            unlinked(&making.join("lib/modules").join(release))?;
        }
        if has_dtbs(&job) {
            let words = [format!("INSTALL_DTBS_PATH={}", path(&format!("usr/lib/linux-image-{release}")))];
            installed(&job, "dtbs_install", &words)?;
        }
        if has_modules(&job) && !making.join("lib/modules").join(release).join("modules.dep").is_file() {
            report(
                "modules.dep is missing because depmod is not installed here: apt-get install kmod, or run depmod on the board",
            );
        }
        remove_folder(&root)?;
        fs::rename(&making, &root).map_err(KbuildError::file("rename", &making))?;
        Ok(Stage { root, release: release.to_owned() })
    }

    /// Returns the device trees as paths relative to `usr/lib/linux-image-R`.
    pub fn device_trees(&self) -> Result<Vec<PathBuf>, KbuildError> {
        let folder = self.root.join(format!("usr/lib/linux-image-{}", self.release));
        let all = if folder.is_dir() { below(&folder)? } else { Vec::new() };
        Ok(all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "dtb")).collect())
    }

    pub(super) fn bytes(&self) -> Result<u64, KbuildError> {
        let sizes = below(&self.root)?.into_iter().map(|path| self.root.join(path).symlink_metadata());
        Ok(sizes.flatten().map(|meta| meta.size()).sum())
    }
}

pub(super) fn of_state(state: &State, build: &Path) -> Build {
    Build {
        tree: state.tree.clone(),
        out: build.to_owned(),
        arch: state.arch,
        cross: state.cross.clone(),
        target: state.target.clone(),
        jobs: 1,
        epoch: state.epoch,
        heat: None,
        diagnostic: false,
    }
}

fn files(job: &Build, root: &Path, release: &str) -> Result<(), KbuildError> {
    let boot = root.join("boot");
    make_folder(&boot)?;
    let from =
        [(image(job)?, "vmlinuz"), (job.out.join(".config"), "config"), (job.out.join("System.map"), "System.map")];
    for (from, name) in from {
        let to = boot.join(format!("{name}-{release}"));
        fs::copy(&from, &to).map_err(KbuildError::file("copy", &from))?;
    }
    Ok(())
}

fn installed(job: &Build, target: &str, words: &[String]) -> Result<(), KbuildError> {
    let mut make: Command = make(job);
    let ran = run(make.args(words).arg(target), b"", crate::build::MAKE)?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(KbuildError::Failed {
            what: format!("make {target} in {}", job.out.display()),
            status: ran.status.to_string(),
            said: last_lines(&ran.said(), 5),
            next: "run punctual kernel build again: a part may be missing".to_owned(),
        }),
    }
}

/// Removes the links to this machine's source and build folder, which are useless elsewhere.
fn unlinked(modules: &Path) -> Result<(), KbuildError> {
    for name in ["build", "source"] {
        let path = modules.join(name);
        if path.is_symlink() {
            fs::remove_file(&path).map_err(KbuildError::file("remove", &path))?;
        }
    }
    Ok(())
}
