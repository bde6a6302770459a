//! The integration tests of the crate, in one program.

mod common;
mod published;
mod splits;
mod unlike;
