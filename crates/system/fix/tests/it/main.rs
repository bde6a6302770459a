//! The integration tests of the crate, in one program.

mod back;
mod chains;
mod elsewhere;
mod interrupt_threads;
mod three;
