//! The integration tests of the crate, in one program.

mod claims;
mod clustering;
mod common;
mod doubts;
mod imported;
mod properties;
mod sequential;
mod tails;
mod virtual_cpus;
