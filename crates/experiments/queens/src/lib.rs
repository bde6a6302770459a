//! Counts the solutions of the N-queens problem. Pure computation without files or clock.
//!
//! [`Board::units`] splits the search into independent parts, a [`Worker`] counts them one by one, and a [`Runner`]
//! does so on several threads. [`Published`] is the simple search of a published benchmark, and [`csv`] its output
//! file. [`known`] contains the counts of OEIS for checking.
//!
//! # Algorithm
//!
//! Meeting in the middle over the four quarters of the board is a published method (EvgenyKluev/N-Queens-Count-Sol;
//! earlier deepgreen.game.coocan.jp). This crate joins the quarters in a different way. On odd boards the queens of the
//! middle row and column are placed first. Each quarter then gets a set of rows and a set of columns: the rows of the
//! north-west (u) and south-east (v), and the columns of the same two (s, t), determine the other two quarters. Of the
//! eight symmetric images of a position, only those are searched in which u ranks highest among the four sets.
//!
//! For u and v, the eastern half is one list of pairs of placements, stored as one bit row per diagonal and one word
//! per pair. For each north-western placement, the OR of the rows of its diagonals yields the pairs that it does not
//! attack, 512 at a time. Their words are collected, and every south-western placement that fits is tested against
//! sixteen of them at once. A simple join of halves tests every pair of a western and an eastern half. Here, the
//! eastern halves that the north-western quarter attacks, nineteen out of twenty, are excluded first.
//!
//! # Memory
//!
//! A worker needs 0.2 MB of fixed tables, the placements of two row sets in each of four quarters, and at most 64 MiB
//! of placements kept for other units. No table grows with the number of solutions or of halves. The resident memory of
//! one worker in its first seconds (VmHWM on x86-64, not a proven maximum) is below 8 MB up to N = 19, and 11 MB at 20,
//! 12 at 21, 25 at 22, 39 at 23, 106 at 25 and 463 at 27. Even boards, with fewer queens in one quarter, need 11 MB at
//! 24 and 29 at 26.
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
