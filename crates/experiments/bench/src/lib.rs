//! Benchmarks of kernel overhead along several axes. [`run`] repeats one measurement and writes a run directory of kind
//! `bench` with the conditions of each repetition. [`resume`] continues a run that was killed or interrupted.
//!
//! Each axis has its own module and a line in [`axis::of`]. An axis measures one repetition; the driver takes care of
//! conditions, log, signals and progress.
//!
//! Architecture invariant: this crate prints nothing and compares nothing. A measured value is finite or absent, and
//! the plan lists what cannot be measured.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod axis;
mod clock;
mod conditions;
mod disk;
mod driver;
mod error;
mod memory;
mod network;
mod nqueens;
mod switch;

pub use axis::{Axis, Ended, Measured, Turn};
pub use disk::plan as plan_disk;
pub use driver::{Around, Update, outcome, resume, run};
pub use error::BenchError;
pub use memory::plan as plan_memory;
pub use network::plan as plan_network;
pub use nqueens::{Wanted as WantedQueens, plan as plan_nqueens, published_csv};
pub use switch::plan as plan_switch;
