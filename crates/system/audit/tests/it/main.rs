//! The integration tests of the crate, in one program.

mod cases;
mod docs;
mod given;
mod machines;
mod rules;
mod unreadable;
