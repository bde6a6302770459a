//! NEON (ASIMD), which all 64-bit Arm CPUs that run Linux support.

use core::arch::aarch64::{
    uint32x4_t, vaddlvq_u32, vaddvq_u64, vandq_u32, vandq_u64, vceqzq_u32, vceqzq_u64, vdupq_n_u32, vdupq_n_u64,
    vld1q_u32, vld1q_u64, vmvnq_u32, vorrq_u64, vreinterpretq_u32_u64, vreinterpretq_u64_u32, vst1q_u64, vsubq_u32,
    vsubq_u64,
};

use super::{Bits, Simd, append};
use crate::east::{GROUPS, Group};

pub(crate) struct Neon;

/// Number of registers whose words are counted together.
const R: usize = 4;

impl Simd for Neon {
    #[inline(always)]
    unsafe fn filter(rows: &[&[Group; GROUPS]], groups: usize, to: &mut Bits) -> usize {
        let mut length = 0;
        for group in 0..groups.min(GROUPS) {
            let mut words = [0u64; 8];
            // SAFETY: the caller ensures NEON; two words from index * 2 lie in eight.
            unsafe {
                let mut taken = [vdupq_n_u64(0); 4];
                for row in rows {
                    for (index, taken) in taken.iter_mut().enumerate() {
                        *taken = vorrq_u64(*taken, vld1q_u64(row[group].0[index * 2..].as_ptr()));
                    }
                }
                for (index, taken) in taken.into_iter().enumerate() {
                    let left = vreinterpretq_u64_u32(vmvnq_u32(vreinterpretq_u32_u64(taken)));
                    vst1q_u64(words[index * 2..].as_mut_ptr(), left);
                }
            }
            length = append(words, group, to, length);
        }
        length
    }

    #[inline(always)]
    unsafe fn count_32(left: &[u32], probes: &[u32]) -> u64 {
        let mut total = 0;
        for words in left.as_chunks::<{ 4 * R }>().0 {
            // SAFETY: the caller ensures NEON; a register is four words.
            unsafe {
                let words: [uint32x4_t; R] = core::array::from_fn(|index| vld1q_u32(words[index * 4..].as_ptr()));
                let mut counts = [vdupq_n_u32(0); R];
                for probe in probes {
                    let probe = vdupq_n_u32(*probe);
                    for (count, word) in counts.iter_mut().zip(words) {
                        *count = vsubq_u32(*count, vceqzq_u32(vandq_u32(word, probe)));
                    }
                }
                total += counts.into_iter().map(|count| vaddlvq_u32(count)).sum::<u64>();
            }
        }
        total
    }

    #[inline(always)]
    unsafe fn count_64(left: &[u64], probes: &[u64]) -> u64 {
        // SAFETY: the caller ensures NEON; a register is two words.
        unsafe {
            let mut count = vdupq_n_u64(0);
            for words in left.as_chunks::<2>().0 {
                let words = vld1q_u64(words.as_ptr());
                for probe in probes {
                    count = vsubq_u64(count, vceqzq_u64(vandq_u64(words, vdupq_n_u64(*probe))));
                }
            }
            vaddvq_u64(count)
        }
    }
}
