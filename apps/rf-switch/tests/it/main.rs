//! The integration tests of the crate, in one program.

mod common;
mod daemon;
mod programs;
mod receiver;
