use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_load_si256, _mm256_loadu_si256,
    _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256,
    _mm256_sub_epi32, _mm256_sub_epi64,
};

use super::{Bits, Simd, append};
use crate::east::{GROUPS, Group};

pub(crate) struct Avx2;

/// Number of registers whose words are counted together.
const R: usize = 2;

impl Simd for Avx2 {
    #[inline(always)]
    unsafe fn filter(rows: &[&[Group; GROUPS]], groups: usize, to: &mut Bits) -> usize {
        let mut length = 0;
        for group in 0..groups.min(GROUPS) {
            let mut words = [0u64; 8];
            // SAFETY: the caller ensures AVX2. A Group is two registers at an address divisible by 64.
            unsafe {
                let (mut low, mut high) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for row in rows {
                    let half: *const __m256i = core::ptr::from_ref(&row[group]).cast();
                    low = _mm256_or_si256(low, _mm256_load_si256(half));
                    high = _mm256_or_si256(high, _mm256_load_si256(half.add(1)));
                }
                let half: *mut __m256i = words.as_mut_ptr().cast();
                _mm256_storeu_si256(half, low);
                _mm256_storeu_si256(half.add(1), high);
            }
            length = append(words.map(|taken| !taken), group, to, length);
        }
        length
    }

    #[inline(always)]
    unsafe fn count_32(left: &[u32], probes: &[u32]) -> u64 {
        let mut total = 0;
        for words in left.as_chunks::<{ 8 * R }>().0 {
            // SAFETY: the caller ensures AVX2; a register is eight words.
            unsafe {
                let zero = _mm256_setzero_si256();
                let words: [__m256i; R] =
                    core::array::from_fn(|index| _mm256_loadu_si256(words[index * 8..].as_ptr().cast()));
                let mut counts = [zero; R];
                for probe in probes {
                    let probe = _mm256_set1_epi32(*probe as i32);
                    for (count, word) in counts.iter_mut().zip(words) {
                        *count = _mm256_sub_epi32(*count, _mm256_cmpeq_epi32(_mm256_and_si256(word, probe), zero));
                    }
                }
                for count in counts {
                    let mut lanes = [0u32; 8];
                    _mm256_storeu_si256(lanes.as_mut_ptr().cast(), count);
                    total += lanes.into_iter().map(u64::from).sum::<u64>();
                }
            }
        }
        total
    }

    #[inline(always)]
    unsafe fn count_64(left: &[u64], probes: &[u64]) -> u64 {
        // SAFETY: the caller ensures AVX2; a register is four words.
        unsafe {
            let zero = _mm256_setzero_si256();
            let mut count = zero;
            for words in left.as_chunks::<4>().0 {
                let words = _mm256_loadu_si256(words.as_ptr().cast());
                for probe in probes {
                    let probe = _mm256_set1_epi64x(*probe as i64);
                    count = _mm256_sub_epi64(count, _mm256_cmpeq_epi64(_mm256_and_si256(words, probe), zero));
                }
            }
            let mut lanes = [0u64; 4];
            _mm256_storeu_si256(lanes.as_mut_ptr().cast(), count);
            lanes.into_iter().sum()
        }
    }
}
