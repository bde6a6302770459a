//! The integration tests of the crate, in one program.

mod common;
mod found;
mod properties;
mod roots;
mod tools;
mod unknown;
