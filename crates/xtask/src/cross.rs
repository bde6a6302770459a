//! The static `punctual` for boards, built on another machine.
//!
//! The standard library of the target comes from the toolchain in use where it is installed (`rustup target add`), else
//! from Debian's packages (`debian.rs`). The C library comes from the cross compiler's packages in both cases.

mod debian;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a release binary may take, in bytes.
const LARGEST: u64 = 6_000_000;

struct Target {
    /// What a user types.
    name: &'static str,
    triple: &'static str,
    /// Before `gcc` and `readelf`.
    prefix: &'static str,
    debian: &'static str,
    /// What has the linker and the C library's archives, in Debian.
    packages: &'static str,
    /// Runs the tests (qemu-user).
    runner: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "arm64",
        triple: "aarch64-unknown-linux-gnu",
        prefix: "aarch64-linux-gnu-",
        debian: "arm64",
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        runner: "qemu-aarch64-static",
    },
    Target {
        name: "armv7",
        triple: "armv7-unknown-linux-gnueabihf",
        prefix: "arm-linux-gnueabihf-",
        debian: "armhf",
        packages: "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
        runner: "qemu-arm-static",
    },
];

/// `cross [arm64|armv7|all] [-- CARGO WORDS]`: builds, or runs another cargo command for those targets.
pub fn run(words: &[String]) -> Result<(), String> {
    let (which, command) = match words.iter().position(|w| w == "--") {
        Some(at) => (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default()),
        None => (words, [].as_slice()),
    };
    let wanted = match which {
        [] => "all",
        [one] => one.as_str(),
        _ => return Err("cross takes one target: arm64, armv7 or all".to_owned()),
    };
    let targets: Vec<&Target> = TARGETS.iter().filter(|t| wanted == "all" || wanted == t.name).collect();
    if targets.is_empty() {
        return Err(format!("no target `{wanted}`: arm64, armv7 or all"));
    }
    for target in targets {
        one(target, command).map_err(|why| format!("{}: {why}", target.name))?;
    }
    Ok(())
}

fn one(target: &Target, command: &[String]) -> Result<(), String> {
    linker(target)?;
    let mut cargo = cargo(target)?;
    if !command.is_empty() {
        return succeed(cargo.args(command), "cargo");
    }
    succeed(cargo.args(["build", "--release", "--package", "punctual"]), "cargo build")?;
    let binary = target_dir().join(target.triple).join("release/punctual");
    let size = fs::metadata(&binary).map_err(|e| format!("{}: {e}", binary.display()))?.len();
    check_static(target, &binary)?;
    println!("{:6} {:>9} bytes  {}", target.name, size, binary.display());
    if size > LARGEST {
        return Err(format!("{} is larger than {LARGEST} bytes", binary.display()));
    }
    Ok(())
}

/// Cargo, told how to build for the target.
fn cargo(target: &Target) -> Result<Command, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    let key = target.triple.replace('-', "_").to_uppercase();
    // RUSTFLAGS beats CARGO_TARGET_…_RUSTFLAGS, so the flag goes where nothing the user has set can hide it.
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    cargo
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", format!("{flags} -C target-feature=+crt-static").trim_start())
        .env("CARGO_BUILD_TARGET", target.triple)
        .env(format!("CARGO_TARGET_{key}_LINKER"), format!("{}gcc", target.prefix))
        .env(format!("CARGO_TARGET_{key}_RUNNER"), target.runner);
    let rustc = PathBuf::from(env::var_os("RUSTC").unwrap_or("rustc".into()));
    if has_std(Command::new(rustc), target) {
        println!("{}: the installed toolchain has {}", target.name, target.triple);
        return Ok(cargo);
    }
    let found = debian::toolchain(target)?;
    println!("{}: Debian's rustc in {}", target.name, found.root.display());
    cargo.env("RUSTC", found.rustc()).env("RUSTDOC", found.rustdoc()).env("LD_LIBRARY_PATH", found.libraries());
    Ok(cargo)
}

/// Does this rustc have the target's standard library?
fn has_std(mut rustc: Command, target: &Target) -> bool {
    let asked = rustc.args(["--print", "target-libdir", "--target", target.triple]).output();
    let Some(folder) = asked.ok().filter(|o| o.status.success()) else { return false };
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    let is_std = |name: &str| name.starts_with("libstd-") && name.ends_with(".rlib");
    fs::read_dir(folder).is_ok_and(|files| files.flatten().any(|f| f.file_name().to_str().is_some_and(is_std)))
}

/// Is there a cross linker, and an archive of the C library?
fn linker(target: &Target) -> Result<(), String> {
    let gcc = format!("{}gcc", target.prefix);
    let found = Command::new(&gcc).arg("-print-file-name=libc.a").output();
    let is_there = found.is_ok_and(|o| o.status.success() && String::from_utf8_lossy(&o.stdout).trim() != "libc.a");
    if is_there {
        return Ok(());
    }
    Err(format!("{gcc} or its libc.a is missing; on Debian: apt-get install {}", target.packages))
}

/// A program that asks for a loader is not static.
fn check_static(target: &Target, binary: &Path) -> Result<(), String> {
    let readelf = format!("{}readelf", target.prefix);
    let read = Command::new(&readelf).args(["--wide", "--program-headers"]).arg(binary).output();
    let read = read.map_err(|e| format!("{readelf}: {e}"))?;
    if !read.status.success() {
        return Err(format!("{readelf} cannot read {}", binary.display()));
    }
    if String::from_utf8_lossy(&read.stdout).contains("INTERP") {
        return Err(format!("{} is linked dynamically", binary.display()));
    }
    Ok(())
}

/// Where cargo puts what it builds: this program runs in the workspace's root or below it.
fn target_dir() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} failed: {status}")),
        Err(e) => Err(format!("{what} cannot be started: {e}")),
    }
}
