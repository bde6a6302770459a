//! Reads instructions of the running kernel through /proc/kcore (fs/proc/kcore.c), to determine whether the instruction
//! before an address enables interrupts.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Number of bytes examined before the address.
const BEFORE: usize = 12;

/// A segment of kernel memory: address, length, offset in /proc/kcore.
struct Part {
    address: u64,
    length: u64,
    offset: u64,
}

pub(super) struct KernelText {
    file: File,
    parts: Vec<Part>,
}

impl KernelText {
    /// Opens /proc/kcore. `None` if it does not exist (CONFIG_PROC_KCORE), or may not be read (not root, kernel
    /// lockdown).
    pub fn open() -> Option<KernelText> {
        let file = File::open("/proc/kcore").ok()?;
        // The header of an ELF64 core file in this machine's byte order (elf(5)).
        let mut head = [0u8; 64];
        file.read_exact_at(&mut head, 0).ok()?;
        if !head.starts_with(b"\x7fELF\x02") {
            return None;
        }
        let (start, size, count) = (u64_at(&head, 32)?, u16_at(&head, 54)?, u16_at(&head, 56)?);
        let part = |n: u16| {
            let mut bytes = [0u8; 56];
            file.read_exact_at(&mut bytes, start + u64::from(n) * u64::from(size)).ok()?;
            let is_load = bytes.get(..4)? == 1u32.to_ne_bytes();
            let part = Part { offset: u64_at(&bytes, 8)?, address: u64_at(&bytes, 16)?, length: u64_at(&bytes, 40)? };
            is_load.then_some(part)
        };
        let parts = (0..count.min(4096)).filter_map(part).collect();
        Some(KernelText { file, parts })
    }

    /// Returns true if the instruction before `address` enables interrupts; false if it does not or cannot be read.
    pub fn lets_interrupts_in(&mut self, address: u64) -> bool {
        let from = address - (BEFORE as u64).min(address);
        let part = self.parts.iter().find(|part| from >= part.address && address - part.address < part.length);
        let mut before = [0u8; BEFORE];
        let read =
            part.is_some_and(|part| self.file.read_exact_at(&mut before, part.offset + (from - part.address)).is_ok());
        read && match std::env::consts::ARCH {
            "x86_64" => x86(&before),
            "aarch64" => arm64(&before),
            _ => false,
        }
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Returns true for `popf`, or `sti` and the instruction in its interrupt shadow, in the forms that compilers and the
/// kernel's code patching (with nops) produce. Source: Intel 64 and IA-32 Architectures Software Developer's Manual,
/// volume 2, STI.
fn x86(before: &[u8]) -> bool {
    const STI: u8 = 0xfb;
    const POPF: u8 = 0x9d;
    const SHADOWED: [&[u8]; 9] = [
        &[0x90],
        &[0x66, 0x90],
        &[0x0f, 0x1f, 0x00],
        &[0x0f, 0x1f, 0x40, 0x00],
        &[0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
        &[0x31, 0xc0],
        &[],
    ];
    // Nops may also follow popf, because the kernel pads the patched code to the length of a call.
    let ends = |first: u8, second: &[u8]| before.strip_suffix(second).is_some_and(|rest| rest.last() == Some(&first));
    let pop = |rest: &[u8]| matches!(rest, [.., STI, 0x50..=0x5f] | [.., STI, 0x41, 0x50..=0x5f]);
    SHADOWED.iter().any(|nop| ends(STI, nop) || ends(POPF, nop)) || pop(before)
}

/// Returns true for `msr daifclr, #imm` or `msr daif, xN`, with or without a following `isb` (Arm Architecture
/// Reference Manual, C5.2).
fn arm64(before: &[u8]) -> bool {
    const ISB: u32 = 0xd503_3fdf;
    let mut words = before.chunks_exact(4).rev().filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)));
    let lets_in = |word: u32| word & 0xffff_f0ff == 0xd503_40ff || word & 0xffff_ffe0 == 0xd51b_4220;
    match words.next() {
        Some(ISB) => words.next().is_some_and(lets_in),
        Some(word) => lets_in(word),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_let_interrupts_in() {
        let x86 = |bytes: &[u8]| x86(&[&[0x48, 0x89, 0xe5][..], bytes].concat());
        assert!(x86(&[0x9d]) && x86(&[0xfb, 0x90]) && x86(&[0xfb, 0x0f, 0x1f, 0x44, 0x00, 0x00]) && x86(&[0xfb, 0x5b]));
        assert!(!x86(&[0xf3, 0x90]) && !x86(&[0xfa]) && !x86(&[0x0f, 0x31]) && !x86(&[0xe8, 0, 0, 0, 0]));
        let arm64 = |words: &[u32]| arm64(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
        // nop; msr daifclr, #3; msr daif, x20; isb; msr daifset, #3
        assert!(arm64(&[0xd503_201f, 0xd503_43ff]) && arm64(&[0xd51b_4234]) && arm64(&[0xd503_43ff, 0xd503_3fdf]));
        assert!(!arm64(&[0xd503_43ff, 0xd503_201f]) && !arm64(&[0xd503_43df]) && !arm64(&[]));
    }
}
