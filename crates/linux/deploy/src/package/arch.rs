use crate::error::{DeployError, file};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Offset, bytes and architecture of the magic number of each image format: Documentation/arch/x86/boot.rst (`HdrS` at
/// 0x202), arch/arm64/booting.rst (`ARM\x64` at 56), arch/arm/boot/compressed/head.S (0x016f2818 at 36),
/// arch/riscv/boot-image-header.rst (`RSC\x05` at 56).
const MAGICS: [(usize, &[u8], &str); 4] = [
    (0x202, b"HdrS", "x86_64"),
    (56, b"ARM\x64", "aarch64"),
    (36, &[0x18, 0x28, 0x6f, 0x01], "armv7l"),
    (56, b"RSC\x05", "riscv64"),
];

/// Returns the architecture as in `uname -m`; `None` if the image is compressed or of another format.
pub fn arch_of_image(path: &Path) -> Result<Option<&'static str>, DeployError> {
    let mut head = Vec::new();
    let opened = File::open(path).map_err(file("open", path))?;
    opened.take(0x300).read_to_end(&mut head).map_err(file("read", path))?;
    let is_it = |at: usize, magic: &[u8]| head.get(at..at + magic.len()) == Some(magic);
    Ok(MAGICS.iter().find(|(at, magic, _)| is_it(*at, magic)).map(|(.., arch)| *arch))
}
