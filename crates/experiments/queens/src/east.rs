//! The eastern half of the board: a list of pairs of a north-eastern and a south-eastern placement, stored as bits.
//!
//! The diagonals of a pair that a north-western quarter can attack are stored transposed, one row of bits per diagonal:
//! an OR of rows finds the pairs that a placement does not attack, 512 at a time. The diagonals that a south-western
//! quarter can attack are stored as one word per pair: an AND tests the remaining pairs, sixteen at a time.

use crate::quadrant::Diagonals;
use crate::simd::{ROOM, Simd};
use crate::transpose::transpose;

pub(crate) const GROUP: usize = 512;
pub(crate) const GROUPS: usize = 16;
/// Number of pairs in a block, whose rows and words fit into a level 2 cache.
pub(crate) const PAIRS: usize = GROUP * GROUPS;
/// Maximum number of pairs added at once.
pub(crate) const MORE: usize = 64;
pub(crate) const BITS: usize = 64;

/// A word that contains the diagonals that a south-western quarter can attack. 32 bits suffice up to N = 23.
pub(crate) trait Word: Copy + Eq + core::fmt::Debug + Default {
    /// A word whose diagonals are all attacked.
    const FULL: Self;
    fn new(bits: u64) -> Self;
    /// Calls [`Simd::gather_32`] or [`Simd::gather_64`], depending on the width of the word.
    ///
    /// # Safety
    /// See the methods of [`Simd`].
    unsafe fn gather<S: Simd>(
        words: &[Self; PAIRS + MORE],
        bits: &[u64],
        places: &[u64],
        to: &mut [Self; ROOM],
    ) -> usize;

    /// Counts the combinations of one of `left` and one of `probes` that have no bit in common.
    ///
    /// # Safety
    /// See the methods of [`Simd`].
    unsafe fn count<S: Simd>(left: &[Self], probes: &[Self]) -> u64;
}

macro_rules! word {
    ($type:ty, $count:ident, $gather:ident) => {
        impl Word for $type {
            const FULL: Self = Self::MAX;
            #[inline(always)]
            fn new(bits: u64) -> Self {
                bits as Self
            }
            #[inline(always)]
            unsafe fn gather<S: Simd>(
                words: &[Self; PAIRS + MORE],
                bits: &[u64],
                places: &[u64],
                to: &mut [Self; ROOM],
            ) -> usize {
                // SAFETY: the caller upholds the contract of `gather`.
                unsafe { S::$gather(words, bits, places, to) }
            }
            #[inline(always)]
            unsafe fn count<S: Simd>(left: &[Self], probes: &[Self]) -> u64 {
                // SAFETY: the caller upholds the contract of `count`.
                unsafe { S::$count(left, probes) }
            }
        }
    };
}
word!(u32, count_32, gather_32);
word!(u64, count_64, gather_64);

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Group(pub(crate) [u64; GROUP / BITS]);

/// A list of up to [`PAIRS`] pairs.
#[derive(Debug)]
pub(crate) struct Block<T> {
    /// `rows[diagonal][group]` contains the pairs on that diagonal. The last row marks padding.
    pub(crate) rows: Vec<[Group; GROUPS]>,
    pub(crate) words: Box<[T; PAIRS + MORE]>,
    /// For the pairs added since the last complete group, the diagonals that a north-western quarter can attack.
    waiting: Box<[u64; GROUP + MORE]>,
    length: usize,
    /// Index of the first word of bits that may contain pairs with columns of the highest rank.
    pub(crate) top: usize,
    absent: u64,
}

impl<T: Word> Block<T> {
    pub(crate) fn new(diagonals: Diagonals) -> Self {
        let bits = diagonals.bits();
        Self {
            rows: vec![[Group([0; GROUP / BITS]); GROUPS]; bits + 1],
            words: Box::new([T::FULL; PAIRS + MORE]),
            waiting: Box::new([0; GROUP + MORE]),
            length: 0,
            top: usize::MAX,
            absent: 1 << bits,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.top = usize::MAX;
    }

    pub(crate) fn room(&self) -> usize {
        PAIRS - self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the number of groups in use. Valid only after [`Self::close`].
    pub(crate) fn groups(&self) -> usize {
        self.length / GROUP
    }

    /// Returns the bit of a probe that selects padding.
    pub(crate) fn absent(&self) -> u64 {
        self.absent
    }

    /// Adds the pairs of one north-eastern placement with the south-eastern placements in `south` that it does not
    /// attack. `south` may contain at most [`MORE`] placements. The block must have space for all of them.
    #[inline(always)]
    pub(crate) fn push(&mut self, north: &NorthEast, south: &[SouthEast]) {
        let start = self.length / GROUP * GROUP;
        for south in south {
            self.waiting[self.length - start] = north.west | south.across;
            self.words[self.length] = T::new(north.across | south.beside);
            self.length += usize::from(north.probe & south.own == 0);
        }
        if self.length - start >= GROUP {
            self.flush();
        }
    }

    /// Marks the first pair whose columns have the highest rank.
    pub(crate) fn begin_top(&mut self) {
        if self.top == usize::MAX {
            self.pad(BITS);
            self.top = self.length / BITS;
        }
    }

    pub(crate) fn close(&mut self) {
        self.pad(GROUP);
    }

    fn pad(&mut self, multiple: usize) {
        let end = self.length.next_multiple_of(multiple);
        let start = self.length / GROUP * GROUP;
        self.waiting[self.length - start..end - start].fill(self.absent);
        self.length = end;
        if end > start && end.is_multiple_of(GROUP) {
            self.flush();
        }
    }

    /// Transposes the first complete group of pairs that were added.
    fn flush(&mut self) {
        let group = self.length / GROUP - 1;
        let mut matrices = [[0u64; GROUP / BITS]; BITS];
        for (word, pairs) in self.waiting[..GROUP].as_chunks::<BITS>().0.iter().enumerate() {
            for (matrix, pair) in matrices.iter_mut().zip(pairs) {
                matrix[word] = *pair;
            }
        }
        transpose(&mut matrices);
        for (row, bits) in self.rows.iter_mut().zip(matrices) {
            row[group] = Group(bits);
        }
        self.waiting.copy_within(GROUP.., 0);
    }
}

/// A north-eastern placement as the other quarters see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NorthEast {
    /// See [`Diagonals::north_east_seen_west`].
    pub(crate) west: u64,
    /// See [`Diagonals::north_east_seen_across`].
    across: u64,
    /// See [`Diagonals::above`].
    probe: u64,
    pub(crate) columns: u32,
}

impl NorthEast {
    pub(crate) fn new(diagonals: Diagonals, word: u64, columns: u32) -> Self {
        let (west, across) = (diagonals.north_east_seen_west(word), diagonals.north_east_seen_across(word));
        Self { west, across, probe: diagonals.above(word), columns }
    }
}

/// A south-eastern placement as the other quarters see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SouthEast {
    across: u64,
    beside: u64,
    own: u64,
}

impl SouthEast {
    pub(crate) fn new(diagonals: Diagonals, word: u64) -> Self {
        let (across, beside) = (diagonals.south_east_seen_across(word), diagonals.south_east_seen_beside(word));
        Self { across, beside, own: word }
    }
}
