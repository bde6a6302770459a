//! What the tests of several crates share. Only ever a dev-dependency: its functions panic where something is wrong.

#![forbid(unsafe_code)]

mod golden;

pub use golden::golden;
