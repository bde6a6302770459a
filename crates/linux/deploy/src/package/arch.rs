use crate::error::{DeployError, file};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Kernel images by magic numbers: Documentation/arch/x86/boot.rst (`HdrS` at 0x202), arch/arm64/booting.rst (`ARM\x64`
/// at 56), arch/arm/boot/compressed/head.S (0x016f2818 at 36), arch/riscv/boot-image-header.rst (`RSC\x05` at 56).
const MAGICS: [(usize, &[u8], &str); 4] = [
    (0x202, b"HdrS", "x86_64"),
    (56, b"ARM\x64", "aarch64"),
    (36, &[0x18, 0x28, 0x6f, 0x01], "armv7l"),
    (56, b"RSC\x05", "riscv64"),
];

/// e_machine of elf(5).
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (40, "armv7l"), (243, "riscv64")];

fn head(path: &Path) -> Result<Vec<u8>, DeployError> {
    let mut head = Vec::new();
    let opened = File::open(path).map_err(file("open", path))?;
    opened.take(0x300).read_to_end(&mut head).map_err(file("read", path))?;
    Ok(head)
}

/// The architecture as in `uname -m`; `None`: the image is compressed, or of another form.
pub fn arch_of_image(path: &Path) -> Result<Option<&'static str>, DeployError> {
    let head = head(path)?;
    let is_it = |at: usize, magic: &[u8]| head.get(at..at + magic.len()) == Some(magic);
    Ok(MAGICS.iter().find(|(at, magic, _)| is_it(*at, magic)).map(|(.., arch)| *arch))
}

/// The architecture as in `uname -m`; `None`: it is no program, or of another architecture.
pub fn arch_of_program(path: &Path) -> Result<Option<&'static str>, DeployError> {
    let head = head(path)?;
    let machine = head.get(18..20).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok()).map(u16::from_le_bytes);
    let is_elf = head.starts_with(b"\x7fELF");
    Ok(MACHINES.iter().find(|(number, _)| is_elf && machine == Some(*number)).map(|(_, arch)| *arch))
}
