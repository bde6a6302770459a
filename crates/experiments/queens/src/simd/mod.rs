//! The two inner loops for each instruction set.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(crate) mod neon;
pub(crate) mod portable;

use crate::east::{BITS, GROUPS, Group, MORE, PAIRS};

/// Number of words of bits in a block, plus space for one more group, because whole groups are written.
pub(crate) const BIT_WORDS: usize = PAIRS / 64 + 8;
/// Number of pairs per vector of the widest kernel. Lists are padded to a multiple of it.
pub(crate) const TILE: usize = 16;

/// Space for the pairs of a block, plus space for one more tile, because whole tiles are written.
pub(crate) const ROOM: usize = PAIRS + 2 * TILE;

/// Non-zero words of bits, and their positions in the block.
#[derive(Debug)]
pub(crate) struct Bits {
    pub(crate) words: [u64; BIT_WORDS],
    pub(crate) places: [u64; BIT_WORDS],
}

/// Operations that each kernel implements with its instruction set.
///
/// # Safety
/// A method may only be called if the CPU supports the instructions, and only by a function in which they are enabled,
/// so that it is inlined there.
pub(crate) trait Simd {
    /// Finds the pairs that are in none of the given rows, in the first `groups` groups. Collects the words of bits
    /// that contain such pairs. Returns their number.
    unsafe fn filter(rows: &[&[Group; GROUPS]], groups: usize, to: &mut Bits) -> usize;

    /// Collects the words of the pairs whose bits are set. Returns their number. Up to [`TILE`] meaningless words may
    /// be written after them.
    #[inline(always)]
    unsafe fn gather_32(words: &[u32; PAIRS + MORE], bits: &[u64], places: &[u64], to: &mut [u32; ROOM]) -> usize {
        gather(words, bits, places, to)
    }

    /// Like [`Simd::gather_32`], for words of 64 bits.
    #[inline(always)]
    unsafe fn gather_64(words: &[u64; PAIRS + MORE], bits: &[u64], places: &[u64], to: &mut [u64; ROOM]) -> usize {
        gather(words, bits, places, to)
    }

    /// Counts the combinations of one of `left` and one of `probes` that have no bit in common. The length of `left` is
    /// a multiple of [`TILE`].
    unsafe fn count_32(left: &[u32], probes: &[u32]) -> u64;

    /// Like [`Simd::count_32`], for words of 64 bits.
    unsafe fn count_64(left: &[u64], probes: &[u64]) -> u64;
}

/// Appends the non-zero words of a group. Returns the new length. It has no branches, because they would be hard to
/// predict.
#[inline(always)]
pub(crate) fn append(words: [u64; 8], group: usize, to: &mut Bits, length: usize) -> usize {
    let mut end = length;
    for (index, word) in words.into_iter().enumerate() {
        to.words[end] = word;
        to.places[end] = (group * 8 + index) as u64;
        end += usize::from(word != 0);
    }
    end
}

/// The portable [`Simd::gather_32`]. The number of pairs in a word of bits is hard to predict, so eight are always
/// copied.
#[inline(always)]
fn gather<T: Copy>(words: &[T; PAIRS + MORE], bits: &[u64], places: &[u64], to: &mut [T; ROOM]) -> usize {
    let mut length = 0;
    for (bits, place) in bits.iter().zip(places) {
        let mut bits = *bits;
        let base = *place as usize * BITS;
        let end = length + bits.count_ones() as usize;
        while length < end {
            for slot in to[length % PAIRS..].iter_mut().take(8) {
                *slot = words[(base + bits.trailing_zeros() as usize) % PAIRS];
                bits &= bits.wrapping_sub(1);
            }
            length += 8;
        }
        length = end;
    }
    length
}
