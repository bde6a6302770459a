//! The integration tests of the crate, in one program.

mod api_map;
#[cfg(feature = "reference-checks")]
mod header;
mod install;
mod programs;
