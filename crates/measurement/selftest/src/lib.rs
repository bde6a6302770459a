//! Checks that the engine reports what happens. Delays of known size are injected on the CPU it measures, and each has
//! to be found: its size, CPU and time, with every period accounted for.
//!
//! ```text
//! plant (spinner above the measuring thread, fork) ──log──▶ judge ◀──Outcome── measure
//! ```
//!
//! An injected delay lasts at most 20 ms and stays on one CPU; another is kept free for everything else.

#![forbid(unsafe_code)]

mod judge;
mod plant;
mod run;

pub use judge::{Check, judge};
pub use plant::{Kind, Planted};
pub use run::{SelfTestError, Tested, selftest};
