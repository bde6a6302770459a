//! Counts the solutions of the N-queens problem: pure computation, no files, no clock.
//!
//! [`Board::units`] splits the search into independent parts, a [`Worker`] counts them one by one, a [`Runner`] does so
//! on several threads. [`Published`] is the plain search of a published benchmark, [`csv`] its file, [`known`] the
//! counts of OEIS to check against.
//!
//! # How
//!
//! Meet in the middle over the four quarters of the board is published (EvgenyKluev/N-Queens-Count-Sol; earlier
//! deepgreen.game.coocan.jp); this is another way to join them. On odd boards the queens of the middle row and column
//! are placed first. Each quarter then takes a set of rows and a set of columns: rows of the north-west (u) and
//! south-east (v), and columns of the same two (s, t) determine the other two quarters. Of the eight images of a
//! position only those are searched where u ranks highest among the four sets.
//!
//! For u and v the eastern half is one list of pairs of placements, kept as one bit row for each diagonal and one word
//! per pair. For each north-western placement the OR of the rows of its diagonals gives, 512 at a time, the pairs it
//! leaves. Their words are collected, and every south-western placement that fits is tested against sixteen of them at
//! once. A plain join of halves tests every pair of a western and an eastern half; here the eastern halves that the
//! north-western quarter attacks, nineteen of twenty, are excluded first.
//!
//! # Memory
//!
//! A worker needs 0.2 MB of fixed tables, the placements of two row sets in each of four quarters, and at most 64 MiB
//! of placements kept for other units. No table grows with the number of solutions or of halves. Resident memory of one
//! worker in its first seconds, so not a proven maximum (VmHWM, x86-64, without what it keeps later): below 8 MB up to
//! N = 19, 11 at 20, 12 at 21, 25 at 22, 39 at 23, 106 at 25, 463 at 27; even boards, which leave fewer queens to one
//! quarter, 11 at 24 and 29 at 26.
#![deny(unsafe_op_in_unsafe_fn)]

mod board;
pub mod csv;
mod east;
mod error;
mod join;
mod kernel;
pub mod known;
mod position;
mod published;
mod quadrant;
mod rows;
mod runner;
mod simd;
mod transpose;
mod worker;

pub use board::{Board, Unit};
pub use error::Error;
pub use kernel::Kernel;
pub use published::Published;
pub use runner::{Outcome, Runner};
pub use worker::Worker;
