//! The integration tests of the crate, in one program.

mod adapter;
mod exact;
mod posix;
