//! `cargo xtask rt-dev`: builds the package punctual-rt-dev, for programs in C, C++ and Rust.
//!
//! C and C++: what crates/realtime/capi/install.sh installs. Rust: the sources of `punctual-rt` and of the crates that
//! it needs, as a workspace of their own; other crates come from crates.io.

use super::{copy, make, read, remove, write};
use crate::cross::succeed;
use crate::{root, target_dir};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates in the package: their folder in the package, and in the repository.
const CRATES: [(&str, &str); 4] = [
    ("rt", "crates/realtime/rt"),
    ("gpio", "crates/realtime/gpio"),
    ("uapi", "crates/base/uapi"),
    ("units", "crates/base/units"),
];

/// Builds the package for this machine and prints its path.
pub fn run() -> Result<(), String> {
    let (root, version) = (root(), env!("CARGO_PKG_VERSION"));
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--release", "--package", "punctual-rt-capi"]).current_dir(root);
    succeed(&mut cargo, "cargo build")?;
    let (triplet, arch) = (said("cc", "-dumpmachine")?, said("dpkg", "--print-architecture")?);
    let stage = root.join("target/deb/rt-dev");
    remove(&stage)?;
    let (sources, about) = (stage.join("usr/share/punctual-rt/rust"), stage.join("usr/share/doc/punctual-rt-dev"));
    let control = stage.join("DEBIAN");
    for folder in [&sources, &about, &control] {
        make(folder)?;
    }
    let archive = target_dir().join("release/libpunctual_rt_c.a");
    let mut install = Command::new("sh");
    install.arg(root.join("crates/realtime/capi/install.sh")).arg(archive).arg("/usr").arg(format!("lib/{triplet}"));
    succeed(install.env("DESTDIR", &stage), "install.sh")?;
    rust(root, &sources)?;
    ["LICENSE-MIT", "LICENSE-APACHE"].iter().try_for_each(|name| copy(&root.join(name), &about.join(name)))?;
    write(
        &control.join("control"),
        &format!(
            "Package: punctual-rt-dev\nVersion: {version}\nArchitecture: {arch}\nSection: libdevel\nPriority: optional\n\
             Maintainer: The punctual developers <punctual@localhost>\nDepends: libc6, libgcc-s1\n\
             Description: real-time programs in C, C++ and Rust\n Headers, libraries and sources of punctual-rt: periodic tasks \
             that account for every\n release, locks, queues, pipes, alarms, statistics.\n"
        ),
    )?;
    write(&control.join("triggers"), "activate-noawait ldconfig\n")?;
    let dist = root.join("dist");
    make(&dist)?;
    let file = dist.join(format!("punctual-rt-dev_{version}_{arch}.deb"));
    let mut deb = Command::new("dpkg-deb");
    deb.env("SOURCE_DATE_EPOCH", super::archive::epoch()?.to_string());
    succeed(deb.args(["--root-owner-group", "--build"]).arg(&stage).arg(&file), "dpkg-deb")?;
    println!("{}", file.display());
    Ok(())
}

fn said(program: &str, option: &str) -> Result<String, String> {
    let output = Command::new(program).arg(option).output().map_err(|e| format!("{program} {option}: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn rust(root: &Path, to: &Path) -> Result<(), String> {
    write(&to.join("Cargo.toml"), &workspace(&read(&root.join("Cargo.toml"))?))?;
    for (name, from) in CRATES {
        make(&to.join(name))?;
        write(&to.join(name).join("Cargo.toml"), &manifest(&read(&root.join(from).join("Cargo.toml"))?))?;
        tree(&root.join(from).join("src"), &to.join(name).join("src"))?;
    }
    Ok(())
}

/// Returns the workspace's manifest, reduced to these crates.
fn workspace(text: &str) -> String {
    let ours = CRATES.map(|(name, from)| (format!("path = \"{from}\""), format!("path = \"{name}\"")));
    let mut out = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"rt\", \"gpio\", \"uapi\", \"units\"]\n\n");
    let mut kept = false;
    for line in text.lines() {
        if line.starts_with('[') {
            kept = line.starts_with("[workspace.");
        }
        let named = ours.iter().find(|(from, _)| line.contains(from));
        let line = named.map_or_else(|| line.to_owned(), |(from, to)| line.replace(from, to));
        if kept && (named.is_some() || !line.contains("path = \"")) {
            out += &format!("{line}\n");
        }
    }
    out
}

/// Returns a crate's manifest without the dependencies of its tests.
fn manifest(text: &str) -> String {
    let mut out = String::new();
    let mut kept = true;
    for line in text.lines() {
        if line.starts_with('[') {
            kept = !line.starts_with("[dev-dependencies") && !line.starts_with("[[");
        }
        if kept && !line.starts_with("build = ") {
            out += &format!("{line}\n");
        }
    }
    out
}

fn tree(from: &Path, to: &Path) -> Result<(), String> {
    make(to)?;
    for path in super::files(from)? {
        let name: PathBuf = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            // Leaves out programs that are not built there.
            true if path.ends_with("src/bin") => {}
            true => tree(&path, &name)?,
            false => fs::copy(&path, &name).map(drop).map_err(|e| format!("{}: {e}", path.display()))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_what_is_in_the_package() {
        let text = workspace(&read(&root().join("Cargo.toml")).unwrap());
        assert!(text.contains("punctual-uapi = { path = \"uapi\" }") && text.contains("[workspace.package]"), "{text}");
        assert!(!text.contains("punctual-audit") && !text.contains("default-members"), "{text}");
        for (_, from) in CRATES {
            let text = manifest(&read(&root().join(from).join("Cargo.toml")).unwrap());
            assert!(text.contains("[dependencies]") && !text.contains("proptest"), "{text}");
            for needed in text.lines().filter_map(|line| line.strip_prefix("punctual-")) {
                let name = needed.split('.').next().unwrap();
                assert!(CRATES.iter().any(|(known, _)| *known == name), "{from} needs punctual-{name}");
            }
        }
    }
}
