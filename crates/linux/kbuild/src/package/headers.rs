//! Headers and scripts for building external modules (dkms, `make -C /lib/modules/R/build`). The kernel's
//! `scripts/package/install-extmod-build` collects them; since 6.6, `make run-command` calls it.

use super::{empty, stage::of_state};
use crate::KbuildError;
use crate::build::{MAKE, State, make};
use crate::files::make_folder;
use punctual_kernel::programs::{last_lines, run};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const SCRIPT: &str = "scripts/package/install-extmod-build";

/// Collects the headers and scripts in a folder that represents `/`.
pub fn stage(state: &State, build: &Path, into: &Path, release: &str) -> Result<PathBuf, KbuildError> {
    if !state.tree.join(SCRIPT).is_file() {
        let said =
            format!("{} has no {SCRIPT}: headers can be packaged since 6.6; omit --headers", state.tree.display());
        return Err(KbuildError::Usage(said));
    }
    let root = empty(&into.join("headers"))?;
    let folder = root.join("usr/src").join(format!("linux-headers-{release}"));
    make_folder(&folder)?;
    let mut make = make(&of_state(state, build));
    // The kernel's Makefile expands `$(srctree)` and `$(CC)`.
    make.arg(format!("KBUILD_RUN_COMMAND=+$(srctree)/{SCRIPT} {}", folder.display())).arg("run-command");
    let ran = run(&mut make, b"", MAKE)?;
    if !ran.status.success() {
        return Err(KbuildError::Failed {
            what: format!("collecting the headers of {}", build.display()),
            status: ran.status.to_string(),
            said: last_lines(&ran.said(), 5),
            next: "for another architecture, install its C library: apt-get install libc6-dev-ARCH-cross; or omit --headers"
                .to_owned(),
        });
    }
    let modules = root.join("lib/modules").join(release);
    make_folder(&modules)?;
    let link = modules.join("build");
    symlink(format!("/usr/src/linux-headers-{release}"), &link).map_err(KbuildError::file("make", &link))?;
    Ok(root)
}
