//! Debian packages (deb(5)): an ar archive of three files. The scripts run the distribution's kernel hooks, which
//! create the initramfs and the boot loader's menu (Debian Kernel Handbook, chapter 6.3).

use super::Stage;
use super::archive::tarball;
use crate::KbuildError;
use crate::build::State;
use crate::files::{make_folder, remove_folder, replace};
use punctual_kernel::Arch;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Packages image, modules and device trees.
pub fn image(stage: &Stage, state: &State, into: &Path) -> Result<PathBuf, KbuildError> {
    let release = &stage.release;
    let name = format!("linux-image-{}", lower(release));
    let scripts: Vec<(&str, String)> =
        ["preinst", "postinst", "prerm", "postrm"].iter().map(|when| (*when, script(when, release))).collect();
    let text = format!(
        "Linux kernel {release}\n Image, modules and device trees, built by punctual; can be installed beside other kernels.\n"
    );
    let size = stage.bytes()? / 1024;
    let extra = "Provides: linux-image\nSuggests: initramfs-tools\n";
    let control = control(&name, state, release, size, extra, &text);
    write(&name, state, into, stage, &control, &scripts)
}

pub fn headers(stage: &Stage, state: &State, root: &Path, into: &Path) -> Result<PathBuf, KbuildError> {
    let release = &stage.release;
    let name = format!("linux-headers-{}", lower(release));
    let text = format!("headers of Linux kernel {release}\n For building external modules.\n");
    let whole = Stage { root: root.to_owned(), release: release.clone() };
    let control = control(&name, state, release, whole.bytes()? / 1024, "", &text);
    write(&name, state, into, &whole, &control, &[])
}

/// Converts a release to the form of a package name, which must be lower case (Debian Policy 5.6.7).
fn lower(release: &str) -> String {
    release.to_ascii_lowercase().replace('_', "-")
}

fn architecture(arch: Arch) -> &'static str {
    match arch {
        Arch::Arm => "armhf",
        Arch::Arm64 => "arm64",
        Arch::X86 => "amd64",
        Arch::I386 => "i386",
        Arch::Riscv => "riscv64",
    }
}

fn control(name: &str, state: &State, release: &str, kib: u64, extra: &str, description: &str) -> String {
    format!(
        "Package: {name}\nVersion: {}\nArchitecture: {}\nMaintainer: punctual <punctual@localhost>\nInstalled-Size: {kib}\n\
         Section: kernel\nPriority: optional\n{extra}Description: {description}",
        version(release),
        architecture(state.arch)
    )
}

/// Returns the package's version. A hyphen would start the Debian revision, so it is replaced by a character that
/// preserves the order.
fn version(release: &str) -> String {
    format!("{}-1", release.replace(['-', '_'], "+"))
}

fn script(when: &str, release: &str) -> String {
    format!(
        "#!/bin/sh\nset -e\nexport DEB_MAINT_PARAMS=\"$*\"\nif [ -d /etc/kernel/{when}.d ]; then\n\
         \trun-parts --report --exit-on-error --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/{when}.d\nfi\nexit 0\n"
    )
}

fn write(
    name: &str,
    state: &State,
    into: &Path,
    stage: &Stage,
    control: &str,
    scripts: &[(&str, String)],
) -> Result<PathBuf, KbuildError> {
    let folder = super::empty(&into.join("control"))?;
    make_folder(&folder)?;
    for (script, text) in scripts {
        let path = folder.join(script);
        replace(&path, text.as_bytes())?;
        fs::set_permissions(&path, Permissions::from_mode(0o755)).map_err(KbuildError::file("change", &path))?;
    }
    replace(&folder.join("control"), control.as_bytes())?;
    let meta = tarball(&folder, &[], state.epoch)?;
    remove_folder(&folder)?;
    let data = tarball(&stage.root, &[], state.epoch)?;
    let path = into.join(format!("{name}_{}_{}.deb", version(&stage.release), architecture(state.arch)));
    let files = [("debian-binary", b"2.0\n".to_vec()), ("control.tar.gz", meta), ("data.tar.gz", data)];
    replace(&path, &ar(&files, state.epoch))?;
    Ok(path)
}

/// Creates an ar(5) archive as dpkg-deb(1) reads it: names of at most 16 bytes, files at even offsets.
fn ar(files: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in files {
        bytes.extend(format!("{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len()).bytes());
        bytes.extend(content);
        if content.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_headers_of_sixty_bytes_and_even_places() {
        let bytes = ar(&[("debian-binary", b"2.0\n".to_vec()), ("x", b"abc".to_vec())], 1_000_000);
        assert_eq!(bytes.len(), 8 + 60 + 4 + 60 + 4);
        assert_eq!(&bytes[8..8 + 60], b"debian-binary   1000000     0     0     100644  4         `\n");
    }

    #[test]
    fn versions_and_names_are_debians() {
        assert_eq!(version("6.12.9-punctual-rt"), "6.12.9+punctual+rt-1");
        assert_eq!(lower("6.12.9-V8_rt"), "6.12.9-v8-rt");
    }
}
