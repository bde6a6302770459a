//! The integration tests of the crate, in one program.

mod builds;
mod common;
mod fetches;
mod packages;
mod patched;
