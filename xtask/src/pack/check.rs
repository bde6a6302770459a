//! `cargo xtask deb-check`: tests the package in a new Debian root file system of its architecture.

use super::make;
use crate::cross::{self, Target, succeed};
use crate::root;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("check.sh");
const SUITE: &str = "bookworm";
/// Packages installed in addition to the essential ones: what the package depends on, and man(1).
const INCLUDE: &str = "--include=adduser,libcap2-bin,man-db";

/// Tests the package of each target. Needs root and mmdebstrap, and for other architectures qemu-user-static and
/// arch-test.
pub fn run(wanted: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("deb-check unpacks a system and changes its root: run it as root".to_owned());
    }
    for target in cross::wanted(wanted) {
        println!("{}:", target.name);
        check(target).map_err(|why| format!("{}: {why}", target.name))?;
    }
    Ok(())
}

fn check(target: &Target) -> Result<(), String> {
    let deb = root().join(format!("dist/punctual_{}_{}.deb", env!("CARGO_PKG_VERSION"), target.debian));
    if !deb.exists() {
        return Err(format!("{} is missing: cargo xtask deb {}", deb.display(), target.name));
    }
    let image = image(target)?;
    let place = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let system = place.path();
    // Without device nodes, which a user namespace must not create. This machine's are mounted there instead.
    let mut unpacked = Command::new("tar");
    unpacked.arg("-xf").arg(&image).arg("-C").arg(system).arg("--exclude=./dev/*");
    succeed(&mut unpacked, "tar -xf")?;
    let copy = |from: &Path, name: &str| {
        fs::copy(from, system.join("tmp").join(name)).map(drop).map_err(|e| format!("{}: {e}", from.display()))
    };
    copy(&deb, "punctual.deb")?;
    let script = system.join("tmp/check.sh");
    fs::write(&script, SCRIPT).map_err(|e| format!("{}: {e}", script.display()))?;
    // In a separate mount namespace, so that nothing stays mounted, however the script ends.
    let inside = "mount --make-rprivate / && mount -t proc proc $0/proc && mount --rbind --make-rslave /sys $0/sys && \
                  mount --rbind --make-rslave /dev $0/dev && exec chroot $0 /bin/sh /tmp/check.sh /tmp/punctual.deb";
    let mut chroot = Command::new("unshare");
    chroot.args(["--mount", "--pid", "--fork", "sh", "-c", inside]).arg(system).env_remove("TMPDIR");
    if !cross::is_native(target) {
        chroot.env("EMULATED", "1");
    }
    succeed(&mut chroot, "the check")
}

/// Returns the Debian root file system. It is kept, since creating it takes minutes under an emulator.
fn image(target: &Target) -> Result<PathBuf, String> {
    let home = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let cache =
        home.or_else(|| env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"))).ok_or("HOME is not set")?;
    let folder = cache.join("punctual/roots");
    make(&folder)?;
    let image = folder.join(format!("{SUITE}-{}.tar", target.debian));
    if image.exists() {
        return Ok(image);
    }
    let new = folder.join(format!("{SUITE}-{}.new.tar", target.debian));
    let mut debstrap = Command::new("mmdebstrap");
    debstrap.args(["--quiet", "--variant=minbase", INCLUDE, "--architectures", target.debian, SUITE]).arg(&new);
    succeed(
        &mut debstrap,
        "mmdebstrap (apt-get install mmdebstrap arch-test qemu-user-static; systemctl restart systemd-binfmt)",
    )?;
    fs::rename(&new, &image).map_err(|e| format!("{}: {e}", image.display()))?;
    Ok(image)
}
