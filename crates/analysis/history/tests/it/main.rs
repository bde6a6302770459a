//! The integration tests of the crate, in one program.

mod common;
mod file;
mod gates;
mod shifts;
