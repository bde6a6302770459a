//! The integration tests of the crate, in one program.

mod common;
mod comparison;
mod golden;
mod hostile;
mod published;
mod shape;
mod tails;
mod why;
