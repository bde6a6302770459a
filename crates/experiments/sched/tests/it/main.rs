//! The integration tests of the crate, in one program.

mod accounts;
mod predictions;
mod replays;
