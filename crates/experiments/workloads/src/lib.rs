//! Workloads for the threads of a scheduling experiment: a fixed amount of work in steps of some tens of microseconds,
//! so that a thread can check the clock between steps.
//!
//! All memory is allocated when a workload is created. A step does not allocate or lock and, except for [`CannyIo`],
//! makes no system call (`tests/it/allocations.rs`).
//!
//! Architecture invariant: a workload uses no clock, thread or scheduler. The caller measures how long a step takes.

#![forbid(unsafe_code)]

mod busy;
mod canny;
mod image;
mod io;
mod queens;
mod work;

pub use busy::Busy;
pub use canny::{Canny, HIGH, LOW};
pub use image::{Image, ImageError};
pub use io::{CannyIo, FRAMES_PER_WRITE};
pub use queens::{Queens, SIZES};
pub use work::{Kind, KindError, Work, WorkError};
