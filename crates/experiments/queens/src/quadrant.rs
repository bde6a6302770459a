//! One quarter of the board, with all placements of queens in given rows that do not attack each other.
//!
//! In all four quarters, coordinates count outwards from the centre of the board, so that one list serves all of them,
//! and a mirror image of the board only exchanges quarters. For a queen in column x and row y, both from 0: δ = x − y,
//! σ = x + y.

const S: u32 = 0;
const M: u32 = 1;
const P: u32 = 2;
const Z: u32 = 3;

/// The diagonals of a quarter that extend into other quarters, one bit of a word each. With H = side − 1, bits 0..H are
/// S (σ, where the diagonal enters a neighbouring quarter), H..2H are M (δ = −1, −2…), 2H..3H are P (δ = 1, 2…), and
/// bit 3H is Z (δ = 0).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Diagonals {
    width: u32,
}

impl Diagonals {
    pub(crate) fn new(side: u32) -> Self {
        Self { width: side.saturating_sub(1) }
    }

    pub(crate) fn bits(self) -> usize {
        3 * self.width as usize + 1
    }

    #[inline(always)]
    fn field(self, word: u64, index: u32) -> u64 {
        let low = if index == Z { 1 } else { (1 << self.width) - 1 };
        (word >> (index * self.width)) & low
    }

    #[inline(always)]
    fn pack(self, fields: [u64; 4]) -> u64 {
        let at = |index: u32| fields[index as usize] << (index * self.width);
        at(0) | at(1) | at(2) | at(3)
    }

    /// Returns the bits that a quarter above or below (with the same columns) must not have, because its σ continues as
    /// a positive δ of this quarter, or the reverse.
    #[inline(always)]
    pub(crate) fn above(self, word: u64) -> u64 {
        self.pack([self.field(word, P), 0, self.field(word, S), 0])
    }

    /// Returns the diagonals on which a north-western quarter attacks the eastern half, in the order of
    /// [`Self::north_east_seen_west`]: the north-east across the middle column, the south-east across the centre.
    #[inline(always)]
    pub(crate) fn north_west_probe(self, word: u64) -> u64 {
        self.pack([self.field(word, M), self.field(word, S), self.field(word, P), self.field(word, Z)])
    }

    /// Returns the diagonals of a north-eastern quarter that a north-western one can attack.
    #[inline(always)]
    pub(crate) fn north_east_seen_west(self, word: u64) -> u64 {
        self.pack([self.field(word, S), self.field(word, M), 0, 0])
    }

    /// Returns the diagonals of a south-eastern quarter that a north-western one can attack.
    #[inline(always)]
    pub(crate) fn south_east_seen_across(self, word: u64) -> u64 {
        self.pack([self.field(word, P), 0, self.field(word, M), self.field(word, Z)])
    }

    /// Returns the diagonals on which a south-western quarter attacks the eastern half: the south-east across the
    /// middle column, the north-east across the centre.
    #[inline(always)]
    pub(crate) fn south_west_probe(self, word: u64) -> u64 {
        self.north_west_probe(word)
    }

    /// Returns the diagonals of a north-eastern quarter that a south-western one can attack.
    #[inline(always)]
    pub(crate) fn north_east_seen_across(self, word: u64) -> u64 {
        self.south_east_seen_across(word)
    }

    /// Returns the diagonals of a south-eastern quarter that a south-western one can attack.
    #[inline(always)]
    pub(crate) fn south_east_seen_beside(self, word: u64) -> u64 {
        self.north_east_seen_west(word)
    }
}

/// A quarter before any queen is placed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Quarter {
    pub(crate) side: u32,
    /// 1 if a middle row and column separate the quarters (odd boards), otherwise 0.
    pub(crate) gap: u32,
    pub(crate) columns: u32,
    /// Diagonals δ that queens in the middle row and column occupy; bit number δ + side − 1.
    pub(crate) taken_delta: u32,
    /// Like `taken_delta`, for σ.
    pub(crate) taken_sigma: u32,
}

/// All placements in one set of rows, sorted by the columns that they use.
#[derive(Debug)]
pub(crate) struct Placements {
    starts: Vec<u32>,
    words: Vec<u64>,
}

impl Placements {
    /// Lists every placement with one queen in each row of `rows`.
    pub(crate) fn new(quarter: Quarter, rows: u32) -> Self {
        let mut found = Search { quarter, rows, found: Vec::new() };
        found.place(rows, 0, quarter.taken_delta, quarter.taken_sigma);
        Self::sorted(quarter.side, &found.found)
    }

