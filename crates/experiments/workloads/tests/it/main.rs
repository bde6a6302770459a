//! The integration tests of the crate, in one program.

mod allocations;
#[cfg(feature = "reference-checks")]
mod equality;
mod frames;
