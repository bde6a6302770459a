pub const SIZES: std::ops::RangeInclusive<u32> = 4..=16;
/// Number of positions tried per step; a step takes about 20 to 60 µs.
const TRIED: u32 = 10_000;
/// Number of rows of the largest board, plus one.
const ROWS: usize = 17;

/// A row of the search: attacked columns and columns still to try, one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    columns: u32,
    rising: u32,
    falling: u32,
    open: u32,
}

/// Counts the placements of N queens by backtracking, with one bit per column. Restarts when finished.
#[derive(Clone, Debug)]
pub struct Queens {
    full: u32,
    rows: [Row; ROWS],
    depth: usize,
    found: u64,
    counted: Option<u64>,
    passes: u64,
}

impl Queens {
    /// Starts the search. A size outside [`SIZES`] is clamped.
    pub fn new(n: u32) -> Queens {
        let n = n.clamp(*SIZES.start(), *SIZES.end());
        let mut queens =
            Queens { full: (1 << n) - 1, rows: [Row::default(); ROWS], depth: 0, found: 0, counted: None, passes: 0 };
        queens.rows[0].open = queens.full;
        queens
    }

    pub fn step(&mut self) {
        for _ in 0..TRIED {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let row = &mut self.rows[self.depth];
        let bit = row.open & row.open.wrapping_neg();
        if bit == 0 {
            match self.depth {
                0 => self.begin_anew(),
                _ => self.depth -= 1,
            }
            return;
        }
        row.open ^= bit;
        let (columns, rising, falling) = (row.columns | bit, (row.rising | bit) << 1, (row.falling | bit) >> 1);
        if columns == self.full {
            self.found += 1;
            return;
        }
        self.depth += 1;
        self.rows[self.depth] = Row { columns, rising, falling, open: self.full & !(columns | rising | falling) };
    }

    fn begin_anew(&mut self) {
        self.counted = Some(self.found);
        self.passes += 1;
        self.found = 0;
        self.rows[0].open = self.full;
    }

    /// Returns the number of solutions found by the last complete pass; `None` before the first pass ends.
    pub fn counted(&self) -> Option<u64> {
        self.counted
    }

    pub fn passes(&self) -> u64 {
        self.passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known numbers of solutions by board size (OEIS A000170).
    const COUNTS: [(u32, u64); 7] = [(4, 2), (5, 10), (6, 4), (7, 40), (8, 92), (9, 352), (10, 724)];

    #[test]
    fn every_pass_counts_what_is_known() {
        for (n, count) in COUNTS {
            let mut queens = Queens::new(n);
            while queens.passes() < 2 {
                queens.step();
            }
            assert_eq!(queens.counted(), Some(count), "N = {n}");
        }
    }

    #[test]
    fn sizes_outside_are_brought_inside() {
        assert_eq!(Queens::new(0).full, 0b1111);
        assert_eq!(Queens::new(99).full, 0xffff);
    }
}
