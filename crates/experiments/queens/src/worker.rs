//! Counts units in one thread, and keeps data that later units can use again.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::board::{Families, Unit, up_to};
use crate::east::{BITS, Block, MORE, NorthEast, SouthEast, Word};
use crate::error::Error;
use crate::join::{Scratch, West};
use crate::kernel::{Join, Kernel};
use crate::position::{Middle, Position};
use crate::quadrant::{Diagonals, Placements, Quarter};
use crate::rows::{Set, weight};

/// Maximum size of the placements that a worker keeps for later units, bytes.
const KEPT: usize = 64 << 20;

/// Counts one unit after another. It keeps at most 64 MiB of placements for later units, in addition to the memory that
/// a unit needs (see the documentation of the crate).
#[derive(Debug)]
pub struct Worker {
    narrow: Counter<u32>,
    wide: Counter<u64>,
}

impl Worker {
    /// Creates a worker.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the CPU lacks the kernel's instructions.
    pub fn new(kernel: Kernel) -> Result<Self, Error> {
        Ok(Self::with(kernel.select()?))
    }

    pub(crate) fn with(join: Join) -> Self {
        Self { narrow: Counter::new(join), wide: Counter::new(join) }
    }

    /// Returns the number of solutions in a unit, including symmetric ones.
    pub fn count(&mut self, unit: &Unit) -> u64 {
        self.count_until(unit, &AtomicBool::new(false)).unwrap_or_default()
    }

    /// Like [`Worker::count`], but returns `None` if `stop` becomes true before the end. `stop` is checked about every
    /// second on the largest boards, and more often on smaller boards.
    pub fn count_until(&mut self, unit: &Unit, stop: &AtomicBool) -> Option<u64> {
        if Diagonals::new(unit.n / 2).bits() <= u32::BITS as usize {
            self.narrow.count(unit, stop)
        } else {
            self.wide.count(unit, stop)
        }
    }
}

/// A worker with words of one width.
#[derive(Debug)]
pub(crate) struct Counter<T> {
    join: Join,
    start: Option<Start<T>>,
    scratch: Scratch<T>,
    kept: Kept,
}

/// Tables that all units of a starting position use.
#[derive(Debug)]
struct Start<T> {
    n: u32,
    middle: Middle,
    position: Position,
    diagonals: Diagonals,
    families: HashMap<u32, Rc<Families>>,
    block: Block<T>,
    north_east: NorthEasts,
    south_east: Vec<SouthEast>,
}

struct Quarters {
    north_west: Rc<Placements>,
    north_east: Rc<Placements>,
    south_west: Rc<Placements>,
    south_east: Rc<Placements>,
}

/// The sets of rows and columns that a unit covers.
struct Sets<'a> {
    top: Set,
    south: Set,
    west: &'a [Set],
    east: &'a [Set],
}

impl<T: Word> Counter<T> {
    pub(crate) fn new(join: Join) -> Self {
        Self { join, start: None, scratch: Scratch::new(), kept: Kept::default() }
    }

    /// Counts the solutions in a unit. Returns `None` if stopped.
    pub(crate) fn count(&mut self, unit: &Unit, stop: &AtomicBool) -> Option<u64> {
        if unit.n == 1 {
            return Some(1);
        }
        let mut start = match self.start.take() {
            Some(start) if start.n == unit.n && start.middle == unit.middle => start,
            _ => {
                self.kept = Kept::default();
                Start::new(unit)
            }
        };
        let families = start.families(unit.top.mask.count_ones());
        let west = up_to(&families.west_columns, unit.top.rank);
        let east = up_to(&families.east_columns, unit.top.rank);
        let mut total = 0;
        for south in &families.south_rows[unit.south.0 as usize..unit.south.1 as usize] {
            let sets = Sets { top: unit.top, south: *south, west, east };
            total += self.count_rows(&mut start, &sets, stop)?;
        }
        self.start = Some(start);
        Some(total)
    }

    /// Counts the solutions with these rows in the north-western and south-eastern quarters; `None` if stopped.
    fn count_rows(&mut self, start: &mut Start<T>, sets: &Sets<'_>, stop: &AtomicBool) -> Option<u64> {
        let position = &start.position;
        let quarters = Quarters {
            north_west: self.kept.get(position.north_west, sets.top.mask),
            north_east: self.kept.get(position.north_east, position.rows[0] ^ sets.top.mask),
            south_west: self.kept.get(position.south_west, position.rows[1] ^ sets.south.mask),
            south_east: self.kept.get(position.south_east, sets.south.mask),
        };
        start.north_east.fill(start.diagonals, sets, position.north_east.columns, &quarters.north_east);
        start.south_east.clear();
        let words = quarters.south_east.words().iter();
        start.south_east.extend(words.map(|word| SouthEast::new(start.diagonals, *word)));
        let mut total = 0;
        start.block.clear();
        for index in 0..start.north_east.all.len() {
            let north = start.north_east.all[index];
            for part in quarters.south_east.range(north.columns).step_by(MORE) {
                let end = quarters.south_east.range(north.columns).end.min(part + MORE);
                // The last word of bits below the highest rank may need padding.
                if start.block.room() < MORE + BITS {
                    total += self.count_block(start, sets, &quarters, stop)?;
                }
                if index >= start.north_east.top {
                    start.block.begin_top();
                }
                start.block.push(&north, &start.south_east[part..end]);
            }
        }
        if !start.block.is_empty() {
            total += self.count_block(start, sets, &quarters, stop)?;
        }
        Some(total)
    }

