//! The integration tests of the crate, in one program.

mod comparison;
mod golden;
mod hostile;
mod published;
mod shape;
mod tails;
mod why;
