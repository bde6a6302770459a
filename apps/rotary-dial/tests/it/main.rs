//! The integration tests of the crate, in one program.

mod bars;
mod decoder;
mod exchange;
mod program;
