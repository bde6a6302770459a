//! Processor architectures, under Debian's names.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// Returns the architecture for which this program was compiled; `None` if it is not listed here.
    pub fn host() -> Option<Arch> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Arch::Amd64),
            "aarch64" => Some(Arch::Arm64),
            _ => None,
        }
    }

    pub fn debian(self) -> &'static str {
        match self {
            Arch::Amd64 => "amd64",
            Arch::Arm64 => "arm64",
        }
    }

    /// Determines the architecture of a kernel image: the x86 boot protocol's `HdrS` at 0x202
    /// (Documentation/arch/x86/boot.rst), arm64's `ARM\x64` at 56 (Documentation/arch/arm64/booting.rst). `None` for
    /// anything else, including compressed arm64 images.
    pub fn of_image(head: &[u8]) -> Option<Arch> {
        if head.get(0x202..0x206) == Some(b"HdrS") {
            Some(Arch::Amd64)
        } else if head.get(56..60) == Some(b"ARM\x64") {
            Some(Arch::Arm64)
        } else {
            None
        }
    }

    /// Determines the architecture of an ELF program from e_machine (elf(5)).
    pub fn of_elf(head: &[u8]) -> Option<Arch> {
        match (head.get(..4)?, head.get(18..20)?) {
            (b"\x7fELF", [62, 0]) => Some(Arch::Amd64),
            (b"\x7fELF", [183, 0]) => Some(Arch::Arm64),
            _ => None,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.debian())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_recognised_by_their_magic() {
        let mut x86 = vec![0; 0x210];
        x86[0x202..0x206].copy_from_slice(b"HdrS");
        let mut arm = vec![0; 64];
        arm[56..60].copy_from_slice(b"ARM\x64");
        assert_eq!(Arch::of_image(&x86), Some(Arch::Amd64));
        assert_eq!(Arch::of_image(&arm), Some(Arch::Arm64));
        assert_eq!(Arch::of_image(b"\x1f\x8b"), None);
        assert_eq!(Arch::of_elf(b"\x7fELF"), None);
    }
}
