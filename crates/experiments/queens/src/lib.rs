//! Counts the solutions of the N-queens problem. The code only computes; it uses no files and no clock.
//!
//! [`Board::units`] splits the search into independent parts, a [`Worker`] counts one part after another, and a
//! [`Runner`] uses several threads. [`Published`] is the simple search of a published benchmark, and [`csv`] reads and
//! writes its file. [`known`] contains the counts from OEIS, with which results are checked.
//!
//! # Algorithm
//!
//! Splitting the board into four quarters that are searched separately and then joined is a published method
//! (EvgenyKluev/N-Queens-Count-Sol; earlier deepgreen.game.coocan.jp). This crate joins the quarters in a different
//! way. On odd boards the queens of the middle row and column are placed first. Each quarter then gets a set of rows
//! and a set of columns. The rows of the north-west (u) and south-east (v), and their columns (s, t), determine those
//! of the other two quarters. Of the eight symmetric images of a position, only those are searched in which u has the
//! highest rank of the four sets.
//!
//! For u and v, the eastern half is a list of pairs of placements, stored as one row of bits per diagonal and one word
//! per pair. For each north-western placement, the OR of the rows of its diagonals determines the pairs that it does
//! not attack, 512 at a time. Their words are collected, and every compatible south-western placement is tested against
//! sixteen of them at once. A simple join would test every pair of a western and an eastern half. Here, the eastern
//! halves that the north-western quarter attacks, nineteen out of twenty, are excluded first.
//!
//! # Memory
//!
//! A worker needs 0.2 MB of fixed tables, the placements of two row sets in each of four quarters, and at most 64 MiB
//! of placements kept for other units. No table grows with the number of solutions or halves. The resident memory of
//! one worker in its first seconds (VmHWM on x86-64, not a proven maximum) is below 8 MB up to N = 19, and 11 MB at 20,
//! 12 at 21, 25 at 22, 39 at 23, 106 at 25 and 463 at 27. Even boards have fewer queens in one quarter, and need 11 MB
//! at 24 and 29 at 26.
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
