//! The integration tests of the crate, in one program.

mod lifecycle;
mod pi;
mod planted;
