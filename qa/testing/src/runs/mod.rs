//! Synthetic runs, the same on every machine: whole numbers only, no clock, no library randomness.

mod build;
mod cases;
mod explained;
mod facts;
mod judge;
pub mod tails;

pub use cases::*;
pub use explained::*;
pub use judge::verdict;
