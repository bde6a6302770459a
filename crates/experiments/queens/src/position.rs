//! Positions of the queens in the middle row and column, and the squares of the four quarters that then remain free.

use crate::quadrant::Quarter;
use crate::rows::Symmetry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Middle {
    /// An even board, which has no middle row or column.
    None,
    /// One queen in the centre of an odd board.
    Centre,
    /// One queen `row` squares above the centre, and one `column` squares to the right of it, where `column` < `row`.
    /// The position represents eight symmetric images.
    Apart {
        /// Distance from the centre in columns, at least 1.
        column: u32,
        /// Distance from the centre in rows, at least 2.
        row: u32,
    },
}

/// Returns the starting positions of a board, which together yield all solutions.
pub(crate) fn middles(n: u32) -> Vec<Middle> {
    if n.is_multiple_of(2) {
        return vec![Middle::None];
    }
    let side = n / 2;
    let apart = (2..=side).flat_map(|row| (1..row).map(move |column| Middle::Apart { column, row }));
    core::iter::once(Middle::Centre).chain(apart).collect()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) north_west: Quarter,
    pub(crate) north_east: Quarter,
    pub(crate) south_west: Quarter,
    pub(crate) south_east: Quarter,
    /// Rows to fill in the north and in the south.
    pub(crate) rows: [u32; 2],
    pub(crate) symmetry: Symmetry,
}

impl Position {
    pub(crate) fn new(n: u32, middle: Middle) -> Self {
        let side = n / 2;
        let all = (1 << side) - 1;
        let quarter = Quarter { side, gap: n % 2, columns: all, taken_delta: 0, taken_sigma: 0 };
        match middle {
            Middle::None => Self::square(quarter, all),
            Middle::Centre => Self::square(Quarter { taken_delta: 1 << (side - 1), ..quarter }, all),
            Middle::Apart { column, row } => Self::apart(quarter, all, column, row),
        }
    }

    fn square(quarter: Quarter, all: u32) -> Self {
        Self {
            north_west: quarter,
            north_east: quarter,
            south_west: quarter,
            south_east: quarter,
            rows: [all; 2],
            symmetry: Symmetry::Square,
        }
    }

    /// The queens are at (0, row) and (column, 0), counted from the centre. In the coordinates of a quarter, which
    /// count outwards from 1, they are on the diagonals δ = x − y and σ = x + y that are computed below.
    fn apart(quarter: Quarter, all: u32, column: u32, row: u32) -> Self {
        let (column, row) = (i64::from(column), i64::from(row));
        let taken = |deltas: &[i64], sigmas: &[i64]| Quarter {
            taken_delta: deltas.iter().fold(0, |mask, delta| mask | 1 << (delta + i64::from(quarter.side) - 1)),
            taken_sigma: sigmas.iter().filter(|sigma| **sigma >= 2).fold(0, |mask, sigma| mask | 1 << (sigma - 2)),
            ..quarter
        };
        let east = all & !(1 << (column - 1));
        // δ = ±side is outside the quarter.
        let inside = |deltas: &[i64]| -> Vec<i64> {
            deltas.iter().copied().filter(|delta| delta.abs() < i64::from(quarter.side)).collect()
        };
        Self {
            north_east: Quarter { columns: east, ..taken(&inside(&[-row, column]), &[column, row]) },
            north_west: taken(&inside(&[-row, -column]), &[row]),
            south_east: Quarter { columns: east, ..taken(&inside(&[row, column]), &[column]) },
            south_west: taken(&inside(&[row, -column]), &[]),
            rows: [all & !(1 << (row - 1)), all],
            symmetry: Symmetry::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_is_taken_exactly_where_a_queen_of_the_middle_lines_attacks_it() {
        for n in (5..=27).step_by(2) {
            let side = n / 2;
            for middle in middles(n) {
                let Middle::Apart { column, row } = middle else { continue };
                let position = Position::new(n, middle);
                for (quarter, east, north) in [
                    (position.north_west, -1, 1),
                    (position.north_east, 1, 1),
                    (position.south_west, -1, -1),
                    (position.south_east, 1, -1),
                ] {
                    for (x, y) in (0..side).flat_map(|x| (0..side).map(move |y| (x, y))) {
                        let at = (i64::from(x + 1) * east, i64::from(y + 1) * north);
                        let queens = [(0, i64::from(row)), (i64::from(column), 0)];
                        let attacked = queens.iter().any(|queen| (queen.0 - at.0).abs() == (queen.1 - at.1).abs());
                        let delta = quarter.taken_delta >> (x + side - 1 - y) & 1;
                        let sigma = quarter.taken_sigma >> (x + y) & 1;
                        assert_eq!(delta | sigma == 1, attacked, "{n} queens, {middle:?}, square {at:?}");
                    }
                }
                assert_eq!(position.rows[0].count_ones() + 1, side);
                assert_eq!(position.north_east.columns.count_ones() + 1, side);
            }
        }
    }

    #[test]
    fn the_starts_of_an_odd_board_are_the_centre_and_one_of_eight_images_of_each_pair() {
        assert_eq!(middles(8), [Middle::None]);
        for n in [1, 3, 5, 7, 27] {
            let side = n / 2;
            assert_eq!(middles(n).len() as u32, 1 + side * side.saturating_sub(1) / 2);
        }
    }
}
