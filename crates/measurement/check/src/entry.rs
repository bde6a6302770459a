//! Chooses the instruction of a function at which a uprobe costs one trap instead of two.
//!
//! The kernel emulates a few instructions that a uprobe replaced (push_setup_xol_ops() and branch_setup_xol_ops() of
//! arch/x86/kernel/uprobes.c); the others it executes elsewhere, in a single step, which ends in a second trap. In a
//! virtual machine that one also leaves to the host.

/// Returns the distance from the function's start to the first instruction that the kernel emulates. It is 0 if one of those
/// before is not known to do nothing but compare: then every call passes there, with the registers that it has at the start.
pub fn emulated(code: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += match code.get(at..).unwrap_or_default() {
            // push, jcc, jmp, nop
            [0x50..=0x57 | 0x70..=0x7f | 0xeb | 0xe9 | 0x90, ..] => return at,
            [0x41, 0x50..=0x57, ..] | [0x0f, 0x80..=0x8f, ..] => return at,
            // endbr64
            [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
            // test of two registers
            [0x85, 0xc0..=0xff, ..] => 2,
            [0x40..=0x4f, 0x85, 0xc0..=0xff, ..] => 3,
            // cmpb $imm8, disp32(%rip)
            [0x80, 0x3d, ..] => 7,
            _ => return 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comparisons_before_a_push_or_branch_are_passed() {
        // malloc, free and aligned_alloc of glibc 2.36; a function with endbr64; pthread_mutex_lock.
        assert_eq!(emulated(&[0x41, 0x54, 0x55]), 0);
        assert_eq!(emulated(&[0x48, 0x85, 0xff, 0x0f, 0x84, 0xbf, 0, 0, 0]), 3);
        assert_eq!(emulated(&[0x80, 0x3d, 0x71, 0x0e, 0x14, 0, 0, 0x74, 0x07]), 7);
        assert_eq!(emulated(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55]), 4);
        assert_eq!(emulated(&[0x48, 0x85, 0xff, 0x8b, 0x47, 0x10]), 0);
        assert_eq!(emulated(&[0x48, 0x85, 0xff]), 0);
    }

    proptest! {
        #[test]
        fn any_code_is_answered(code in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(emulated(&code) <= code.len());
        }
    }
}
