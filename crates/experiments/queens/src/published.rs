//! The published benchmark (lemariva/N-Queens-Problem, `queenpool_multithread.py`): simple backtracking, column by
//! column; the rows of the first column are divided among a fixed number of workers. Search, order and division are as
//! published. Times of this native code must not be compared with those of the Python program.

use std::num::NonZeroU32;
use std::thread;

use crate::board::Board;
use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    n: u32,
    threads: NonZeroU32,
}

impl Published {
    /// Searches for `n` queens with `threads` threads. Published results are for 12 queens with 4 threads (100
    /// repetitions) and with 1 thread (45).
    ///
    /// # Errors
    /// [`Error::Size`] for unsupported boards.
    pub fn new(n: u32, threads: NonZeroU32) -> Result<Self, Error> {
        Board::new(n)?;
        Ok(Self { n, threads })
    }

    /// Returns the rows of the first column that thread `index` (from 0) searches, possibly none. They are computed in
    /// floating point, as published.
    #[must_use]
    pub fn rows(self, index: u32) -> core::ops::Range<u32> {
        let share = f64::from(self.n) / f64::from(self.threads.get());
        let start = (f64::from(index) * share) as u32;
        let end = if index + 1 == self.threads.get() { self.n } else { (f64::from(index + 1) * share) as u32 };
        start..end
    }

    #[must_use]
    pub fn count_part(self, index: u32) -> u64 {
        let mut search = Search { n: self.n, queens: [0; Board::MAX as usize], solutions: 0 };
        for row in self.rows(index) {
            search.queens[0] = row;
            search.columns_from(1);
        }
        search.solutions
    }

    /// Counts all parts, each in its own thread. Returns the sum.
    ///
    /// # Errors
    /// [`Error::Thread`] if a thread cannot be started.
    pub fn count(self) -> Result<u64, Error> {
        thread::scope(|scope| {
            let start = |index: u32| {
                let spawned = thread::Builder::new().name(format!("queens-{index}"));
                spawned
                    .spawn_scoped(scope, move || self.count_part(index))
                    .map_err(|error| Error::Thread { index: index as usize, reason: error.to_string() })
            };
            let running = (0..self.threads.get()).map(start).collect::<Result<Vec<_>, Error>>()?;
            let ended = |error| match error {
                Some(count) => Ok(count),
                None => Err(Error::Ended),
            };
            running.into_iter().map(|thread| ended(thread.join().ok())).sum()
        })
    }
}

struct Search {
    n: u32,
    queens: [u32; Board::MAX as usize],
    solutions: u64,
}

impl Search {
    fn columns_from(&mut self, column: usize) {
        if column == self.n as usize {
            self.solutions += 1;
            return;
        }
        for row in 0..self.n {
            if self.is_safe(row, column) {
                self.queens[column] = row;
                self.columns_from(column + 1);
            }
        }
    }

    fn is_safe(&self, row: u32, column: usize) -> bool {
        let before = self.queens[..column].iter().enumerate();
        before.into_iter().all(|(other, queen)| *queen != row && queen.abs_diff(row) as usize != column - other)
    }
}
