//! The kernel for any CPU. The compiler vectorises it for the build target.

use super::{Bits, Simd, TILE, append};
use crate::east::{GROUPS, Group};

pub(crate) struct Portable;

impl Simd for Portable {
    #[inline(always)]
    unsafe fn filter(rows: &[&[Group; GROUPS]], groups: usize, to: &mut Bits) -> usize {
        let mut length = 0;
        for group in 0..groups.min(GROUPS) {
            let mut taken = [0u64; 8];
            for row in rows {
                for (taken, row) in taken.iter_mut().zip(row[group].0) {
                    *taken |= row;
                }
            }
            length = append(taken.map(|taken| !taken), group, to, length);
        }
        length
    }

    #[inline(always)]
    unsafe fn count_32(left: &[u32], probes: &[u32]) -> u64 {
        let mut counts = [0u32; TILE];
        for tile in left.chunks_exact(TILE) {
            for probe in probes {
                for (count, word) in counts.iter_mut().zip(tile) {
                    *count += u32::from(word & probe == 0);
                }
            }
        }
        counts.into_iter().map(u64::from).sum()
    }

    #[inline(always)]
    unsafe fn count_64(left: &[u64], probes: &[u64]) -> u64 {
        let mut counts = [0u64; TILE];
        for tile in left.chunks_exact(TILE) {
            for probe in probes {
                for (count, word) in counts.iter_mut().zip(tile) {
                    *count += u64::from(word & probe == 0);
                }
            }
        }
        counts.into_iter().sum()
    }
}
