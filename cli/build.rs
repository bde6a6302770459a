//! Links `punctual` statically against the C library where its archive is installed, so that the binary copied to a
//! board runs there.
//!
//! `-C target-feature=+crt-static` in the workspace would do the same, but cargo then refuses to build procedural
//! macros unless a target is named, and the binary would not be at target/release/punctual. So: `-static-pie`, and
//! linker scripts that answer `-lc` and its kin, which rustc asks for dynamically, with the archives.
//!
//! A release is also linked small: without what unwinding needs, since panics abort and stripped frames have no names, and with
//! equal functions once where the toolchain brings a linker that can do that.

// Cargo reads what is printed; clippy.toml is about the program.
#![allow(clippy::disallowed_macros)]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What rustc asks the linker for, and the archive that has it.
const LIBRARIES: [(&str, &str); 7] =
    [("gcc_s", "gcc_eh"), ("util", "util"), ("rt", "rt"), ("pthread", "pthread"), ("m", "m"), ("dl", "dl"), ("c", "c")];

fn main() {
    // Cargo runs it again where this file changes. It must name something: else every file of the package counts; and a file that
    // is not in each package that uses it (`build.rs`) would count as changed each time.
    println!("cargo:rerun-if-env-changed=CC");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "gnu");
    let is_native = env::var("HOST") == env::var("TARGET");
    let already = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
    let Ok(out) = env::var("OUT_DIR") else { return };
    if is_gnu && (already || (is_native && link_static(&out))) && is_small_release() {
        link_small(&out);
    }
}

/// Tells the linker; whether that could be done.
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
    // At another address in each process: an exploited parser does not know where anything is.
    println!("cargo:rustc-link-arg-bins=-static-pie");
    // 130,000 relocations of 24 bytes otherwise, all of which are read at each start.
    if unpacks_relocations() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    true
}

/// The profile `release`, or one that differs from it in nothing of this: built for size. A build script is not told whether
/// panics unwind; in the profile `fuzz` they do, and it is built for speed.
fn is_small_release() -> bool {
    env::var("PROFILE").is_ok_and(|p| p == "release") && env::var("OPT_LEVEL").is_ok_and(|level| level == "z")
}

/// Of the C library's start files the tables stay: crtbegin and crtend mark their ends. 1.2 MB less on x86-64.
const NO_UNWINDING: &str = "SECTIONS { /DISCARD/ : {
  *(EXCLUDE_FILE(*crt1.o *crti.o *crtbegin*.o *crtend*.o *crtn.o) .eh_frame)
  *(.gcc_except_table .gcc_except_table.*)
} } INSERT AFTER .text;
";

/// What fails here only makes the program larger, and is said.
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

/// The folder in which the toolchain has LLVM's linker, for any target; Debian's toolchains have none.
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

/// Where the C compiler finds an archive. It prints the bare name where it does not.
fn path_of(archive: &str) -> Option<String> {
    let file = format!("lib{archive}.a");
    let found = Command::new("cc").arg(format!("-print-file-name={file}")).output().ok()?;
    let path = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && path != file).then_some(path)
}

/// glibc 2.36 and later apply packed relocations (DT_RELR) to a program that nothing else loads; an earlier one would let it crash.
fn unpacks_relocations() -> bool {
    let Some(archive) = path_of("c").and_then(|path| fs::read(path).ok()) else { return false };
    let said = b"stable release version 2.";
    let at = archive.windows(said.len()).position(|window| window == said);
    let minor = at.and_then(|at| archive.get(at + said.len()..)).unwrap_or_default();
    let digits: String = minor.iter().take_while(|b| b.is_ascii_digit()).map(|b| char::from(*b)).collect();
    digits.parse::<u32>().is_ok_and(|minor| minor >= 36)
}
