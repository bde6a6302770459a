use crate::error::Error;
use crate::position::{Middle, Position, middles};
use crate::rows::{Set, Symmetry, family};

/// Maximum number of sets of south-eastern rows per unit, so that units of large boards do not take too long.
const SETS_IN_UNIT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    n: u32,
}

/// A part of the search. The counts of all [`Board::units`] add up to the count of the board. The result of a unit is
/// one number, so that a long run can be saved after each unit and resumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub(crate) n: u32,
    pub(crate) index: u32,
    pub(crate) middle: Middle,
    pub(crate) top: Set,
    /// Range of indices of the sets of south-eastern rows, end excluded.
    pub(crate) south: (u32, u32),
    size: f64,
}

impl Unit {
    /// Returns the index in [`Board::units`], which for a given board is the same in every run of this version.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Returns the unit's amount of work, in arbitrary units, to estimate the remaining time.
    #[must_use]
    pub fn size(&self) -> f64 {
        self.size
    }
}

impl Board {
    /// The largest board with a known count (OEIS A000170).
    pub const MAX: u32 = 27;

    /// Creates a board for 1 to [`Self::MAX`] queens.
    ///
    /// # Errors
    /// [`Error::Size`] for any other number.
    pub fn new(n: u32) -> Result<Self, Error> {
        if (1..=Self::MAX).contains(&n) { Ok(Self { n }) } else { Err(Error::Size { n }) }
    }

    #[must_use]
    pub fn n(self) -> u32 {
        self.n
    }

    /// Returns the independent parts of the search, which are always the same for a given board. Larger parts come
    /// first, so that threads that take them in this order finish at about the same time.
    #[must_use]
    pub fn units(self) -> Vec<Unit> {
        let mut units = Vec::new();
        for middle in middles(self.n) {
            if self.n > 1 {
                self.units_of(middle, &mut units);
            } else {
                let top = Set { mask: 0, rank: 0 };
                units.push(Unit { n: 1, index: 0, middle, top, south: (0, 1), size: 1.0 });
            }
        }
        units.sort_by(|a, b| b.size.total_cmp(&a.size));
        for (index, unit) in units.iter_mut().enumerate() {
            unit.index = index as u32;
        }
        units
    }

    fn units_of(self, middle: Middle, units: &mut Vec<Unit>) {
        let position = Position::new(self.n, middle);
        let [rows, _] = position.rows;
        let largest = match position.symmetry {
            Symmetry::Square => self.n / 4,
            Symmetry::None => rows.count_ones(),
        };
        for queens in 0..=largest {
            let families = Families::new(&position, queens);
            let halves = position.symmetry == Symmetry::Square && queens * 2 == rows.count_ones();
            for top in families.top.iter().filter(|top| !halves || top.mask > rows ^ top.mask) {
                let width = |sets: &[Set]| up_to(sets, top.rank).len();
                let (count, each) = (width(&families.south_rows), work(self.n, queens));
                let lanes = width(&families.west_columns) as f64 * width(&families.east_columns) as f64;
                for first in (0..count).step_by(SETS_IN_UNIT) {
                    let end = (first + SETS_IN_UNIT).min(count);
                    let size = (end - first) as f64 * lanes * each;
                    let south = (first as u32, end as u32);
                    units.push(Unit { n: self.n, index: 0, middle, top: *top, south, size });
                }
            }
        }
    }
}

/// Estimates the work for one combination of sets from the number of queens in the north-western quarter. It is roughly
/// the number of ways to place these queens and the remaining queens in the given rows and columns of two quarters.
fn work(n: u32, queens: u32) -> f64 {
    let factorial = |k: u32| (1..=k).map(f64::from).product::<f64>();
    let rest = (n / 2).saturating_sub(queens);
    // 0.45^k approximates the share of the permutations of `k` queens that have no two on one diagonal.
    let ways = |k: u32| 1.0 + factorial(k) * 0.45f64.powi(k as i32);
    ways(queens) * ways(rest)
}

/// The candidate sets of rows and columns for a position, each with the same number of elements, ordered by rank.
#[derive(Debug)]
pub(crate) struct Families {
    pub(crate) top: Vec<Set>,
    pub(crate) south_rows: Vec<Set>,
    pub(crate) west_columns: Vec<Set>,
    pub(crate) east_columns: Vec<Set>,
}

impl Families {
    pub(crate) fn new(position: &Position, queens: u32) -> Self {
        let [north, south] = position.rows;
        let sets = |free| family(free, queens, position.symmetry);
        Self {
            top: sets(north),
            south_rows: sets(south),
            west_columns: sets(position.north_west.columns),
            east_columns: sets(position.south_east.columns),
        }
    }
}

pub(crate) fn up_to(sets: &[Set], rank: u32) -> &[Set] {
    &sets[..sets.partition_point(|set| set.rank <= rank)]
}
