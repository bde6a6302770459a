//! What a kernel costs, on one axis at a time: [`run`] repeats one thing and writes a run directory of kind `bench`, with the
//! conditions of each repetition; [`resume`] goes on with one that was killed or interrupted.
//!
//! One file an axis, and one line in [`axis::of`]. An axis measures one repetition; what is around it (conditions, log, signals,
//! progress) is the driver's.
//!
//! Architecture invariant: prints nothing and compares nothing. A figure is finite or not there, and what cannot be measured is said
//! in the plan.

#![forbid(unsafe_code)]

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
pub use driver::{Around, Told, outcome, resume, run};
pub use error::BenchError;
pub use memory::plan as plan_memory;
pub use network::plan as plan_network;
pub use nqueens::{Wanted as WantedQueens, plan as plan_nqueens, published_csv};
pub use switch::plan as plan_switch;
