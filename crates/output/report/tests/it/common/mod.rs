//! Synthetic runs, the same on every machine: whole numbers only, no clock, no library randomness.
#![allow(dead_code, unused_imports, reason = "every test file uses another part")]

mod build;
mod explained;
mod facts;
mod judge;
mod runs;
pub mod tails;

pub use explained::*;
pub use judge::verdict;
pub use runs::*;
