//! Links `punctual` statically with the C library if its archive is installed, so that the binary runs on a board to
//! which it is copied.
//!
//! `-C target-feature=+crt-static` in the workspace would do the same, but cargo then refuses to build procedural
//! macros unless a target is named, and the binary would not be at target/release/punctual. Therefore the program is
//! linked with `-static-pie`, and linker scripts resolve `-lc` and the other libraries that rustc links dynamically to
//! the static archives.
//!
//! A release is also linked for size: without unwind tables, which it does not need because panics abort and stripped
//! frames have no names; and, if the toolchain has LLVM's linker, with identical code merged.

// clippy.toml denies printing in the program; cargo reads what a build script prints.
#![allow(clippy::disallowed_macros)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Libraries that rustc passes to the linker, each with the static archive that replaces it.
const LIBRARIES: [(&str, &str); 7] =
    [("gcc_s", "gcc_eh"), ("util", "util"), ("rt", "rt"), ("pthread", "pthread"), ("m", "m"), ("dl", "dl"), ("c", "c")];

fn main() {
    // Without a rerun-if line, cargo watches every file of the package. rerun-if-changed=build.rs would always count as
    // changed in a package that has no such file.
    println!("cargo:rerun-if-env-changed=CC");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "gnu");
    let is_native = env::var("HOST") == env::var("TARGET");
    let already = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
    let Ok(out) = env::var("OUT_DIR") else { return };
    if is_gnu && (already || (is_native && link_static(&out))) && is_small_release() {
        link_small(&out);
    }
}

/// Adds the link arguments. Returns false if the archives are missing or the scripts cannot be written.
fn link_static(out: &str) -> bool {
    if !archives_exist() {
        println!(
            "cargo:warning=libc.a is not installed: punctual is linked dynamically (Debian: apt install libc6-dev)"
        );
        return false;
    }
    for (asked, archive) in LIBRARIES {
        let script = Path::new(out).join(format!("lib{asked}.so"));
        if let Err(e) = fs::write(&script, format!("INPUT(-l:lib{archive}.a)\n")) {
            println!("cargo:warning=cannot write {}: {e}; punctual is linked dynamically", script.display());
            return false;
        }
    }
    println!("cargo:rustc-link-arg-bins=-L{out}");
    // Each process is loaded at a random address, which makes a parser harder to exploit.
    println!("cargo:rustc-link-arg-bins=-static-pie");
    // Otherwise 130,000 relocations of 24 bytes each are processed at every start.
    if unpacks_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    true
}

/// Returns true for the profile `release`, and for profiles with the same panic strategy and opt-level. Cargo does not
/// pass the panic strategy to build scripts; the profile `fuzz`, which unwinds, has another opt-level.
fn is_small_release() -> bool {
    env::var("PROFILE").is_ok_and(|p| p == "release") && env::var("OPT_LEVEL").is_ok_and(|level| level == "z")
}

/// Linker script that discards the unwind tables, except those of the C library's start files: crtbegin and crtend mark
/// their ends. Saves 1.2 MB on x86-64.
const NO_UNWINDING: &str = "SECTIONS { /DISCARD/ : {
  *(EXCLUDE_FILE(*crt1.o *crti.o *crtbegin*.o *crtend*.o *crtn.o) .eh_frame)
  *(.gcc_except_table .gcc_except_table.*)
} } INSERT AFTER .text;
";

/// Adds the link arguments that make the program small. If that fails, the program is only larger, so a warning is
/// enough.
fn link_small(out: &str) {
    let script = Path::new(out).join("no-unwinding.ld");
    match fs::write(&script, NO_UNWINDING) {
        Ok(()) => {
            println!("cargo:rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
            println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
        }
        Err(e) => println!("cargo:warning=cannot write {}: {e}; punctual is 1 MB larger", script.display()),
    }
    if let Some(folder) = lld() {
        println!("cargo:rustc-link-arg-bins=-B{folder}");
        println!("cargo:rustc-link-arg-bins=-fuse-ld=lld");
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Returns the directory of LLVM's linker in the toolchain; `None` if there is none, as in Debian's toolchains.
fn lld() -> Option<String> {
    let rustc = env::var_os("RUSTC")?;
    let asked = Command::new(rustc).args(["--print", "sysroot"]).output().ok().filter(|o| o.status.success())?;
    let sysroot = String::from_utf8(asked.stdout).ok()?;
    let folder = format!("{}/lib/rustlib/{}/bin/gcc-ld", sysroot.trim(), env::var("HOST").ok()?);
    Path::new(&folder).join("ld.lld").exists().then_some(folder)
}

fn archives_exist() -> bool {
    LIBRARIES.iter().all(|(_, archive)| path_of(archive).is_some())
}

/// Returns the path of an archive as the C compiler finds it; `None` if the compiler prints the bare name, which means
/// that it found none.
fn path_of(archive: &str) -> Option<String> {
    let file = format!("lib{archive}.a");
    let found = Command::new("cc").arg(format!("-print-file-name={file}")).output().ok()?;
    let path = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && path != file).then_some(path)
}

/// Returns true if the C library's start code processes packed relocations (DT_RELR) in a static PIE, as glibc 2.36 and
/// later does. A program linked with an earlier glibc would crash.
fn unpacks_relocations() -> bool {
    let Some(archive) = path_of("c").and_then(|path| fs::read(path).ok()) else { return false };
    let said = b"stable release version 2.";
    let at = archive.windows(said.len()).position(|window| window == said);
    let minor = at.and_then(|at| archive.get(at + said.len()..)).unwrap_or_default();
    let digits: String = minor.iter().take_while(|b| b.is_ascii_digit()).map(|b| char::from(*b)).collect();
    digits.parse::<u32>().is_ok_and(|minor| minor >= 36)
}
