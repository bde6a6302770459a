//! The integration tests of the crate, in one program.

mod common;
mod pasted;
mod samples;
