//! Cross-compiles the static program `punctual` for boards.
//!
//! The standard library of the target comes from the toolchain in use if it is installed there (`rustup target add`),
//! otherwise from Debian's packages (`debian.rs`). The C library comes from the cross compiler's packages in both
//! cases.

mod debian;

use crate::target_dir;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub(crate) struct Target {
    /// Name of the target on the command line.
    pub(crate) name: &'static str,
    pub(crate) triple: &'static str,
    /// Prefix of the names of `gcc` and `readelf`.
    prefix: &'static str,
    pub(crate) debian: &'static str,
    /// Debian packages of the linker and of the C library's archives.
    pub(crate) packages: &'static str,
    /// Name of the processor in Rust's standard library.
    processor: &'static str,
    /// Program that runs the tests if this machine has another processor (qemu-user).
    runner: &'static str,
    /// Flags for rustc, in addition to the flags that all targets share.
    flags: &'static str,
    /// Size limit of a release binary, bytes: its current size. The goal is 6,000,000 (docs/cross.md, Size).
    largest: u64,
}

const TARGETS: [Target; 3] = [
    Target {
        name: "x86-64",
        triple: "x86_64-unknown-linux-gnu",
        prefix: "x86_64-linux-gnu-",
        debian: "amd64",
        packages: "gcc-x86-64-linux-gnu libc6-dev-amd64-cross (on x86-64: gcc libc6-dev)",
        processor: "x86_64",
        runner: "qemu-x86_64-static",
        flags: "",
        largest: 12_000_000,
    },
    Target {
        name: "arm64",
        triple: "aarch64-unknown-linux-gnu",
        prefix: "aarch64-linux-gnu-",
        debian: "arm64",
        packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        processor: "aarch64",
        runner: "qemu-aarch64-static",
        flags: "",
        largest: 8_300_000,
    },
    Target {
        name: "armv7",
        triple: "armv7-unknown-linux-gnueabihf",
        prefix: "arm-linux-gnueabihf-",
        debian: "armhf",
        packages: "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
        processor: "arm",
        runner: "qemu-arm-static",
        // As for Debian's packages for this architecture: all its processors have Thumb-2, whose code is smaller.
        flags: " -C target-feature=+thumb-mode",
        largest: 7_400_000,
    },
];

/// Build the static binary for a target, or run another cargo command for it (docs/cross.md)
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Target to build for
    #[arg(value_parser = names(), default_value = "all")]
    target: String,
    /// Cargo command to run for the target instead of the build, such as `-- test --workspace`
    #[arg(last = true, value_name = "CARGO WORDS")]
    command: Vec<String>,
}

pub fn run(options: &Options) -> Result<(), String> {
    for target in wanted(&options.target) {
        one(target, &options.command).map_err(|why| format!("{}: {why}", target.name))?;
    }
    Ok(())
}

/// Returns the names that [`wanted`] accepts.
pub(crate) fn names() -> PossibleValuesParser {
    let targets = TARGETS.iter().map(|target| PossibleValue::new(target.name).alias(target.debian));
    PossibleValuesParser::new(targets.chain([PossibleValue::new("all")]))
}

/// Returns the target with this name, or with this name in Debian; all targets for `all`.
pub(crate) fn wanted(name: &str) -> impl Iterator<Item = &'static Target> {
    TARGETS.iter().filter(move |target| [target.name, target.debian].contains(&name) || name == "all")
}

fn one(target: &Target, command: &[String]) -> Result<(), String> {
    if !command.is_empty() {
        linker(target)?;
        return succeed(cargo(target)?.args(command), "cargo");
    }
    build(target, &["punctual"]).map(drop)
}

/// Builds static programs, checks each, and prints its size and start-up time. Returns the directory that contains
/// them.
///
/// # Errors
/// Something is missing (the message has the command that installs it), or a program is dynamic or too large.
pub(crate) fn build(target: &Target, packages: &[&str]) -> Result<PathBuf, String> {
    linker(target)?;
    let named = packages.iter().flat_map(|package| ["--package", package]);
    let mut cargo = cargo(target)?;
    remapped(&mut cargo);
    succeed(cargo.args(["build", "--profile", "dist", "--locked"]).args(named), "cargo build")?;
    let folder = target_dir().join(target.triple).join("dist");
    for package in packages {
        check(target, &folder.join(program(package)))?;
    }
    Ok(folder)
}

/// Sets flags that remove the user's directories from the names of source files in panic messages, so that they do not
/// reveal whose machine built the program. The same sources then give the same bytes wherever cargo keeps its registry.
/// Paths in the workspace are relative already.
fn remapped(cargo: &mut Command) {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let Some(home) = env::var_os("CARGO_HOME").map(PathBuf::from).or(home) else { return };
    let flags = cargo.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, flags)| flags);
    let flags = flags.unwrap_or_default().to_string_lossy().into_owned();
    let Some(home) = home.to_str().filter(|home| !home.contains(char::is_whitespace)) else {
        println!("the programs contain the path {}, because it cannot be written in RUSTFLAGS", home.display());
        return;
    };
    cargo.env("RUSTFLAGS", format!("{flags} --remap-path-prefix={home}=/cargo"));
}