    /// Counts the solutions in one block of the eastern half, then empties it; `None` if stopped.
    fn count_block(
        &mut self,
        start: &mut Start<T>,
        sets: &Sets<'_>,
        quarters: &Quarters,
        stop: &AtomicBool,
    ) -> Option<u64> {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        start.block.close();
        let symmetry = start.position.symmetry;
        let all = start.position.south_west.columns;
        let mut total = 0;
        for columns in sets.west {
            let (south_top, west_top) = (sets.south.rank == sets.top.rank, columns.rank == sets.top.rank);
            let west = West {
                diagonals: start.diagonals,
                north: quarters.north_west.with_columns(columns.mask),
                south: quarters.south_west.with_columns(all ^ columns.mask),
            };
            if west.north.is_empty() || west.south.is_empty() {
                continue;
            }
            let found = self.join.count(west, &start.block, &mut self.scratch);
            total += found.below * weight(symmetry, south_top, west_top, false);
            total += found.top * weight(symmetry, south_top, west_top, true);
        }
        start.block.clear();
        Some(total)
    }
}

impl<T: Word> Start<T> {
    fn new(unit: &Unit) -> Self {
        let diagonals = Diagonals::new(unit.n / 2);
        Self {
            n: unit.n,
            middle: unit.middle,
            position: Position::new(unit.n, unit.middle),
            diagonals,
            families: HashMap::new(),
            block: Block::new(diagonals),
            north_east: NorthEasts::default(),
            south_east: Vec::new(),
        }
    }

    fn families(&mut self, queens: u32) -> Rc<Families> {
        let position = &self.position;
        Rc::clone(self.families.entry(queens).or_insert_with(|| Rc::new(Families::new(position, queens))))
    }
}

/// The north-eastern placements of one set of rows. Their order places those that the same north-western placement
/// attacks close together.
#[derive(Debug, Default)]
struct NorthEasts {
    made_for: Option<Set>,
    all: Vec<NorthEast>,
    /// Index of the first placement whose columns have the highest rank.
    top: usize,
}

impl NorthEasts {
    fn fill(&mut self, diagonals: Diagonals, sets: &Sets<'_>, all: u32, placements: &Placements) {
        if self.made_for == Some(sets.top) {
            return;
        }
        self.made_for = Some(sets.top);
        self.all.clear();
        let below = sets.east.partition_point(|set| set.rank < sets.top.rank);
        for part in [&sets.east[..below], &sets.east[below..]] {
            self.top = self.all.len();
            for set in part {
                let words = placements.with_columns(all ^ set.mask);
                self.all.extend(words.iter().map(|word| NorthEast::new(diagonals, *word, set.mask)));
            }
            self.all[self.top..].sort_unstable_by_key(|placement| placement.west);
        }
    }
}

/// Placements kept for later units, at most [`KEPT`] bytes.
#[derive(Debug, Default)]
struct Kept {
    lists: HashMap<(Quarter, u32), Rc<Placements>>,
    bytes: usize,
}

impl Kept {
    fn get(&mut self, quarter: Quarter, rows: u32) -> Rc<Placements> {
        if let Some(list) = self.lists.get(&(quarter, rows)) {
            return Rc::clone(list);
        }
        let list = Rc::new(Placements::new(quarter, rows));
        self.bytes += list.bytes();
        if self.bytes > KEPT {
            self.lists.clear();
            self.bytes = list.bytes();
        }
        self.lists.insert((quarter, rows), Rc::clone(&list));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Board;
    use crate::known;

    fn wide(kernel: Kernel) -> Counter<u64> {
        Counter::new(kernel.select().unwrap())
    }

    fn kernels() -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
    }

    #[test]
    fn words_of_64_bits_which_boards_from_24_need_count_smaller_boards_the_same() {
        for kernel in kernels() {
            let mut counter = wide(kernel);
            for n in 1..=14 {
                let units = Board::new(n).unwrap().units();
                let total = units.iter().map(|unit| counter.count(unit, &AtomicBool::new(false)).unwrap()).sum();
                assert_eq!(known::solutions(n), Some(total), "{n} queens, {kernel}");
            }
        }
    }

    #[test]
    fn what_is_kept_for_other_units_stays_below_its_limit() {
        let mut kept = Kept::default();
        let quarter = Position::new(24, Middle::None).north_west;
        for rows in (0..1u32 << 12).filter(|rows| rows.count_ones() == 5).take(300) {
            let list = kept.get(quarter, rows);
            assert!(kept.bytes <= KEPT.max(list.bytes()));
            assert!(kept.lists.contains_key(&(quarter, rows)));
        }
        let sum: usize = kept.lists.values().map(|list| list.bytes()).sum();
        assert_eq!(sum, kept.bytes);
    }
}
