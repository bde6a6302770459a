//! Joins the western half of the board with a block of the eastern half.
//!
//! All functions are inlined into the functions of [`crate::kernel`], and are compiled there for each instruction set.

use crate::east::{Block, GROUPS, Group, Word};
use crate::quadrant::Diagonals;
use crate::simd::{BIT_WORDS, Bits, ROOM, Simd, TILE};

/// Number of solutions. Solutions with eastern columns of the highest rank are counted separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) below: u64,
    pub(crate) top: u64,
}

#[derive(Debug)]
pub(crate) struct Scratch<T> {
    /// Diagonals on which each south-western placement attacks the eastern half.
    probes: Vec<T>,
    /// The probes of placements that are compatible with one north-western placement.
    fitting: Vec<T>,
    /// The pairs that one north-western placement does not attack, as bits.
    bits: Box<Bits>,
    /// The words of the pairs that one north-western placement does not attack.
    left: Box<[T; ROOM]>,
}

impl<T: Word> Scratch<T> {
    pub(crate) fn new() -> Self {
        Self {
            probes: Vec::new(),
            fitting: Vec::new(),
            bits: Box::new(Bits { words: [0; BIT_WORDS], places: [0; BIT_WORDS] }),
            left: Box::new([T::FULL; ROOM]),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct West<'a> {
    pub(crate) diagonals: Diagonals,
    pub(crate) north: &'a [u64],
    pub(crate) south: &'a [u64],
}

/// Counts the solutions in a block for one set of western columns.
///
/// # Safety
/// The CPU must support the instructions of `S`, and they must be enabled in the calling function.
#[inline(always)]
pub(crate) unsafe fn join<S: Simd, T: Word>(west: West<'_>, block: &Block<T>, scratch: &mut Scratch<T>) -> Found {
    let diagonals = west.diagonals;
    let Scratch { probes, fitting, bits, left } = scratch;
    probes.clear();
    probes.extend(west.south.iter().map(|word| T::new(diagonals.south_west_probe(*word))));
    fitting.resize(probes.len(), T::FULL);
    let mut found = Found::default();
    for word in west.north {
        let count = fit(diagonals.above(*word), west.south, probes, fitting);
        if count == 0 {
            continue;
        }
        // SAFETY: the caller upholds the contract of `join`.
        let all = unsafe { filter::<S, T>(block, diagonals.north_west_probe(*word) | block.absent(), bits) };
        let below = bits.places[..all].partition_point(|place| (*place as usize) < block.top);
        // SAFETY: the caller upholds the contract of `join`.
        found.below += unsafe {
            let length = gather::<S, T>(block, &bits.words[..below], &bits.places[..below], left);
            T::count::<S>(&left[..length], &fitting[..count])
        };
        if all > below {
            // SAFETY: the caller upholds the contract of `join`.
            found.top += unsafe {
                let length = gather::<S, T>(block, &bits.words[below..all], &bits.places[below..all], left);
                T::count::<S>(&left[..length], &fitting[..count])
            };
        }
    }
    found
}

/// Collects the southern placements that are compatible with a northern placement, and returns their number.
#[inline(always)]
fn fit<T: Word>(probe: u64, south: &[u64], probes: &[T], fitting: &mut [T]) -> usize {
    let mut count = 0;
    for (word, own) in south.iter().zip(probes) {
        fitting[count] = *own;
        count += usize::from(probe & word == 0);
    }
    count
}

/// Collects the words of bits in which at least one pair is on none of the diagonals in `probe`. Returns the number of
/// words.
#[inline(always)]
unsafe fn filter<S: Simd, T: Word>(block: &Block<T>, mut probe: u64, bits: &mut Bits) -> usize {
    let Some(first) = block.rows.first() else { return 0 };
    let mut rows: [&[Group; GROUPS]; 64] = [first; 64];
    let mut count = 0;
    while probe != 0 {
        rows[count % 64] = &block.rows[probe.trailing_zeros() as usize];
        count += 1;
        probe &= probe - 1;
    }
    // SAFETY: the caller upholds the contract of `join`.
    unsafe { S::filter(&rows[..count], block.groups(), bits) }
}

/// Collects the words of the remaining pairs, padded to whole tiles. Returns their number.
#[inline(always)]
unsafe fn gather<S: Simd, T: Word>(block: &Block<T>, bits: &[u64], places: &[u64], left: &mut [T; ROOM]) -> usize {
    // SAFETY: the caller upholds the contract of `join`.
    let length = unsafe { T::gather::<S>(&block.words, bits, places, left) };
    let end = length.next_multiple_of(TILE);
    left[length..end].fill(T::FULL);
    end
}