/// Returns the name of the program in a package: `punctual-rf-switch` contains `rf-switch`.
pub(crate) fn program(package: &str) -> &str {
    package.strip_prefix("punctual-").unwrap_or(package)
}

fn check(target: &Target, binary: &Path) -> Result<(), String> {
    check_static(target, binary)?;
    let size = check_size(target, binary)?;
    let started = match startup(target, binary) {
        Ok(ms) if is_native(target) => format!("starts in {ms:.1} ms"),
        Ok(ms) => format!("starts in {ms:.1} ms under {}", target.runner),
        Err(why) => format!("start-up unknown ({why})"),
    };
    println!("{:6} {:>9} bytes  {started}  {}", target.name, size, binary.display());
    Ok(())
}

/// Returns the size of the program, bytes.
///
/// # Errors
/// The program is larger than a release may be.
pub(crate) fn check_size(target: &Target, binary: &Path) -> Result<u64, String> {
    let size = fs::metadata(binary).map_err(|e| format!("{}: {e}", binary.display()))?.len();
    if size > target.largest {
        let (file, most) = (binary.display(), target.largest);
        return Err(format!("{file} has {size} bytes, more than the limit of {most}: see docs/cross.md, Size"));
    }
    Ok(size)
}

pub(crate) fn native() -> Result<&'static Target, String> {
    let own = TARGETS.iter().find(|target| is_native(target));
    own.ok_or_else(|| format!("no release exists for {}", env::consts::ARCH))
}

pub(crate) fn is_native(target: &Target) -> bool {
    env::consts::ARCH == target.processor
}

/// Returns the command that runs a program of the target on this machine, directly or through qemu-user.
pub(crate) fn runner(target: &Target, binary: &Path) -> Command {
    if is_native(target) {
        return Command::new(binary);
    }
    let mut command = Command::new(target.runner);
    command.arg(binary);
    command
}

/// Returns the median time of `--version` from fork to exit, ms.
fn startup(target: &Target, binary: &Path) -> Result<f64, String> {
    let once = || -> Result<f64, String> {
        let start = Instant::now();
        let done = runner(target, binary).arg("--version").output().map_err(|e| format!("{}: {e}", target.runner))?;
        match done.status.success() {
            true => Ok(start.elapsed().as_secs_f64() * 1e3),
            false => Err(format!("--version ended with {}", done.status)),
        }
    };
    let mut times = (0..21).map(|_| once()).collect::<Result<Vec<f64>, String>>()?;
    times.sort_by(f64::total_cmp);
    times.get(10).copied().ok_or_else(|| "never ran".to_owned())
}

fn cargo(target: &Target) -> Result<Command, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    let key = target.triple.replace('-', "_").to_uppercase();
    // RUSTFLAGS takes precedence over CARGO_TARGET_…_RUSTFLAGS, so the flag is set in a way that no user setting can
    // override.
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    cargo
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env(
            "RUSTFLAGS",
            format!("{flags} -C target-feature=+crt-static -C relocation-model=static{}", target.flags).trim_start(),
        )
        .env("CARGO_BUILD_TARGET", target.triple)
        .env(format!("CARGO_TARGET_{key}_LINKER"), format!("{}gcc", target.prefix));
    if !is_native(target) {
        cargo.env(format!("CARGO_TARGET_{key}_RUNNER"), target.runner);
    }
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

/// Returns `true` if this rustc has the standard library of the target.
fn has_std(mut rustc: Command, target: &Target) -> bool {
    let asked = rustc.args(["--print", "target-libdir", "--target", target.triple]).output();
    let Some(folder) = asked.ok().filter(|o| o.status.success()) else { return false };
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    let is_std = |name: &str| name.starts_with("libstd-") && name.ends_with(".rlib");
    fs::read_dir(folder).is_ok_and(|files| files.flatten().any(|f| f.file_name().to_str().is_some_and(is_std)))
}

/// Checks that there is a cross linker, and a static archive of the C library.
fn linker(target: &Target) -> Result<(), String> {
    c_library(target).map(drop)
}

/// Returns the path of the static archive of the C library for the cross linker.
///
/// # Errors
/// The linker or the archive is missing; the message has the command that installs both.
pub(crate) fn c_library(target: &Target) -> Result<PathBuf, String> {
    let gcc = format!("{}gcc", target.prefix);
    let found = Command::new(&gcc).arg("-print-file-name=libc.a").output();
    let said = found.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    let missing = || format!("{gcc} or its libc.a is missing; on Debian: apt-get install {}", target.packages);
    // gcc prints the bare name if it finds nothing.
    let path = said.filter(|path| path != "libc.a").ok_or_else(missing)?;
    fs::canonicalize(&path).map_err(|e| format!("{path}: {e}"))
}

/// Returns an error if the program requests a loader, which means that it is not static.
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

pub(crate) fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} failed: {status}")),
        Err(e) => Err(format!("cannot start {what}: {e}")),
    }
}
