//! AVX-512 (F): words are collected with compressing stores, and counted with masked test instructions.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_load_si512, _mm512_loadu_si512, _mm512_mask_sub_epi32, _mm512_mask_sub_epi64,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_or_si512, _mm512_reduce_add_epi32,
    _mm512_reduce_add_epi64, _mm512_set_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_storeu_si512, _mm512_test_epi64_mask, _mm512_testn_epi32_mask, _mm512_testn_epi64_mask, _mm512_xor_si512,
};

use super::{Bits, ROOM, Simd, TILE};
use crate::east::{BITS, GROUPS, Group, MORE, PAIRS};

pub(crate) struct Avx512;

impl Simd for Avx512 {
    #[inline(always)]
    unsafe fn filter(rows: &[&[Group; GROUPS]], groups: usize, to: &mut Bits) -> usize {
        let mut length = 0;
        // SAFETY: the caller ensures AVX-512F. A Group is 64 bytes at an address divisible by 64. At most 8 words are
        // added for each of at most 16 groups, and the arrays have room for 8 more.
        unsafe {
            let ones = _mm512_set1_epi64(-1);
            let mut places = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
            for group in 0..groups.min(GROUPS) {
                let mut taken = _mm512_setzero_si512();
                for row in rows {
                    taken = _mm512_or_si512(taken, _mm512_load_si512(core::ptr::from_ref(&row[group]).cast()));
                }
                let left = _mm512_xor_si512(taken, ones);
                let some = _mm512_test_epi64_mask(left, left);
                let at = |array: &mut [u64]| array.as_mut_ptr().add(length).cast::<__m512i>();
                _mm512_storeu_si512(at(&mut to.words), _mm512_maskz_compress_epi64(some, left));
                _mm512_storeu_si512(at(&mut to.places), _mm512_maskz_compress_epi64(some, places));
                length += some.count_ones() as usize;
                places = _mm512_add_epi64(places, _mm512_set1_epi64(8));
            }
        }
        length
    }

    #[inline(always)]
    unsafe fn gather_32(words: &[u32; PAIRS + MORE], bits: &[u64], places: &[u64], to: &mut [u32; ROOM]) -> usize {
        let mut length = 0;
        for (bits, place) in bits.iter().zip(places) {
            let base = *place as usize % (PAIRS / BITS) * BITS;
            for part in 0..4 {
                let some = (bits >> (part * TILE)) as u16;
                // SAFETY: the caller ensures AVX-512F. A tile from base + part * TILE lies in the block, and a tile
                // from length, of which less than a block has been written, lies in the room.
                unsafe {
                    let tile = _mm512_loadu_si512(words.as_ptr().add(base + part * TILE).cast());
                    let to = to.as_mut_ptr().add(length % PAIRS).cast();
                    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(some, tile));
                }
                length += some.count_ones() as usize;
            }
        }
        length
    }

    #[inline(always)]
    unsafe fn count_32(left: &[u32], probes: &[u32]) -> u64 {
        let mut total = 0;
        let (fours, rest) = left.as_chunks::<{ 4 * TILE }>();
        // SAFETY: the caller upholds the contract of `gather_32`.
        unsafe {
            for tile in fours {
                total += tiles_32::<4>(tile, probes);
            }
            total
                + match rest.len() / TILE {
                    0 => 0,
                    1 => tiles_32::<1>(rest, probes),
                    2 => tiles_32::<2>(rest, probes),
                    _ => tiles_32::<3>(rest, probes),
                }
        }
    }

    #[inline(always)]
    unsafe fn count_64(left: &[u64], probes: &[u64]) -> u64 {
        // SAFETY: the caller ensures AVX-512F; a chunk of eight words is one register.
        unsafe {
            let ones = _mm512_set1_epi64(-1);
            let mut counts = [_mm512_setzero_si512(); 2];
            for pair in left.as_chunks::<TILE>().0 {
                let words = [0, 1].map(|half| _mm512_loadu_si512(pair[half * 8..].as_ptr().cast()));
                for probe in probes {
                    let probe = _mm512_set1_epi64(*probe as i64);
                    for (count, word) in counts.iter_mut().zip(words) {
                        *count = _mm512_mask_sub_epi64(*count, _mm512_testn_epi64_mask(word, probe), *count, ones);
                    }
                }
            }
            _mm512_reduce_add_epi64(_mm512_add_epi64(counts[0], counts[1])) as u64
        }
    }
}

/// Counts the combinations of a word in `R` registers and a probe that have no bit in common.
#[inline(always)]
unsafe fn tiles_32<const R: usize>(words: &[u32], probes: &[u32]) -> u64 {
    // SAFETY: the caller ensures AVX-512F and passes R * TILE words.
    unsafe {
        let ones = _mm512_set1_epi32(-1);
        let words: [__m512i; R] =
            core::array::from_fn(|index| _mm512_loadu_si512(words[index * TILE..].as_ptr().cast()));
        let mut counts = [_mm512_setzero_si512(); R];
        for probe in probes {
            let probe = _mm512_set1_epi32(*probe as i32);
            for (count, word) in counts.iter_mut().zip(words) {
                *count = _mm512_mask_sub_epi32(*count, _mm512_testn_epi32_mask(word, probe), *count, ones);
            }
        }
        counts.into_iter().map(|count| u64::from(_mm512_reduce_add_epi32(count) as u32)).sum()
    }
}
