//! The integration tests of the crate, in one program.

mod common;
mod damage;
mod kernels;
mod pasted;
mod perf;
mod samples;
