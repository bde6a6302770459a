//! The integration tests of the crate, in one program.

mod common;
mod kill;
mod network;
mod prevented;
mod run;
