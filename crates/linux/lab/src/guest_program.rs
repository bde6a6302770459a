//! The `punctual` that runs in the guest: this program, or one cross-compiled for the guest's architecture.

use crate::error::LabError;
use punctual_vm::Arch;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads a static `punctual` for `arch`: the given file, this program, or one next to it (`punctual-arm64`, or cargo's
/// `target/aarch64-unknown-linux-gnu/release`).
///
/// # Errors
/// There is none, it is for another architecture, or it needs libraries that the guest does not have.
pub fn guest_program(given: Option<&Path>, arch: Arch) -> Result<Vec<u8>, LabError> {
    let own = std::env::current_exe().map_err(LabError::file("find", "this program"))?;
    let candidates = match given {
        Some(path) => vec![path.to_owned()],
        None if Arch::host() == Some(arch) => vec![own],
        None => beside(&own, arch),
    };
    let Some(path) = candidates.iter().find(|p| p.is_file()) else {
        let shown: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
        return Err(LabError::Usage(format!(
            "a {arch} guest needs a punctual built for it, but there is none at {}: build one with `cargo xtask cross {arch}`, \
             or give one with --guest-program",
            shown.join(" or ")
        )));
    };
    let program = fs::read(path).map_err(LabError::file("read", path))?;
    if Arch::of_elf(&program) != Some(arch) {
        return Err(LabError::Usage(format!("{} is not a program for {arch}", path.display())));
    }
    if needs_an_interpreter(&program) {
        return Err(LabError::Usage(format!(
            "{} is linked dynamically and cannot run in a guest: install libc6-dev and build it again",
            path.display()
        )));
    }
    Ok(program)
}

fn beside(own: &Path, arch: Arch) -> Vec<PathBuf> {
    let triple = match arch {
        Arch::Amd64 => "x86_64-unknown-linux-gnu",
        Arch::Arm64 => "aarch64-unknown-linux-gnu",
    };
    let folder = own.parent().unwrap_or(Path::new("/"));
    let mut paths = vec![folder.join(format!("punctual-{arch}"))];
    // For example target/release/punctual → target/TRIPLE/release/punctual.
    if let Some(target) = folder.parent() {
        paths.push(target.join(triple).join("release").join("punctual"));
    }
    paths
}

/// Returns true if a 64-bit ELF file has a PT_INTERP program header (elf(5)).
fn needs_an_interpreter(program: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let word = |at: usize| program.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let half = |at: usize| program.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes);
    let (Some(start), Some(size), Some(count)) = (word(32), half(54), half(56)) else { return false };
    let Ok(start) = usize::try_from(start) else { return false };
    (0..usize::from(count)).any(|i| {
        let at = start.saturating_add(i * usize::from(size));
        program.get(at..at.saturating_add(4)).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes) == Some(PT_INTERP)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_dynamic_and_text_is_no_program() {
        let own = std::env::current_exe().unwrap();
        let error = guest_program(Some(&own), Arch::host().unwrap()).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("dynamically"), "{error}");
        let text = tempfile::NamedTempFile::new().unwrap();
        assert!(guest_program(Some(text.path()), Arch::Amd64).unwrap_err().to_string().contains("not a program"));
        assert!(
            guest_program(Some(Path::new("/nowhere")), Arch::Arm64)
                .unwrap_err()
                .to_string()
                .contains("cargo xtask cross")
        );
    }
}
