//! The integration tests of the crate, in one program.

mod patches;
mod plans;
mod trial;
