//! Checks that the engine reports what happens. Delays of known size are injected on the CPU it measures. Each must be
//! found with its size, CPU and time, and every period must be accounted for.
//!
//! ```text
//! inject (spinner above the measuring thread, fork) ──log──▶ judge ◀──Outcome── measure
//! ```
//!
//! An injected delay lasts at most 20 ms and stays on one CPU; another is kept free for everything else.

#![forbid(unsafe_code)]

mod inject;
mod judge;
mod run;

pub use inject::{Injected, Kind};
pub use judge::{Check, judge};
pub use run::{SelfTestError, Tested, selftest};