    fn sorted(side: u32, found: &[(u32, u64)]) -> Self {
        let mut starts = vec![0u32; (1 << side) + 1];
        for (columns, _) in found {
            starts[*columns as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut words = vec![0u64; found.len()];
        for (columns, word) in found {
            let slot = &mut next[*columns as usize];
            words[*slot as usize] = *word;
            *slot += 1;
        }
        Self { starts, words }
    }

    /// Returns the placements that use exactly these columns, as [`Diagonals`] words.
    pub(crate) fn with_columns(&self, columns: u32) -> &[u64] {
        &self.words[self.range(columns)]
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the range in [`Self::words`] of the placements that use exactly these columns.
    pub(crate) fn range(&self, columns: u32) -> core::ops::Range<usize> {
        let column = columns as usize;
        self.starts[column] as usize..self.starts[column + 1] as usize
    }

    /// Returns the size on the heap, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.capacity() * size_of::<u32>() + self.words.capacity() * size_of::<u64>()
    }
}

struct Search {
    quarter: Quarter,
    rows: u32,
    found: Vec<(u32, u64)>,
}

impl Search {
    fn place(&mut self, rows: u32, used: u32, delta: u32, sigma: u32) {
        if rows == 0 {
            let word = self.word(delta ^ self.quarter.taken_delta, sigma ^ self.quarter.taken_sigma);
            self.found.push((used, word));
            return;
        }
        let row = rows.trailing_zeros();
        let shift = self.quarter.side - 1 - row;
        let mut free = self.quarter.columns & !used & !(delta >> shift) & !(sigma >> row);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            self.place(rows & (rows - 1), used | queen, delta | queen << shift, sigma | queen << row);
            free ^= queen;
        }
    }

    fn word(&self, delta: u32, sigma: u32) -> u64 {
        let width = self.quarter.side.saturating_sub(1);
        if width == 0 {
            return u64::from(self.rows != 0);
        }
        let low = (1u64 << width) - 1;
        let negative = u64::from(delta.reverse_bits() >> (32 - width));
        let positive = u64::from(delta) >> (width + 1) & low;
        let zero = u64::from(delta) >> width & 1;
        let sums = (u64::from(sigma) << self.quarter.gap) & low;
        sums | negative << width | positive << (2 * width) | zero << (3 * width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy)]
    struct Queen {
        east: bool,
        north: bool,
        x: u32,
        y: u32,
    }

    impl Queen {
        fn word(self, quarter: Quarter) -> u64 {
            let search = Search { quarter, rows: 1 << self.y, found: Vec::new() };
            search.word(1 << (self.x + quarter.side - 1 - self.y), 1 << (self.x + self.y))
        }

        /// Returns the position in half squares from the centre of the board.
        fn place(self, gap: u32) -> (i64, i64) {
            let from_centre = |at: u32, positive: bool| i64::from(2 * at + 1 + gap) * if positive { 1 } else { -1 };
            (from_centre(self.x, self.east), from_centre(self.y, self.north))
        }

        fn attacks(self, other: Self, gap: u32) -> bool {
            let ((x, y), (other_x, other_y)) = (self.place(gap), other.place(gap));
            (x - other_x).abs() == (y - other_y).abs()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn two_quarters_meet_in_their_words_where_their_queens_meet_on_the_board(
            n in 2u32..=27,
            at in proptest::array::uniform8(0u32..9999),
        ) {
            let (side, gap) = (n / 2, n % 2);
            let quarter = Quarter { side, gap, columns: (1 << side) - 1, taken_delta: 0, taken_sigma: 0 };
            let d = Diagonals::new(side);
            let queen = |east, north, x: u32, y: u32| Queen { east, north, x: x % side, y: y % side };
            let (ne, nw) = (queen(true, true, at[0], at[1]), queen(false, true, at[2], at[3]));
            let (se, sw) = (queen(true, false, at[4], at[5]), queen(false, false, at[6], at[7]));
            let [ne_word, nw_word, se_word, sw_word] = [ne, nw, se, sw].map(|queen| queen.word(quarter));
            for (meets, one, other) in [
                (d.north_west_probe(nw_word) & d.north_east_seen_west(ne_word), nw, ne),
                (d.north_west_probe(nw_word) & d.south_east_seen_across(se_word), nw, se),
                (d.south_west_probe(sw_word) & d.south_east_seen_beside(se_word), sw, se),
                (d.south_west_probe(sw_word) & d.north_east_seen_across(ne_word), sw, ne),
                (d.above(ne_word) & se_word, ne, se),
                (d.above(nw_word) & sw_word, nw, sw),
            ] {
                prop_assert_eq!(meets != 0, one.attacks(other, gap), "{:?} and {:?} of {}", one.place(gap), other.place(gap), n);
                prop_assert!(meets >> d.bits() == 0);
            }
        }
    }

    #[test]
    fn the_placements_of_all_row_sets_are_the_non_attacking_ones() {
        // k queens that do not attack each other on a board of 5: 1, 25, 140, 204, 82, 10 (OEIS A036464, A036465,
        // A000170).
        let quarter = Quarter { side: 5, gap: 0, columns: 0b1_1111, taken_delta: 0, taken_sigma: 0 };
        let mut counts = [0; 6];
        for rows in 0u32..32 {
            let placements = Placements::new(quarter, rows);
            counts[rows.count_ones() as usize] += placements.words().len();
            for columns in (0..32).filter(|columns: &u32| columns.count_ones() != rows.count_ones()) {
                assert!(placements.with_columns(columns).is_empty());
            }
        }
        assert_eq!(counts, [1, 25, 140, 204, 82, 10]);
    }
}
