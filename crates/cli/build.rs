//! Links `punctual` statically against the C library where its archive is installed, so that the binary copied to a
//! board runs there.
//!
//! `-C target-feature=+crt-static` in the workspace would do the same, but cargo then refuses to build procedural
//! macros unless a target is named, and the binary would not be at target/release/punctual. So: `-static`, and
//! linker scripts that answer `-lc` and its kin, which rustc asks for dynamically, with the archives.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What rustc asks the linker for, and the archive that has it.
const LIBRARIES: [(&str, &str); 7] =
    [("gcc_s", "gcc_eh"), ("util", "util"), ("rt", "rt"), ("pthread", "pthread"), ("m", "m"), ("dl", "dl"), ("c", "c")];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "gnu");
    let is_native = env::var("HOST") == env::var("TARGET");
    let already = env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|f| f.split(',').any(|f| f == "crt-static"));
    let Ok(out) = env::var("OUT_DIR") else { return };
    if !is_gnu || !is_native || already {
        return;
    }
    if !archives_exist() {
        println!(
            "cargo:warning=libc.a is not installed: punctual is linked dynamically (Debian: apt install libc6-dev)"
        );
        return;
    }
    for (asked, archive) in LIBRARIES {
        let script = Path::new(&out).join(format!("lib{asked}.so"));
        if let Err(e) = fs::write(&script, format!("INPUT(-l:lib{archive}.a)\n")) {
            println!("cargo:warning=cannot write {}: {e}; punctual is linked dynamically", script.display());
            return;
        }
    }
    println!("cargo:rustc-link-arg-bins=-L{out}");
    println!("cargo:rustc-link-arg-bins=-static");
    println!("cargo:rustc-link-arg-bins=-no-pie");
}

/// Does the C compiler find every archive? It prints the bare name where it does not.
fn archives_exist() -> bool {
    LIBRARIES.iter().all(|(_, archive)| {
        let file = format!("lib{archive}.a");
        let found = Command::new("cc").arg(format!("-print-file-name={file}")).output();
        found.is_ok_and(|o| o.status.success() && String::from_utf8_lossy(&o.stdout).trim() != file)
    })
}
