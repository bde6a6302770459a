//! Typed system calls that no safe library offers. This is where `unsafe` lives: every other crate forbids it.
//!
//! What rustix has safely (clocks, sleeping, signals to processes, files) is used from there directly.

mod error;
mod shared;

pub use error::Error;
pub use shared::SharedWords;
